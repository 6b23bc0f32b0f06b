"""`headrace kubeflow ...`: compile, check, publish, schedule and try the pipeline as a Kubeflow DAG."""

from __future__ import annotations

import click

from pipeline.cli_base import Group
from pipeline.cli_kubeflow_publish import COMMANDS as PUBLISHING


@click.group(cls=Group)
def kubeflow() -> None:
    """The same pipeline as a Kubeflow DAG: compile, simulate, publish, schedule."""


for command in PUBLISHING:
    kubeflow.add_command(command)
