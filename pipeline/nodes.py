"""The nodes of the pipeline as plain data: what each one depends on. Imports nothing heavy.

`pipeline.graph` builds the TFX pipeline; a test holds the two against each other. The content key of a node is made
from what stands here, so that an unchanged run is recognised before TensorFlow or TFX is imported.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Node:
    """One node.

    Args:
        id: TFX node id.
        module: its component; every `components` module that it imports counts as its code.
        inputs: input name -> (upstream node, output name).
        outputs: output name -> artifact type.
        config: configuration keys that decide its outputs; they are part of its content key.
        places: configuration keys that it reads too, of which its outputs do not depend: paths, names, where Beam runs.
        task_files: files of the task folder that it runs.
        after: further nodes that it waits for although it takes no artifact of theirs.
        pages: what it shows in Kubeflow's pages: `metrics`, numbers that runs are compared by, and `page`, HTML.
        must_exist: key of its summary that names a path outside of the artifacts; the node is done while it exists.
    """

    id: str
    module: str
    outputs: dict[str, str]
    inputs: dict[str, tuple[str, str]]
    config: tuple[str, ...] = ()
    task_files: tuple[str, ...] = ()
    must_exist: str = ""
    after: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()

    @property
    def receives(self) -> tuple[str, ...]:
        """The configuration keys that it is given."""
        return (*self.config, *self.places)

    @property
    def upstream(self) -> tuple[str, ...]:
        """The nodes that it waits for, each once."""
        return tuple(dict.fromkeys((*(upstream for upstream, _ in self.inputs.values()), *self.after)))


EXAMPLES = ("ExampleGen", "examples")
SCHEMA = ("ImportSchemaGen", "schema")
STATISTICS = ("StatisticsGen", "statistics")
GRAPH = ("Transform", "transform_graph")
TRANSFORMED = ("Transform", "transformed_examples")
MODEL = ("Trainer", "model")
BASELINE = ("LatestBlessedModel", "baseline_model")
EVALUATION = ("Evaluator", "evaluation")
BLESSING = ("Evaluator", "blessing")
QUANTIZED = ("Quantizer", "quantized")
EDGE = ("EdgeEvaluator", "edge_evaluation")
INFRA = ("InfraValidator", "blessing")

NODES = (
    Node(
        "ImportSchemaGen",
        "components.validate.import_schema_gen",
        {"schema": "Schema"},
        {},
        places=("schema_path",),
    ),
    Node(
        "ExampleGen",
        "components.ingest.component",
        {"examples": "Examples"},
        {"schema": SCHEMA},
        ("data.format", "data.delimiter", "split", "label", "problem"),
        places=("data.path", "data.span"),
    ),
    Node(
        "StatisticsGen",
        "components.validate.statistics_gen",
        {"statistics": "ExampleStatistics"},
        {"examples": EXAMPLES, "schema": SCHEMA},
        places=("beam",),
        pages=("page",),
    ),
    Node(
        "ExampleValidator",
        "components.validate.example_validator",
        {"anomalies": "ExampleAnomalies"},
        {"statistics": STATISTICS, "schema": SCHEMA},
        ("validation",),
        places=("name", "schema_path"),
        pages=("page",),
    ),
    Node(
        "Transform",
        "components.transform.component",
        {"transform_graph": "TransformGraph", "transformed_examples": "Examples"},
        {"examples": EXAMPLES, "schema": SCHEMA},
        ("transform",),
        ("features.py",),
        after=("ExampleValidator",),  # nothing is computed on data that did not pass
        places=("beam",),
    ),
    Node(
        "Trainer",
        "components.trainer.component",
        {"model": "Model"},
        {"transformed_examples": TRANSFORMED, "transform_graph": GRAPH},
        ("train", "label", "problem"),
        ("model.py",),
        pages=("metrics",),
    ),
    Node(
        "LatestBlessedModel",
        "components.evaluator.baseline",
        {"baseline_model": "Model"},
        {"candidate": MODEL},
        ("evaluate.baseline",),
    ),
    Node(
        "Evaluator",
        "components.evaluator.component",
        {"evaluation": "ModelEvaluation", "blessing": "ModelBlessing"},
        {"examples": EXAMPLES, "transformed_examples": TRANSFORMED, "model": MODEL, "baseline_model": BASELINE},
        ("evaluate", "label", "problem"),
        pages=("metrics", "page"),
    ),
    Node(
        "Quantizer",
        "components.quantizer.component",
        {"quantized": "QuantizedModels"},
        {"model": MODEL, "transformed_examples": TRANSFORMED},
        ("quantize", "label"),
    ),
    Node(
        "EdgeEvaluator",
        "components.evaluator.edge_component",
        {"edge_evaluation": "EdgeEvaluation"},
        {"transformed_examples": TRANSFORMED, "evaluation": EVALUATION, "quantized": QUANTIZED},
        ("edge_evaluate", "evaluate", "label", "problem"),
        pages=("metrics", "page"),
    ),
    Node(
        "InfraValidator",
        "components.infra_validator.component",
        {"blessing": "InfraBlessing"},
        {"model": MODEL, "examples": EXAMPLES},
        ("infra_validate",),
    ),
    Node(
        "Pusher",
        "components.pusher.component",
        {"pushed_model": "PushedModel"},
        {"model": MODEL, "model_blessing": BLESSING, "infra_blessing": INFRA, "edge_evaluation": EDGE},
        must_exist="path",
        places=("push",),
    ),
)

BY_ID = {node.id: node for node in NODES}
