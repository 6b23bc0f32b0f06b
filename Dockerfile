# The current stack on Debian 13 with Debian's own Python 3.13: what `make stack-current` tries without a container.
# For production pin the base by digest:  docker build --build-arg BASE=debian@sha256:<digest> -t headrace .
ARG BASE=debian:trixie-slim

FROM ${BASE} AS build
# versions of Debian packages come with the base's digest; pinning them here would break the build at each point release
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates g++ python3-dev python3-venv \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/headrace
# only what the set-up reads, so that a change of the pipeline does not reinstall 3 GB
COPY requirements requirements
COPY tools tools
COPY setup.py pyproject.toml ./
COPY pipeline/__init__.py pipeline/errors.py pipeline/error_codes.py pipeline/
# the user of the image cannot write bytecode, and without it TensorFlow takes three times as long to start
RUN tools/setup \
 && .venv/bin/python -W ignore -m compileall -q -j 0 .venv/lib

FROM ${BASE}
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates python3 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --create-home headrace \
 && install -d -o headrace -g headrace /work
COPY --from=build /opt/headrace/.venv /opt/headrace/.venv
COPY LICENSE setup.py pyproject.toml /opt/headrace/
COPY schemas /opt/headrace/schemas
COPY components /opt/headrace/components
COPY pipeline /opt/headrace/pipeline
RUN python3 -m compileall -q /opt/headrace/components /opt/headrace/pipeline
ENV PATH=/opt/headrace/.venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /work
ENTRYPOINT ["headrace"]
CMD ["--help"]
