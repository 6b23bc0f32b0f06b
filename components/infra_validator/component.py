"""The TFX component `InfraValidator`: blesses a model that a fresh process can load and call."""

import json
import os
import tempfile

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types import standard_artifacts

from components import reporting
from components.infra_validator.validate import validate
from pipeline.config.model import InfraValidateConfig


@component
def InfraValidator(
    model: InputArtifact[standard_artifacts.Model],
    examples: InputArtifact[standard_artifacts.Examples],
    blessing: OutputArtifact[standard_artifacts.InfraBlessing],
    config: Parameter[str],
):
    """Send real examples to the model in a process of its own; a model that fails stops the run.

    Args:
        config: JSON of `infra_validate`.
    """
    settings = InfraValidateConfig.model_validate(json.loads(config)["infra_validate"])
    with tempfile.TemporaryDirectory(prefix="headrace-") as workdir:  # not below the run's own folders
        result = validate(model.uri, examples.uri, settings, workdir)
    bless(blessing, result.blessed)
    reporting.report(result.summary(), stop=result.error)


def bless(blessing, blessed: bool) -> None:
    """Write the blessing as TFX's own InfraValidator does.

    Source: tfx/components/infra_validator/executor.py.
    """
    os.makedirs(blessing.uri, exist_ok=True)
    open(os.path.join(blessing.uri, "INFRA_BLESSED" if blessed else "INFRA_NOT_BLESSED"), "w").close()
    blessing.set_int_custom_property("blessed", int(blessed))
