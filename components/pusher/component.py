"""The TFX component `Pusher`: pushes a model that passed every gate."""

import json
import os

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types import standard_artifacts

from components import reporting
from components.artifacts import EdgeEvaluation
from components.pusher.gate import refusal
from components.pusher.push import Pushed, push
from components.pusher.remote import push_remote
from pipeline.config.model import PushConfig
from pipeline.config.paths import is_url


@component
def Pusher(
    model: InputArtifact[standard_artifacts.Model],
    pushed_model: OutputArtifact[standard_artifacts.PushedModel],
    config: Parameter[str],
    model_blessing: InputArtifact[standard_artifacts.ModelBlessing] = None,
    infra_blessing: InputArtifact[standard_artifacts.InfraBlessing] = None,
    edge_evaluation: InputArtifact[EdgeEvaluation] = None,
):
    """Push `Format-Serving` of the model as the next version, if every gate that the pipeline has was passed.

    Args:
        config: JSON of `push` with its `base_dir` filled in.
    """
    settings = PushConfig.model_validate(json.loads(config)["push"])
    reason = refusal(
        _blessed(model_blessing),
        _blessed(infra_blessing),
        None if edge_evaluation is None else edge_evaluation.passed == 1,
    )
    if reason:
        pushed = Pushed(None, "", False, reason)
    else:
        copy = push_remote if is_url(settings.base_dir) else push
        pushed = copy(os.path.join(model.uri, "Format-Serving"), settings.base_dir)
    record(pushed_model, pushed)
    reporting.report(pushed.summary())


def _blessed(blessing) -> bool | None:
    return None if blessing is None else blessing.get_int_custom_property("blessed") == 1


def record(pushed_model, pushed: Pushed) -> None:
    """Write the custom properties that TFX's own Pusher writes, and `pushed.json`.

    `pushed` is 1 too when the newest version had the same bytes: what is served is this model.

    Source: tfx/components/pusher/executor.py.
    """
    served = pushed.version is not None
    pushed_model.set_int_custom_property("pushed", int(served))
    if served:
        pushed_model.set_string_custom_property("pushed_destination", pushed.path)
        pushed_model.set_string_custom_property("pushed_version", str(pushed.version))
    os.makedirs(pushed_model.uri, exist_ok=True)
    with open(os.path.join(pushed_model.uri, "pushed.json"), "w") as file:
        json.dump(pushed.summary(), file)
