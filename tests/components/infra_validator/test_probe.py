import json
import os

import numpy as np
import pytest

from components.infra_validator import probe


@pytest.mark.parametrize(
    ("outputs", "reason"),
    [
        (np.zeros(3), "3 requests were answered by a tensor of shape [3]"),
        (np.zeros((2, 1)), "3 requests were answered by a tensor of shape [2, 1]"),
        (np.zeros((3, 0)), "3 requests were answered by a tensor of shape [3, 0]"),
        (np.array([[0.5], [np.nan], [np.inf]]), "2 of 3 answers are not finite, such as [nan]"),
        (np.array([[0.5], [1.5], [0.5]]), "1 of 3 answers are no probabilities, such as [1.5]"),
        (np.array([[0.5], [-0.1], [0.5]]), "1 of 3 answers are no probabilities, such as [-0.1]"),
        (np.array([[0.5, 0.4]] * 3), "the probabilities of a row sum to 0.9000, not to 1"),
    ],
)
def test_answers_that_no_server_should_give_are_refused(outputs, reason):
    with pytest.raises(probe.WrongAnswer) as error:
        probe.check(outputs, 3)
    assert str(error.value) == reason


def test_good_answers_pass():
    probe.check(np.array([[0.0], [0.5], [1.0]]), 3)
    probe.check(np.array([[0.25, 0.75]]), 1)
    probe.compare(np.array([[0.25], [0.5]]), [np.array([[0.25]]), np.array([[0.50001]])])


def test_a_row_that_is_answered_otherwise_in_a_batch_is_refused():
    with pytest.raises(probe.WrongAnswer, match=r"request 2 is answered \[0.6\] alone and \[0.5\] in a batch of 2"):
        probe.compare(np.array([[0.25], [0.5]]), [np.array([[0.25]]), np.array([[0.6]])])
    with pytest.raises(probe.WrongAnswer, match=r"shape \[2, 1\]"):
        probe.compare(np.array([[0.25]]), [np.array([[0.25], [0.25]])])


def run_here(monkeypatch, tmp_path, model_uri, examples_uri):
    """Run the probe in this process, unconfined, on a model as `validate` lays it out."""
    import base64

    from components.infra_validator.validate import first_examples

    os.symlink(os.path.join(model_uri, "Format-Serving"), tmp_path / "model")
    examples = [base64.b64encode(example).decode() for example in first_examples(examples_uri, 5)]
    (tmp_path / "request.json").write_text(json.dumps({"examples": examples}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(probe, "confine", lambda readable, writable: False)
    assert probe.main() == 0
    return json.loads((tmp_path / "result.json").read_text())


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda tf, x: tf.sigmoid(x - tf.reduce_mean(x)), "in a batch of 5"),
        (lambda tf, x: tf.math.log(-1.0 - x), "5 of 5 answers are not finite"),
        (lambda tf, x: x + 2.0, "5 of 5 answers are no probabilities, such as [2.0]"),
        (lambda tf, x: tf.sigmoid(x)[:1], "5 requests were answered by a tensor of shape [1, 1]"),
    ],
)
def test_a_model_with_wrong_answers_is_found_out(monkeypatch, tmp_path, make_model, examples_uri, answer, reason):
    model = make_model(tmp_path / "made", answer)
    result = run_here(monkeypatch, tmp_path, model, examples_uri)
    assert (result["passed"], result["kind"]) == (False, "answer")
    assert reason in result["reason"]


def test_a_model_without_the_signature_or_the_output_is_found_out(monkeypatch, tmp_path, make_model, examples_uri):
    model = make_model(tmp_path / "made", lambda tf, x: tf.sigmoid(x), outputs="scores")
    result = run_here(monkeypatch, tmp_path, model, examples_uri)
    assert "no output named outputs, only scores" in result["reason"]


def test_a_missing_variable_file_is_found_out(monkeypatch, tmp_path, make_model, examples_uri):
    model = make_model(tmp_path / "made", lambda tf, x: tf.sigmoid(x))
    for folder, _, files in os.walk(tmp_path / "made"):
        for name in files:
            if name == "saved_model.pb":
                os.truncate(os.path.join(folder, name), 100)
    result = run_here(monkeypatch, tmp_path, model, examples_uri)
    assert (result["passed"], result["kind"]) == (False, "load")
