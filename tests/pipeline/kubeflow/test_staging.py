"""Artifacts of an object store on the local disk, and the faults of stores in words."""

import os

import pytest

from components.digest import tree_digest
from components.reporting import Listener, Outcome
from pipeline.errors import HeadraceError
from pipeline.kubeflow import files
from tests.object_store import BUCKET


def artifact(uri, digest=""):
    from tfx.types import standard_artifacts

    found = standard_artifacts.Model()
    found.uri = uri
    found.set_string_custom_property("digest", digest)
    return found


@pytest.mark.tf
def test_inputs_come_outputs_go_and_paths_become_addresses(object_store, tmp_path):
    from tfx.orchestration.portable.data_types import ExecutionInfo
    from tfx.proto.orchestration import execution_result_pb2

    from pipeline.kubeflow.staging import Staged

    (tmp_path / "m" / "deep").mkdir(parents=True)
    (tmp_path / "m" / "deep" / "weights").write_bytes(b"123")
    root = f"s3://{BUCKET}/staging"
    files.upload(str(tmp_path / "m"), f"{root}/in")
    info = ExecutionInfo(
        input_dict={
            "model": [artifact(f"{root}/in", tree_digest(str(tmp_path / "m")))],
            "beside": [artifact("/local")],
        },
        output_dict={"made": [artifact(f"{root}/out")]},
        exec_properties={"config": "{}", "task_dir": "tasks/x"},
    )
    stage = Staged(tmp_path / "scratch", {"task_dir": "/opt/tasks/x"})
    local = stage.fetch(info)
    assert (tmp_path / "scratch" / "model-0" / "deep" / "weights").read_bytes() == b"123"
    assert local.input_dict["model"][0].uri == str(tmp_path / "scratch" / "model-0")
    assert local.input_dict["beside"][0].uri == "/local"
    assert info.input_dict["model"][0].uri == f"{root}/in"  # what ML Metadata is told stays
    assert local.exec_properties == {"config": "{}", "task_dir": "/opt/tasks/x"}
    made = local.output_dict["made"][0]
    os.makedirs(made.uri)
    with open(os.path.join(made.uri, "file"), "w") as file:
        file.write("out")
    result = execution_result_pb2.ExecutorOutput()
    proto = result.output_artifacts["made"].artifacts.add()
    proto.uri = made.uri
    proto.custom_properties["from"].string_value = f"{local.input_dict['model'][0].uri}/deep"
    listener = Listener(outcome=Outcome({"path": os.path.join(made.uri, "file")}))
    stage.store(result, listener)
    assert proto.uri == f"{root}/out"
    assert proto.custom_properties["from"].string_value == f"{root}/in/deep"
    assert listener.outcome.summary == {"path": f"{root}/out/file"}
    assert object_store.cat_file(f"{root}/out/file") == b"out"


@pytest.mark.tf
def test_an_input_that_changed_since_it_was_written_is_refused(object_store, tmp_path):
    from tfx.orchestration.portable.data_types import ExecutionInfo

    from pipeline.kubeflow.staging import Staged

    files.write_bytes(f"s3://{BUCKET}/changed/file", b"other")
    info = ExecutionInfo(input_dict={"model": [artifact(f"s3://{BUCKET}/changed", "0" * 64)]})
    with pytest.raises(HeadraceError, match="HR-KFP-028"):
        Staged(tmp_path, {}).fetch(info)


def test_an_upload_replaces_what_a_killed_attempt_left(object_store, tmp_path):
    address = f"s3://{BUCKET}/replaced"
    files.write_bytes(f"{address}/half", b"x")
    (tmp_path / "whole").write_text("y")
    files.upload(str(tmp_path), address)
    assert object_store.find(address) == [f"{BUCKET}/replaced/whole"]


def test_nothing_at_an_address_is_an_error_of_the_data(object_store, tmp_path):
    with pytest.raises(HeadraceError, match="HR-KFP-025"):
        files.download(f"s3://{BUCKET}/nothing-here", str(tmp_path))


@pytest.mark.parametrize("address", ["ftpx://a/b", "gcsfuse://x"])
def test_a_kind_of_store_that_nobody_knows_is_refused(address):
    with pytest.raises(HeadraceError, match="HR-KFP-024"):
        files.open_store(address)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PermissionError("Access Denied"), "HR-KFP-026"),
        (RuntimeError("ExpiredToken: the token has expired"), "HR-KFP-026"),
        (RuntimeError("Unable to locate credentials"), "HR-KFP-026"),
        (ConnectionError("Connection refused"), "HR-KFP-027"),
        (OSError("503 Slow Down"), "HR-KFP-027"),
    ],
)
def test_faults_of_an_object_store_are_told_apart(error, code):
    with pytest.raises(HeadraceError, match=code), files.explained("s3://b/x"):
        raise error


def test_credentials_that_are_refused_say_so(s3_environ, monkeypatch, tmp_path):
    import fsspec

    for name, value in s3_environ.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    with pytest.raises(HeadraceError, match="HR-KFP-026"):
        files.write_bytes(f"s3://{BUCKET}/x", b"y")
    fsspec.get_filesystem_class("s3").clear_instance_cache()
