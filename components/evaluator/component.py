"""The TFX component `Evaluator`: blesses a model or says which bound it broke."""

import json
import os

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types import standard_artifacts

from components import reporting
from components.evaluator.evaluate import evaluate
from pipeline.config.model import EvaluateConfig


@component
def Evaluator(
    examples: InputArtifact[standard_artifacts.Examples],
    transformed_examples: InputArtifact[standard_artifacts.Examples],
    model: InputArtifact[standard_artifacts.Model],
    evaluation: OutputArtifact[standard_artifacts.ModelEvaluation],
    blessing: OutputArtifact[standard_artifacts.ModelBlessing],
    config: Parameter[str],
    baseline_model: InputArtifact[standard_artifacts.Model] = None,
):
    """Compare the model with its bounds and with the latest blessed model; a model that fails stops the run.

    Args:
        config: JSON of `evaluate`, `problem` and `label`.
    """
    given = json.loads(config)
    found = evaluate(
        model.uri,
        examples.uri,
        transformed_examples.uri,
        baseline_model.uri if baseline_model else None,
        EvaluateConfig.model_validate(given["evaluate"]),
        given["problem"],
        given["label"],
        evaluation.uri,
    )
    bless(blessing, found.blessed, model, baseline_model)
    baseline = _reference(baseline_model) if baseline_model else None
    reporting.report(found.summary() | {"baseline": baseline}, stop=found.refusal())


def bless(blessing, blessed: bool, model, baseline_model) -> None:
    """Write the blessing as TFX's own Evaluator does: an empty file and the models' addresses as custom properties.

    Source: tfx/components/evaluator/executor.py and constants.py.
    """
    os.makedirs(blessing.uri, exist_ok=True)
    open(os.path.join(blessing.uri, "BLESSED" if blessed else "NOT_BLESSED"), "w").close()
    blessing.set_int_custom_property("blessed", int(blessed))
    blessing.set_string_custom_property("current_model", model.uri)
    blessing.set_int_custom_property("current_model_id", model.id)
    if baseline_model:
        blessing.set_string_custom_property("baseline_model", baseline_model.uri)
        blessing.set_int_custom_property("baseline_model_id", baseline_model.id)


def _reference(model) -> dict:
    """Say which model the baseline is; its digest is a custom property, as of every artifact."""
    return {
        "uri": model.uri,
        "id": model.id,
        "digest": model.get_string_custom_property("digest"),
    }
