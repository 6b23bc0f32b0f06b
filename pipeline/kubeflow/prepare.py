"""The first step of a run: ML Metadata has its tables and the pipeline root can be written, before any node starts.

    python -m pipeline.kubeflow.prepare --pipeline-root s3://bucket/headrace

One pod makes the tables, so that those that follow never race for it.
"""

from __future__ import annotations

import os

import click

from pipeline.kubeflow.files import explained, open_store, write_bytes
from pipeline.kubeflow.step import exit_with

PROBE = ".headrace-probe"


@click.command()
@click.option("--pipeline-root", required=True)
def main(pipeline_root: str) -> None:
    """Check what every step needs."""
    exit_with(lambda: prepare(pipeline_root, os.environ))


def prepare(pipeline_root: str, environ) -> None:
    """Connect to ML Metadata and write to the pipeline root.

    Raises:
        HeadraceError: HR-KFP-021 to HR-KFP-027, HR-SYS-001 to HR-SYS-005.
    """
    from pipeline.kubeflow.metadata import connect

    probe = f"{pipeline_root.rstrip('/')}/{PROBE}-{os.getpid()}"
    write_bytes(probe, b"headrace\n")
    with explained(probe):
        store, path = open_store(probe)
        store.rm_file(path)
    print(f"pipeline root  {pipeline_root} can be written")
    connect(environ)
    print("ML Metadata    answers, its tables are there")


if __name__ == "__main__":
    main()
