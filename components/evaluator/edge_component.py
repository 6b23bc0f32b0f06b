"""The TFX component `EdgeEvaluator`: lets a quantized model pass or says what it loses."""

import json

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types import standard_artifacts

from components import reporting
from components.artifacts import EdgeEvaluation, QuantizedModels
from components.evaluator.edge import evaluate_edge
from pipeline.config.model import EdgeEvaluateConfig, EvaluateConfig


@component
def EdgeEvaluator(
    transformed_examples: InputArtifact[standard_artifacts.Examples],
    evaluation: InputArtifact[standard_artifacts.ModelEvaluation],
    quantized: InputArtifact[QuantizedModels],
    edge_evaluation: OutputArtifact[EdgeEvaluation],
    config: Parameter[str],
):
    """Compare each quantized model with the float model on every eval example; one that loses too much stops the run.

    Args:
        config: JSON of `edge_evaluate`, `evaluate`, `problem` and `label`.
    """
    settings = json.loads(config)
    found = evaluate_edge(
        quantized.uri,
        transformed_examples.uri,
        evaluation.uri,
        EdgeEvaluateConfig.model_validate(settings["edge_evaluate"]),
        EvaluateConfig.model_validate(settings["evaluate"]),
        settings["problem"],
        settings["label"],
        edge_evaluation.uri,
    )
    edge_evaluation.passed = int(found.passed)
    reporting.report(found.summary(), stop=found.refusal())
