"""What a run left in ML Metadata as a graph without ids: nodes, artifacts, and which made or used which."""

from __future__ import annotations

from typing import Any


def graph(store: Any, run_id: str) -> dict[str, dict]:
    """Return the run's finished executions by node id.

    Each has its state, and for inputs and outputs by name the artifact's type, the node that made it and the
    properties that do not name places: blessings, spans, split names.
    """
    [context] = [c for c in store.get_contexts_by_type("pipeline_run") if c.name == run_id]
    executions = [e for e in store.get_executions_by_context(context.id) if e.last_known_state in (3, 5)]
    kinds = {kind.id: kind.name for kind in store.get_execution_types()}
    types = {kind.id: kind.name for kind in store.get_artifact_types()}
    nodes = {e.id: kinds[e.type_id].rpartition(".")[2] for e in executions}
    events = store.get_events_by_execution_ids([e.id for e in executions])
    artifacts = {a.id: a for a in store.get_artifacts_by_id(list({e.artifact_id for e in events}))}
    made_by = {e.artifact_id: nodes[e.execution_id] for e in events if e.type == e.OUTPUT}
    found = {nodes[e.id]: {"state": e.last_known_state, "inputs": {}, "outputs": {}} for e in executions}
    for event in events:
        side = "outputs" if event.type == event.OUTPUT else "inputs"
        artifact = artifacts[event.artifact_id]
        name = event.path.steps[0].key
        found[nodes[event.execution_id]][side][name] = {
            "type": types[artifact.type_id],
            "made_by": made_by.get(artifact.id, ""),
            **_plain(artifact),
        }
    return found


PLACES = ("current_model", "baseline_model", "pushed_destination", "name", "tfx_version", "state", "producer_component")


def _plain(artifact: Any) -> dict:
    values = {**dict(artifact.properties), **dict(artifact.custom_properties)}
    return {
        name: getattr(value, value.WhichOneof("value"))
        for name, value in sorted(values.items())
        if name not in PLACES and not name.endswith("_id") and value.WhichOneof("value") != "struct_value"
    }


def digests(found: dict[str, dict]) -> dict[str, str]:
    """Return the digest of every output, and leave none in the graph."""
    return {
        f"{node}.{name}": output.pop("digest", "")
        for node, entry in found.items()
        for name, output in [*entry["outputs"].items(), *entry["inputs"].items()]
    }
