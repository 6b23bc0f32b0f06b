"""`headrace kubeflow ...`: compile, check, publish, schedule and try the pipeline as a Kubeflow DAG."""

from __future__ import annotations

import sys

import click

from pipeline.cli_base import (
    Group,
    coded,
    json_option,
    layer_options,
    prepare,
    print_json,
    show_document,
    task_argument,
)
from pipeline.cli_kubeflow_publish import COMMANDS as PUBLISHING
from pipeline.config.load import Layers


@click.group(cls=Group)
def kubeflow() -> None:
    """The same pipeline as a Kubeflow DAG: compile, simulate, publish, schedule."""


@kubeflow.command("compile")
@task_argument
@click.option("-o", "--output", required=True, metavar="FILE", help="YAML file to write.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["package", "custom-resources"]),
    default="package",
    show_default=True,
    help="What to write: what Kubeflow's upload takes, or Pipeline and PipelineVersion objects for GitOps.",
)
@click.option("--label", help="Version label of custom resources. Default: as publish takes it.")
@click.option(
    "--quota", metavar="FILE.yaml", help="ResourceQuota that the steps have to fit, as kubectl get -o yaml has it."
)
@layer_options
@json_option
@coded
def compile_command(
    task: str, output: str, form: str, label: str | None, quota: str | None, layers: Layers, as_json: bool
) -> None:
    """Compile TASK into the YAML that Kubeflow Pipelines 2.14 to 2.17 take, and check it as the server will.

    The same task, settings and headrace give the same bytes. Nothing is sent anywhere.

    \b
    Examples:
      headrace kubeflow compile flights -o flights.yaml --env dev --set kubernetes.step.image=IMAGE@sha256:...
      headrace kubeflow compile flights -o flights.yaml --env prod --quota quota.yaml
      headrace kubeflow compile flights -o flights.yaml --env prod --format custom-resources
    """
    from pipeline.kubeflow import written

    prepare()
    request = written.Request(task, output, form, label, quota, layers)
    document, values = written.write(request)
    show_document(document, values, as_json)


@kubeflow.command()
@click.argument("package_file", metavar="FILE")
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="Parameter of the pipeline. Repeatable.")
@click.option(
    "--profile",
    type=click.Choice(["2.14", "2.15", "2.16", "2.17"]),
    default="2.17",
    show_default=True,
    help="Release of Kubeflow Pipelines whose ways to follow.",
)
@click.option("--secret", "secrets", multiple=True, metavar="NAME/KEY=VALUE", help="Value of a secret. Repeatable.")
@click.option(
    "--secret-file",
    metavar="FILE.yaml",
    help="Secrets and ConfigMaps, as kubectl get secret,configmap -o yaml has them.",
)
@click.option("--work", metavar="DIR", help="Work folder. Default: .headrace-simulate/PIPELINE/RUN-ID.")
@click.option(
    "--writable",
    multiple=True,
    metavar="DIR",
    help="Folder that steps may write to, such as a pipeline root. Repeatable.",
)
@json_option
@coded
def simulate(
    package_file: str,
    params: tuple[str, ...],
    profile: str,
    secrets: tuple[str, ...],
    secret_file: str | None,
    work: str | None,
    writable: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run the compiled pipeline FILE without a cluster, step by step.

    Plays Kubeflow's API server, driver and launcher: parameters and outputs are checked as there, each step is a
    process with an empty folder, a clean environment and read-only code, failed steps are tried again, the exit task
    runs at the end. Images are not pulled and volumes not mounted: a mount path has to be a folder of this machine.
    Exits with 0, or with the exit code of the step that failed.

    \b
    Examples:
      headrace kubeflow simulate flights.yaml --param train-epochs=3
      headrace kubeflow simulate flights.yaml --profile 2.14 --secret headrace-metadata/password=...
      headrace kubeflow simulate flights.yaml --secret-file secrets.yaml --writable /pipeline
    """
    from pipeline.kubeflow.simulate import command

    request = command.Request(package_file, params, profile, secrets, secret_file, work, writable)
    result = command.run(request, (lambda line: None) if as_json else click.echo)
    if as_json:
        print_json(result.to_dict())
    sys.exit(result.exit_code)


for command in PUBLISHING:
    kubeflow.add_command(command)
