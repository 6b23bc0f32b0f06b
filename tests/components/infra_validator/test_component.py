import os

import pytest

from components.infra_validator.validate import InfraResult
from components.reporting import Listener, listening
from pipeline.config.model import InfraValidateConfig
from pipeline.errors import HeadraceError


@pytest.mark.parametrize("blessed", [True, False])
def test_the_blessing_is_written_as_tfx_writes_it_and_a_failure_stops_the_run(monkeypatch, tmp_path, blessed):
    from tfx.types import standard_artifacts

    from components.infra_validator import component

    error = None if blessed else HeadraceError("HR-INFRA-003", "the model's answers are wrong")
    asked = []

    def validate(model_uri, examples_uri, config, workdir):
        asked.append((model_uri, examples_uri, config))
        return InfraResult(20, 1.9, 0.4, True, error)

    monkeypatch.setattr(component, "validate", validate)
    model, examples, blessing = (
        standard_artifacts.Model(),
        standard_artifacts.Examples(),
        standard_artifacts.InfraBlessing(),
    )
    model.uri, examples.uri, blessing.uri = "/m", "/e", str(tmp_path / "blessing")
    listener = Listener()
    with listening(listener):
        component.InfraValidator.test_call(
            model=model,
            examples=examples,
            blessing=blessing,
            config='{"infra_validate": {"requests": 20, "timeout_s": 60.0}}',
        )
    assert asked == [("/m", "/e", InfraValidateConfig(requests=20, timeout_s=60))]
    assert blessing.get_int_custom_property("blessed") == int(blessed)
    assert os.listdir(tmp_path / "blessing") == ["INFRA_BLESSED" if blessed else "INFRA_NOT_BLESSED"]
    assert listener.outcome.stop is error
    assert listener.outcome.summary["blessed"] is blessed
    assert listener.outcome.summary["p50_ms"] == 1.9
