# The current stack on Debian 13 with Debian's own Python 3.13: what `make stack-current` tries without a container.
#   docker build -t headrace .                         every step of a pipeline
#   docker build --target gpu -t headrace-gpu .        the same with NVIDIA's libraries; the driver is the node's
#   docker build --target tpu -t headrace-tpu .        workers on TPUs: TensorFlow, no TFX
# For production pin the base by digest:  --build-arg BASE=debian@sha256:<digest>
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

FROM build AS build-gpu
COPY k8s/images/gpu.lock k8s/images/
RUN .tools/venv/bin/uv pip install --python .venv/bin/python --no-deps --require-hashes -r k8s/images/gpu.lock

FROM ${BASE} AS build-tpu
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates python3-venv \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/headrace
COPY k8s/images/tpu.lock k8s/images/
RUN python3 -m venv .venv \
 && .venv/bin/pip install --no-cache-dir --no-deps --require-hashes -r k8s/images/tpu.lock \
 && .venv/bin/python -W ignore -m compileall -q -j 0 .venv/lib

FROM ${BASE} AS runtime
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates python3 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --create-home headrace \
 && install -d -o headrace -g headrace /work
ENV PATH=/opt/headrace/.venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
WORKDIR /work

FROM runtime AS code
COPY LICENSE setup.py pyproject.toml /opt/headrace/
COPY schemas /opt/headrace/schemas
COPY components /opt/headrace/components
COPY pipeline /opt/headrace/pipeline
RUN python3 -m compileall -q /opt/headrace/components /opt/headrace/pipeline

# packages below the code, so that a change of the code moves a layer of a few MB
FROM runtime AS tpu
COPY --from=build-tpu /opt/headrace/.venv /opt/headrace/.venv
COPY --from=code /opt/headrace /opt/headrace
ENV PYTHONPATH=/opt/headrace
USER 10001:10001
ENTRYPOINT ["python", "-m"]
CMD ["pipeline.cli", "--help"]

FROM runtime AS gpu
COPY --from=build-gpu /opt/headrace/.venv /opt/headrace/.venv
COPY --from=code /opt/headrace /opt/headrace
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 10001:10001
ENTRYPOINT ["headrace"]
CMD ["--help"]

FROM runtime
COPY --from=build /opt/headrace/.venv /opt/headrace/.venv
COPY --from=code /opt/headrace /opt/headrace
USER 10001:10001
ENTRYPOINT ["headrace"]
CMD ["--help"]
