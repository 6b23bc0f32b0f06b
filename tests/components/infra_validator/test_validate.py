import os
import shutil

import pytest

from components.infra_validator.validate import first_examples, validate
from pipeline.config.model import InfraValidateConfig
from pipeline.errors import HeadraceError

CONFIG = InfraValidateConfig(requests=20, timeout_s=120)


@pytest.fixture
def sigmoid(make_model, tmp_path):
    return make_model(tmp_path / "model", lambda tf, x: tf.sigmoid(x))


def test_a_good_model_is_blessed_and_measured(sigmoid, examples_uri, tmp_path):
    result = validate(sigmoid, examples_uri, CONFIG, str(tmp_path / "work"))
    assert result.error is None and result.blessed
    assert result.requests == 20
    assert 0 < result.p50_ms < 1000 and 0 < result.load_s < 60
    assert set(result.summary()) >= {"requests", "p50_ms", "load_s", "blessed"}
    assert os.listdir(tmp_path / "work") == []  # the copy is gone


@pytest.mark.slow
def test_a_model_that_reads_a_file_of_training_is_refused(make_model, examples_uri, tmp_path):
    vocabulary = tmp_path / "training" / "scale.txt"
    vocabulary.parent.mkdir()
    vocabulary.write_text("2.0")
    path = str(vocabulary)
    model = make_model(
        tmp_path / "model", lambda tf, x: tf.sigmoid(x * tf.strings.to_number(tf.io.read_file(tf.constant(path))))
    )
    result = validate(model, examples_uri, CONFIG, str(tmp_path / "work"))
    if result.blessed:
        assert not result.confined
        pytest.skip("this kernel has no Landlock, so the file could be read")
    assert result.error.code == "HR-INFRA-001"
    assert "scale.txt" in result.error.seen[0]


def test_a_model_that_is_not_there_is_refused(examples_uri, tmp_path):
    absent = validate(str(tmp_path / "absent"), examples_uri, CONFIG, str(tmp_path / "work"))
    assert not absent.blessed and absent.error.code == "HR-INFRA-001"
    assert "absent/Format-Serving" in absent.error.seen[0]


def test_a_process_that_takes_too_long_is_ended(sigmoid, examples_uri, tmp_path):
    result = validate(sigmoid, examples_uri, InfraValidateConfig(timeout_s=0.2), str(tmp_path / "work"))
    assert result.error.code == "HR-INFRA-002"
    assert "within 0.2 s" in result.error.what
    assert os.listdir(tmp_path / "work") == []


def test_a_process_that_dies_is_reported_with_its_last_line(sigmoid, examples_uri, tmp_path, monkeypatch):
    fake = tmp_path / "python"
    said = ["loading", "out of luck", "I0000 00:00:1796056494.606979 30809 cudart_stub.cc:31] no cuda"]
    fake.write_text("#!/bin/sh\n" + "".join(f"echo '{line}' >&2\n" for line in said) + "kill -9 $$\n")
    fake.chmod(0o755)
    monkeypatch.setattr("components.infra_validator.validate.sys.executable", str(fake))
    result = validate(sigmoid, examples_uri, CONFIG, str(tmp_path / "work"))
    assert result.error.code == "HR-INFRA-001"
    assert "signal 9" in result.error.what and result.error.seen == ["out of luck"]


def test_the_probe_gets_no_path_of_the_run_and_a_small_environment(sigmoid, examples_uri, tmp_path, monkeypatch):
    fake = tmp_path / "python"
    fake.write_text(
        '#!/bin/sh\nenv >&2; ls >&2; cat request.json | cut -c1-40 >&2; echo "$@" >&2; cp -r . "%s"\n'
        % (tmp_path / "seen")
    )
    fake.chmod(0o755)
    monkeypatch.setattr("components.infra_validator.validate.sys.executable", str(fake))
    monkeypatch.setenv("SECRET_TOKEN", "do not pass on")
    work = tmp_path / "work"
    validate(sigmoid, examples_uri, CONFIG, str(work))
    log = (tmp_path / "seen" / "probe.log").read_text()
    assert "SECRET_TOKEN" not in log
    for path in (sigmoid, examples_uri):
        assert path not in log
    assert sorted(os.listdir(tmp_path / "seen")) == ["model", "probe.log", "request.json"]
    shutil.rmtree(tmp_path / "seen")


def test_eval_examples_are_sent_and_their_number_is_bounded(examples_uri, tmp_path):
    assert len(first_examples(examples_uri, 7)) == 7
    assert len(first_examples(examples_uri, 100)) == 30
    (tmp_path / "Split-eval").mkdir()
    with pytest.raises(HeadraceError, match="HR-INFRA-004"):
        first_examples(str(tmp_path), 7)
