import json

import pytest

from pipeline.kubeflow.simulate import PROFILES

WRITE = """
import json, sys
message = json.loads(sys.argv[1])
open(message["outputs"]["outputFile"], "w").write(sys.argv[2])
"""
PRINT = "import sys; print(sys.argv[1])"
MODEL = {"taskOutputArtifact": {"producerTask": "a", "outputArtifactKey": "model"}}


def reading(build, code, *args):
    """Return a step that takes the model of step a."""
    built = build.step(code, *args)
    built["task"]["inputs"]["artifacts"] = {"model": MODEL}
    built["component"]["inputDefinitions"]["artifacts"] = {
        "model": {"artifactType": {"schemaTitle": "system.Model", "schemaVersion": "0.0.1"}}
    }
    return built


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('{"parameterValues": {"n": 1}, "extra": 1}', "failed to unmarshall ExecutorOutput"),
        ("{", "failed to unmarshall ExecutorOutput"),
        ('{"artifacts": {"model": {"artifacts": [{"metadata": {"x": null}}]}}}', "unsupported value type null"),
        (
            '{"artifacts": {"model": {"artifacts": [{"uri": "minio://other/x"}]}}}',
            "does not have expected bucket prefix",
        ),
    ],
)
def test_what_the_launcher_does_not_accept_fails_the_step(play, build, written, message):
    result = play({"a": build.step(WRITE, "{{$}}", written, artifacts={"model": "system.Model"})})
    assert (result.state, result.exit_code) == ("FAILED", 1)
    assert message in result.steps["a"].message


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("STRING", "a\n", "a\n"),
        ("NUMBER_INTEGER", " 12\n", 12.0),
        ("NUMBER_INTEGER", "1.5", None),
        ("NUMBER_INTEGER", "1_000", None),
        ("NUMBER_DOUBLE", "1.5e3", 1500.0),
        ("NUMBER_DOUBLE", "a", None),
        ("BOOLEAN", "True", True),
        ("BOOLEAN", "yes", None),
        ("LIST", '[1, "a"]', [1.0, "a"]),
        ("LIST", "{}", None),
        ("STRUCT", '{"a": 1}', {"a": 1.0}),
        ("STRUCT", "[]", None),
    ],
)
def test_the_text_of_an_output_parameter_has_to_be_of_its_type(play, build, kind, text, value):
    code = "import sys; open(sys.argv[1], 'w').write(sys.argv[2])"
    result = play({"a": build.step(code, "{{$.outputs.parameters['n'].output_file}}", text, outputs={"n": kind})})
    if value is None:
        assert result.state == "FAILED"
        assert f'failed to read output parameter name="n" type="{kind}"' in result.steps["a"].message
    else:
        assert result.steps["a"].parameters == {"n": value}


def test_an_output_parameter_that_was_not_written_fails_the_step(play, build):
    result = play({"a": build.step("pass", outputs={"n": "STRING"})})
    assert 'failed to read output parameter name="n"' in result.steps["a"].message


def test_the_executor_output_wins_over_the_text_file(play, build):
    code = WRITE + "open(message['outputs']['parameters']['n']['outputFile'], 'w').write('file')"
    result = play({"a": build.step(code, "{{$}}", '{"parameterValues": {"n": "message"}}', outputs={"n": "STRING"})})
    assert result.steps["a"].parameters == {"n": "message"}


def test_an_artifact_that_was_not_written_is_only_noted(play, build):
    result = play({"a": build.step("pass", artifacts={"model": "system.Model"})})
    assert result.state == "SUCCEEDED"
    model = next(artifact for artifact in result.steps["a"].artifacts if artifact.name == "model")
    assert model.path is None
    assert any("output artifact 'model': the step wrote no file" in note for note in result.notes)


@pytest.mark.parametrize("profile", PROFILES)
def test_the_places_of_outputs_are_those_of_the_release(play, build, profile):
    tasks = {"a": build.step(PRINT, "{{$}}", outputs={"n": "STRING"}, artifacts={"model": "system.Model"})}
    result = play(tasks, profile=profile, run_id="4711")
    outputs = json.loads(play.lines("a")[0])["outputs"]
    model = outputs["artifacts"]["model"]["artifacts"][0]
    pod = play.folder / "work-1" / "steps" / "a" / "pod"
    root, task, key = model["uri"].rsplit("/", 2)
    assert root == "minio://mlpipeline/v2/artifacts/example/4711/a"
    assert (len(task), key) == (36, "model")
    assert model["type"] == {"schemaTitle": "system.Model", "schemaVersion": "0.0.1"} or model["type"] == {
        "schemaTitle": "system.Model"
    }
    assert outputs["parameters"]["n"]["outputFile"] == f"{pod}/tmp/kfp/outputs/n"
    if profile == "2.14":
        assert "name" not in model
        assert outputs["outputFile"] == f"{pod}/tmp/kfp_outputs/output_metadata.json"
    else:
        assert model["name"] == "model"
        in_pod = f"minio/mlpipeline/v2/artifacts/example/4711/a/{task}/output_metadata.json"
        assert outputs["outputFile"] == f"{pod}/{in_pod}"
    assert result.run_id == "4711"


def test_all_attempts_of_a_step_get_the_same_message(play, build):
    code = "import sys; print(sys.argv[1]); sys.exit(1)"
    retry = {"maxRetryCount": 1, "backoffDuration": "0s", "backoffFactor": 2.0, "backoffMaxDuration": "60s"}
    play({"a": build.step(code, "{{$}}", artifacts={"model": "system.Model"}, task={"retryPolicy": retry})})
    first, second = play.lines("a")
    assert first == second


def test_an_artifact_reaches_the_next_step_without_its_type_and_with_changed_metadata(play, build):
    metadata = {"good": True, "score": 3, "names": ["a"], "more": {"b": False}, "text": "t"}
    written = json.dumps({"artifacts": {"model": {"artifacts": [{"metadata": metadata}]}}})
    code = WRITE + "import os; os.mkdir(sys.argv[3]); open(sys.argv[3] + '/weights', 'w').write('w')"
    tasks = {
        "a": build.step(
            code, "{{$}}", written, "{{$.outputs.artifacts['model'].path}}", artifacts={"model": "system.Model"}
        ),
        "b": reading(
            build,
            "import sys, os; print(sys.argv[1]); print(open(sys.argv[2] + '/weights').read(), sys.argv[3])",
            "{{$}}",
            "{{$.inputs.artifacts['model'].path}}",
            "{{$.inputs.artifacts['model'].uri}}",
        ),
    }
    result = play(tasks)
    assert result.state == "SUCCEEDED", play.lines("b")
    first, second = play.lines("b")
    model = json.loads(first)["inputs"]["artifacts"]["model"]["artifacts"][0]
    produced = next(artifact for artifact in result.steps["a"].artifacts if artifact.name == "model")
    assert model["name"].isdigit() and model["type"] == {"instanceSchema": ""}
    assert model["uri"] == produced.uri and second == f"w {produced.uri}"
    session = json.loads(model["metadata"].pop("store_session_info"))
    assert session["Provider"] == "minio"
    assert model["metadata"] == {
        "good": 1,
        "score": 3,
        "names": {"list": ["a"]},
        "more": {"struct": {"b": False}},
        "text": "t",
        "display_name": "model",
    }
    assert (produced.path / "weights").read_text() == "w"


def test_the_log_of_a_step_is_an_artifact(play, build):
    result = play({"a": build.step("print('said')")})
    logs = next(artifact for artifact in result.steps["a"].artifacts if artifact.name == "executor-logs")
    assert logs.path.read_text() == "said\n"
