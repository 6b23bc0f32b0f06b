"""`headrace kubeflow ...`: compile, check, publish, schedule and try the pipeline as a Kubeflow DAG."""

from __future__ import annotations

import click

from pipeline.cli_base import Group


@click.group(cls=Group)
def kubeflow() -> None:
    """The same pipeline as a Kubeflow DAG: compile, simulate, publish, schedule."""
