"""`headrace`: the command line. Imports nothing heavy, so that `--help` answers at once."""

from __future__ import annotations

import sys

import click

from pipeline import __version__
from pipeline.cli_base import (
    INTERRUPTED,
    Group,
    coded,
    json_option,
    layer_options,
    prepare,
    print_json,
    show_document,
    task_argument,
)
from pipeline.cli_kubeflow import kubeflow
from pipeline.config.load import Layers
from pipeline.errors import HeadraceError


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="headrace")
def main() -> None:
    """From a table or a folder of images to a served, quantized, evaluated model.

    \b
    A first run:
      headrace data flights     write the example data
      headrace run flights      ingest, validate, train, evaluate, quantize, push
      headrace report flights   look at what came out
      headrace serve flights    ask the model

    A TASK is a name that `headrace tasks` lists, or a folder with a task.yaml.
    """


@main.command()
@task_argument
@click.option(
    "--from",
    "from_node",
    metavar="NODE",
    help="Run NODE and what depends on it again; take the rest from earlier runs.",
)
@click.option("--to", "to_node", metavar="NODE", help="Stop after NODE.")
@click.option("--fresh", is_flag=True, help="Run every node, whatever was recorded.")
@layer_options
@json_option
@coded
def run(
    task: str, from_node: str | None, to_node: str | None, fresh: bool, layers: Layers, as_json: bool
) -> None:
    """Run the pipeline of TASK; what has not changed is taken from earlier runs.

    \b
    Examples:
      headrace run flights
      headrace run flights --set train.epochs=5 --set split.by=hash
      headrace run flights --from Trainer
      headrace run path/to/my_task --to ExampleValidator
    """
    from pipeline.config.load import load_task, relative
    from pipeline.console import make_view
    from pipeline.local import runner
    from pipeline.report import write_report

    view = make_view("json" if as_json else "auto")
    loaded = load_task(task, layers)
    request = runner.Request(loaded, from_node, to_node, fresh)
    try:
        record = runner.run(request, view, on_wait=_say_waiting)
        folder = runner.run_dir(loaded.config, record["run_id"])
        if record["error"] is None:
            record["report"] = relative(str(write_report(folder)))
        view.finished(record, _next_commands(task, record))
    finally:
        view.close()
    if record["error"]:
        write_report(folder)
        sys.exit(HeadraceError.from_dict(record["error"]).exit_code)
    if record["status"] == "interrupted":
        sys.exit(INTERRUPTED)


def _say_waiting(pid: str) -> None:
    click.echo(f"another run of this task is in progress (process {pid}); waiting for it to end", err=True)


def _next_commands(task: str, record: dict) -> list[str]:
    if record["status"] == "interrupted":
        return [record["resume"]]
    if record["error"]:
        return [f"headrace status {task}", f"headrace report {task} --open"]
    pushed = any(node["id"] == "Pusher" and node["outputs"] for node in record["nodes"])
    return [f"headrace serve {task}"] * pushed + [
        f"headrace report {task} --open",
        f"headrace explain Trainer {task}",
        f"headrace runs {task}",
    ]


@main.command()
@click.argument("name", required=False)
@click.option("--to", "folder", default="data", show_default=True, help="Folder to write to.")
@json_option
@coded
def data(name: str | None, folder: str, as_json: bool) -> None:
    """Write an example data set: flights, digits or mnist. Without NAME, list them."""
    from pipeline.console.progress import progress_line
    from pipeline.data import NAMES, fetch

    if name is None:
        from pipeline.data import describe

        rows = [{"name": each, "about": describe(each)} for each in NAMES]
        print_json(rows) if as_json else click.echo("\n".join(f"  {row['name']:<10} {row['about']}" for row in rows))
        return
    with progress_line(name, quiet=as_json) as progress:
        result = fetch(name, folder, progress)
    if as_json:
        print_json({"path": str(result.path), "rows": result.rows, "note": result.note})
    else:
        click.echo(f"{name}  {result.rows:,} examples in {result.path}  {result.note}")


@main.group(cls=Group)
def config() -> None:
    """Show or check a task's configuration."""


@config.command("show")
@task_argument
@layer_options
@json_option
@coded
def configshow_document(task: str, layers: Layers, as_json: bool) -> None:
    """Print every key with its value and where it came from."""
    from pipeline.config.load import load_task
    from pipeline.console.tables import config_document

    loaded = load_task(task, layers)
    values = loaded.config.model_dump(mode="json")
    sources = dict(loaded.sources)
    show_document(config_document(values, sources), {"config": values, "sources": sources}, as_json)


@config.command("validate")
@task_argument
@layer_options
@json_option
@coded
def config_validate(task: str, layers: Layers, as_json: bool) -> None:
    """Check the configuration, the task's files and the schema, without running anything."""
    import os

    from components.schemas import read_schema
    from components.user_code import check_defines
    from pipeline.config.load import load_task, relative

    loaded = load_task(task, layers)
    check_defines(os.path.join(loaded.task_dir, "features.py"), "preprocessing_fn")
    check_defines(os.path.join(loaded.task_dir, "model.py"), "build_model")
    columns = len(read_schema(loaded.config.schema_path).feature)
    found = {
        "task": loaded.config.name,
        "folder": relative(loaded.task_dir),
        "schema": relative(loaded.config.schema_path),
        "columns": columns,
    }
    if as_json:
        print_json({"valid": True, **found})
    else:
        click.echo(f"{found['task']} is valid: {found['folder']}, {columns} columns in {found['schema']}")


@main.command()
@task_argument
@click.argument("run_id", required=False)
@layer_options
@json_option
@coded
def status(task: str, run_id: str | None, layers: Layers, as_json: bool) -> None:
    """Show a run node by node; the latest one without RUN_ID."""
    from pipeline.console.tables import status_document

    found = _store(task, layers).run(run_id)
    show_document(status_document(found), found, as_json)
    if found["status"] == "interrupted" and not as_json:
        click.echo(f"\n  resume     {found['resume']}")


@main.command()
@task_argument
@layer_options
@json_option
@coded
def runs(task: str, layers: Layers, as_json: bool) -> None:
    """List the runs of TASK, oldest first."""
    from pipeline.console.tables import runs_document

    found = _store(task, layers).runs()
    show_document(runs_document(found), found, as_json)


@main.command()
@task_argument
@click.argument("run_id", required=False)
@click.option("--open", "open_it", is_flag=True, help="Open it in the browser.")
@layer_options
@coded
def report(task: str, run_id: str | None, open_it: bool, layers: Layers) -> None:
    """Write the HTML report of a run and print its path; the latest one without RUN_ID."""
    from pipeline.config.load import relative
    from pipeline.report import write_report

    store = _store(task, layers)
    path = write_report(store.dir / store.run(run_id)["run_id"])
    click.echo(relative(str(path)))
    if open_it:
        click.launch(path.as_uri())


@main.command()
@click.argument("node")
@task_argument
@click.argument("run_id", required=False)
@layer_options
@json_option
@coded
def explain(node: str, task: str, run_id: str | None, layers: Layers, as_json: bool) -> None:
    """Say why NODE ran or was taken from its record: which of code, config, schema and inputs changed."""
    from pipeline.console.tables import explain_document
    from pipeline.local import explain as explaining
    from pipeline.local.runner import node_named

    found = explaining.explain(_store(task, layers), node_named(node).id, run_id)
    show_document(explain_document(found), found, as_json)


@main.group(cls=Group)
def schema() -> None:
    """Infer, compare or approve the schema: the contract on a task's data."""


@schema.command("infer")
@task_argument
@click.option("--force", is_flag=True, help="Replace an existing schema.")
@layer_options
@coded
def schema_infer(task: str, force: bool, layers: Layers) -> None:
    """Write a first schema from the data. Read it before you keep it."""
    from pipeline import schema_edit
    from pipeline.config.load import load_task, relative

    prepare()
    loaded = load_task(task, layers)
    path = loaded.config.schema_path
    schema_edit.refuse_existing(path, force)
    inferred = schema_edit.infer(loaded)
    schema_edit.save(inferred, path)
    click.echo(
        f"{relative(path)}  {len(inferred.feature)} columns; read it: every later run is held to it"
    )


@schema.command("diff")
@task_argument
@layer_options
@coded
def schema_diff(task: str, layers: Layers) -> None:
    """Show how the schema that the data suggests differs from the curated one."""
    from pipeline import schema_edit
    from pipeline.config.load import load_task

    prepare()
    lines = schema_edit.difference(load_task(task, layers))
    click.echo("\n".join(lines) if lines else "no difference")


@schema.command("approve")
@task_argument
@click.option(
    "--add", multiple=True, metavar="COLUMN=VALUE", help="Admit VALUE into the list of values of COLUMN. Repeatable."
)
@click.option(
    "--feature",
    "features",
    multiple=True,
    metavar="COLUMN",
    help="Take over COLUMN as the data suggests it. Repeatable.",
)
@click.option("--drop", multiple=True, metavar="COLUMN", help="Remove COLUMN. Repeatable.")
@layer_options
@coded
def schema_approve(
    task: str, add: tuple[str, ...], features: tuple[str, ...], drop: tuple[str, ...], layers: Layers
) -> None:
    """Change the curated schema. The file as it was is kept beside it as schema.pbtxt.before."""
    from pipeline import schema_edit
    from pipeline.config.load import load_task, relative

    if not (add or features or drop):
        raise click.UsageError("say what to approve: --add COLUMN=VALUE, --feature COLUMN or --drop COLUMN")
    prepare()
    loaded = load_task(task, layers)
    for line in schema_edit.approve(loaded, add, features, drop):
        click.echo(line)
    path = relative(loaded.config.schema_path)
    click.echo(f"written to {path}, without comments   undo: mv {path}.before {path}")


@main.command()
@task_argument
@click.option("--port", default=8501, show_default=True, help="Port of the REST API; 0 takes a free one.")
@click.option("--grpc-port", default=8500, show_default=True, help="Port of the gRPC API; 0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@layer_options
@coded
def serve(task: str, port: int, grpc_port: int, host: str, layers: Layers) -> None:
    """Serve the pushed model of TASK, as TensorFlow Serving would: a local stand-in, not for production."""
    from pipeline.serving.example_row import read_example_row
    from pipeline.serving.server import serve as serve_model

    loaded, base = _pushed(task, layers)
    row = read_example_row(
        loaded.config.data.path, loaded.config.data.format, loaded.config.label, loaded.config.data.delimiter
    )
    serve_model(loaded.config.name, base, port, grpc_port, host, click.echo, row)


@main.command()
@task_argument
@click.option("--row", metavar="JSON", help="One row of raw features as a JSON object.")
@click.option("--file", "file", metavar="F", help="CSV file or JSON lines with one row a line.")
@layer_options
@json_option
@coded
def predict(task: str, row: str | None, file: str | None, layers: Layers, as_json: bool) -> None:
    """Ask the latest pushed model of TASK without a server."""
    from pipeline.serving.predict import predict_file, predict_json
    from pipeline.serving.storage import latest_version

    if (row is None) == (file is None):
        raise click.UsageError("give --row JSON or --file F")
    loaded, base = _pushed(task, layers)
    model_dir = latest_version(base)
    ignore = {loaded.config.label}
    answers = predict_json(model_dir, row, ignore) if row is not None else predict_file(model_dir, file, ignore)
    if as_json:
        print_json({"model": model_dir, "predictions": answers})
    else:
        click.echo("\n".join("  ".join(f"{value:.6g}" for value in answer) for answer in answers))


@main.command()
@json_option
@coded
def doctor(as_json: bool) -> None:
    """Say what this machine has, what is missing, and how to get it."""
    from pipeline.console.tables import doctor_document
    from pipeline.doctor import examine

    found = examine()
    show_document(doctor_document(found), found, as_json)
    if any(row["state"] in ("missing", "wrong") for row in found):
        sys.exit(4)


@main.command()
@json_option
@coded
def tasks(as_json: bool) -> None:
    """List the tasks that come with headrace."""
    import os

    from pipeline.config.load import load_task, task_names
    from pipeline.console.tables import tasks_document

    rows = []
    for name in task_names():
        loaded = load_task(name).config
        ready = "ready" if os.path.exists(loaded.data.path) else f"headrace data {name}"
        rows.append({"name": name, "problem": loaded.problem, "data": ready, "description": loaded.description})
    show_document(tasks_document(rows), rows, as_json)


@main.command()
@task_argument
@click.option("--runs", "only_runs", is_flag=True, help="Delete run folders and records, keep what was pushed.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@layer_options
@coded
def clean(task: str, only_runs: bool, yes: bool, layers: Layers) -> None:
    """Delete what the runs of TASK left. Pushed versions stay unless you say otherwise."""
    from pipeline.config.load import load_task, relative
    from pipeline.local.clean import plan, remove

    loaded = load_task(task, layers)
    doomed, size = plan(loaded.config, only_runs)
    if not doomed:
        click.echo("nothing to delete")
        return
    click.echo("\n".join(f"  {relative(str(path))}" for path in doomed))
    if yes or click.confirm(f"delete these, {size / 2**20:,.0f} MiB?"):
        remove(loaded.config, doomed)
        click.echo("deleted")


def _store(task: str, layers: Layers):
    from pipeline.config.load import load_task
    from pipeline.local.store import Store

    loaded = load_task(task, layers).config
    return Store(loaded.root, loaded.name)


def _pushed(task: str, layers: Layers):
    from pipeline.config.load import load_task
    from pipeline.config.paths import serving_dir

    prepare()
    loaded = load_task(task, layers)
    return loaded, serving_dir(loaded.config)


main.add_command(kubeflow)


if __name__ == "__main__":
    main()
