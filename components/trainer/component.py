"""Trainer as a TFX component."""

import json
import os

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types import standard_artifacts

from components import reporting, user_code
from components.examples import read_dense, split_files
from components.trainer.export import export_edge, export_serving
from components.trainer.placement import train
from components.trainer.plan import Feature, TrainingPlan
from components.vocabularies import vocabulary_sizes
from pipeline.config.model import TrainConfig


@component
def Trainer(
    transformed_examples: InputArtifact[standard_artifacts.Examples],
    transform_graph: InputArtifact[standard_artifacts.TransformGraph],
    model: OutputArtifact[standard_artifacts.Model],
    config: Parameter[str],
    task_dir: Parameter[str],
):
    """Train the task's model and export it for serving and for the edge."""
    import tensorflow_transform as tft

    given = json.loads(config)
    label = given["label"]
    output = tft.TFTransformOutput(transform_graph.uri)
    features = {
        name: Feature(tuple(spec.shape), spec.dtype.name) for name, spec in output.transformed_feature_spec().items()
    }
    build_model = user_code.load(task_dir, "model.py", "build_model")
    plan = TrainingPlan(
        os.path.join(task_dir, "model.py"),
        features,
        label,
        vocabulary_sizes(output),
        2 if given["problem"] == "binary" else _classes(transformed_examples.uri, label),
        split_files(transformed_examples.uri, "train"),
        split_files(transformed_examples.uri, "eval"),
        TrainConfig.model_validate(given["train"]),
    )
    trained = train(build_model, plan)
    reporting.progress(1.0, "exporting")
    serving = os.path.join(model.uri, "Format-Serving")
    export_serving(trained.model, transform_graph.uri, label, serving)
    export_edge(trained.model, os.path.join(model.uri, "Format-Edge"))
    reporting.report(
        {
            "history": trained.history,
            "steps": trained.steps,
            "parameters": int(trained.model.count_params()),
            "examples_per_s": round(trained.examples_per_s),
        }
    )


def _classes(uri: str, label: str) -> int:
    return int(read_dense(uri, "train", [label])[label].max()) + 1
