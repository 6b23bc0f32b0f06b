"""The command line against what the SDK's own local runner makes of it, where the two agree."""

import json
from pathlib import Path

import pytest

from pipeline.kubeflow.simulate.model import StepError
from pipeline.kubeflow.simulate.placeholders import driver_arguments, fill_in, with_defaults

URI = "minio://mlpipeline/v2/artifacts/p/r/t/u/model"
MESSAGE = {
    "inputs": {"parameterValues": {"word": "hi", "n": 3.0, "rate": 0.25, "on": True, "many": [1.0, "a"]}},
    "outputs": {
        "parameters": {"status": {"outputFile": "/out/status"}},
        "artifacts": {"model": {"artifacts": [{"name": "model", "uri": URI}]}},
        "outputFile": "/out/output_metadata.json",
    },
}
SHARED = [
    "plain",
    "{{$.inputs.parameters['word']}}",
    "--a={{$.inputs.parameters['word']}}/{{$.inputs.parameters['rate']}}",
    "{{$.inputs.parameters['on']}}",
    "{{$.outputs.parameters['status'].output_file}}",
    "{{$.outputs.artifacts['model'].uri}}",
]


def test_placeholders_are_filled_in_as_the_sdk_does():
    utils = pytest.importorskip("kfp.local.placeholder_utils")
    expected = utils.replace_placeholders(
        ["run", *SHARED],
        json.loads(json.dumps(MESSAGE)),
        pipeline_resource_name="p",
        task_resource_name="t",
        pipeline_root="/root",
        unique_pipeline_id="id",
    )
    assert fill_in(["run"], SHARED, MESSAGE, Path("/pod")) == expected


def test_the_message_is_the_one_that_the_sdk_builds(build):
    inputs = pytest.importorskip("kfp.local.executor_input_utils")
    from google.protobuf import json_format
    from kfp.pipeline_spec import pipeline_spec_pb2

    from pipeline.kubeflow.simulate.model import PROFILES
    from pipeline.kubeflow.simulate.outputs import LOGS, provide

    component = build.step(
        "pass", inputs={"n": ("NUMBER_INTEGER", None)}, outputs={"s": "STRING"}, artifacts={"m": "system.Model"}
    )["component"]
    spec = json_format.ParseDict({**component, "executorLabel": "e"}, pipeline_spec_pb2.ComponentSpec())
    theirs = json_format.MessageToDict(inputs.construct_executor_input(spec, {"n": 3}, "/task", True))
    ours = provide(component, "minio://bucket/task", Path("/pod"), PROFILES["2.17"])
    del ours["artifacts"][LOGS]
    assert {"parameterValues": theirs["inputs"]["parameterValues"]} == {"parameterValues": {"n": 3.0}}
    assert ours["parameters"].keys() == theirs["outputs"]["parameters"].keys()
    mine, other = (side["artifacts"]["m"]["artifacts"][0] for side in (ours, theirs["outputs"]))
    assert mine["name"] == other["name"]
    assert mine["uri"].removeprefix("minio://bucket") == other["uri"]


def test_only_the_whole_message_is_filled_into_the_first_word():
    first, second = fill_in(["{{$}}{{$.inputs.parameters['word']}}"], ["{{$}}"], MESSAGE, Path("/pod"))
    assert first.endswith("}{{$.inputs.parameters['word']}}")
    assert json.loads(second) == MESSAGE
    assert '"n":3,' in second  # as Go writes it


def test_paths_stand_below_the_pods_own_root():
    words = fill_in(["run"], ["{{$.outputs.artifacts['model'].path}}"], MESSAGE, Path("/pod"))
    assert words[1] == "/pod/minio/mlpipeline/v2/artifacts/p/r/t/u/model"


def test_lists_are_written_as_json_and_unknown_placeholders_stay():
    words = fill_in(["run"], ["{{$.inputs.parameters['many']}}", "{{$.inputs.parameters['no']}}"], MESSAGE, Path("/"))
    assert words[1:] == ['[1,"a"]', "{{$.inputs.parameters['no']}}"]


def test_the_launcher_knows_defaults_and_the_driver_of_2_17_does_not():
    component = {"inputDefinitions": {"parameters": {"d": {"parameterType": "STRING", "defaultValue": "x"}}}}
    message = {"inputs": {"parameterValues": {}, "artifacts": {}}, "outputs": {}}
    argument = "{{$.inputs.parameters['d']}}"
    assert fill_in(["run"], [argument], with_defaults(message, component), Path("/"))[1] == "x"
    with pytest.raises(StepError, match='parameter "d" not found'):
        driver_arguments([argument], message["inputs"])


def test_the_driver_of_2_17_decides_if_present():
    def chosen(values):
        text = json.dumps(
            {"IfPresent": {"InputName": "d", "Then": ["--d", "{{$.inputs.parameters['d']}}"], "Else": "no"}}
        )
        text = text.replace('{"IfPresent": ', '{"IfPresent":')
        return driver_arguments([text, "{{$.outputs.x}}"], {"parameterValues": values})

    assert chosen({"d": 5.0}) == ["--d", "5", "{{$.outputs.x}}"]
    assert chosen({}) == ["no", "{{$.outputs.x}}"]
