"""What a step shows in Kubeflow: its status, metrics to compare runs by, an HTML page, and where its artifacts are.

None of it is needed by another step. Kubeflow's launcher uploads the files after the step has ended.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping
from pathlib import Path

from components.reporting import Outcome
from pipeline.config.paths import is_url
from pipeline.console import findings, record
from pipeline.kubeflow.executor_input import ExecutorInput
from pipeline.kubeflow.files import download
from pipeline.nodes import Node

SECTIONS = {  # of the run report
    "StatisticsGen": ("data",),
    "ExampleValidator": ("data",),
    "Evaluator": ("quality",),
    "EdgeEvaluator": ("models",),
}


def write(
    task: str,
    node: Node,
    executor_input: ExecutorInput,
    status: str,
    outputs: Mapping[str, dict],
    outcome: Outcome,
    paths: Mapping[str, str],
) -> None:
    """Write the status and the pages.

    Args:
        task: the task's name.
        status: EXECUTED, CACHED or SKIPPED.
        outputs: the node's artifacts as `pipeline.run_node` describes them.
        paths: local path of each page by its name in the compiled pipeline.
    """
    values = {"run_id": executor_input.run_id, "task": task, "node": node.id, "status": status}
    entry = {
        "id": node.id,
        "status": {"EXECUTED": "ran", "CACHED": "cached"}.get(status, "skipped"),
        "summary": outcome.summary,
        "error": outcome.stop.to_dict() if outcome.stop else None,
    }
    run = {"task": task, "run_id": executor_input.run_id, "status": "succeeded", "error": entry["error"]}
    metadata: dict[str, dict] = {}
    if "lineage" in paths:
        _write(paths["lineage"], json.dumps({**values, "outputs": outputs}, indent=1, sort_keys=True))
    if "metrics" in paths:
        metadata["metrics"] = metrics(node, {**run, "nodes": [entry]})
        _write(paths["metrics"], json.dumps(metadata["metrics"], indent=1, sort_keys=True))
    if "page" in paths:
        _write(paths["page"], page(node, run, entry, outputs))
    for file in executor_input.parameter_files.values():
        _write(file, status)
    if executor_input.output_file:
        _write(executor_input.output_file, json.dumps(executor_output(executor_input, status, metadata)))


def executor_output(executor_input: ExecutorInput, status: str, metadata: Mapping[str, dict]) -> dict:
    """Return the ExecutorOutput message: the status, and metrics as the metadata of their artifact.

    Source: kubeflow/pipelines api/v2alpha1/pipeline_spec.proto, message ExecutorOutput.
    """
    artifacts = {
        name: {"artifacts": [{**_kept(executor_input.artifacts[name]), "metadata": values}]}
        for name, values in metadata.items()
        if name in executor_input.artifacts
    }
    return {
        "parameterValues": {name: status for name in executor_input.parameter_files},
        **({"artifacts": artifacts} if artifacts else {}),
    }


def metrics(node: Node, run: dict) -> dict[str, float]:
    """Return the finite numbers that a node's summary is compared by."""
    summary = record.summary(run, node.id)
    found: dict[str, float] = {}
    if node.id == "Trainer":
        found = {name: values[-1] for name, values in (summary.get("history") or {}).items() if values}
        found |= {name: summary[name] for name in ("steps", "examples_per_s") if name in summary}
    elif node.id == "Evaluator":
        found = dict((summary.get("metrics") or {}).get(findings.OVERALL) or {})
    elif node.id == "EdgeEvaluator":
        for model in findings.edge_models(run):
            values = {"size_ratio": model.size_ratio, "agreement": model.agreement, "change": model.delta.get("value")}
            found |= {f"{model.scheme}_{name}": value for name, value in values.items()}
    return {name: float(value) for name, value in found.items() if _finite(value)}


def page(node: Node, run: dict, entry: dict, outputs: Mapping[str, dict]) -> str:
    """Return the part of the run report that a node fills, as one HTML file."""
    from pipeline.report import render

    with tempfile.TemporaryDirectory(prefix="headrace-page-") as folder:
        local = {}
        for name, output in outputs.items():
            local[name] = dict(output)
            if is_url(output["uri"]) and node.id == "StatisticsGen":
                local[name]["uri"] = str(Path(folder) / name)
                download(output["uri"], local[name]["uri"])
        whole = {**run, "nodes": [{**entry, "outputs": local}]}
        return render(whole, Path(folder) / run["run_id"], SECTIONS[node.id], "the step's outcome")


def _kept(artifact: Mapping) -> dict:
    return {key: artifact[key] for key in ("name", "uri") if artifact.get(key)}


def _finite(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _write(path: str, text: str) -> None:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", errors="replace")
