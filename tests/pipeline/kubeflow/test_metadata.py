"""Connecting to ML Metadata, against real servers."""

import random
import subprocess
import sys

import pytest

from components.reporting import Outcome
from pipeline.errors import HeadraceError
from pipeline.kubeflow.metadata import connect
from tests.pipeline.kubeflow import databases

pytestmark = pytest.mark.tf


@pytest.fixture(scope="module", params=["mysql", "postgresql"])
def database(request, tmp_path_factory):
    if reason := databases.missing(request.param):
        pytest.skip(reason)
    with databases.server(request.param, tmp_path_factory.mktemp(request.param)) as found:
        yield found


def test_a_new_database_gets_its_tables_and_keeps_what_is_put(database):
    from ml_metadata.proto import metadata_store_pb2 as protos

    with connect(database.environ()) as handle:
        handle.store.put_artifact_type(protos.ArtifactType(name="Kept"))
    with connect(database.environ()) as handle:
        assert [t.name for t in handle.store.get_artifact_types()] == ["Kept"]


def test_an_outcome_of_any_size_is_kept_whole(database):
    from ml_metadata.proto import metadata_store_pb2 as protos

    from pipeline.recording import read_outcome, write_outcome

    outcome = Outcome({"slices": random.Random(5).randbytes(15_000).hex(), "country": "Côte d'Ivoire"})
    with connect(database.environ()) as handle:
        kind = handle.store.put_execution_type(protos.ExecutionType(name="Evaluator"))
        execution = protos.Execution(type_id=kind)
        write_outcome(execution.custom_properties, outcome)
        [number] = handle.store.put_executions([execution])
    with connect(database.environ()) as handle:
        [found] = handle.store.get_executions_by_id([number])
    assert read_outcome(found.custom_properties) == outcome


@pytest.mark.parametrize(
    "text", ["C:\\data", '{"a": "say \\"no\\""}', "it's", "\\", "'\\'", "tab\t and\nline", "Ω", ""]
)
def test_any_text_comes_back_as_it_was_put(database, text):
    from ml_metadata.proto import metadata_store_pb2 as protos

    with connect(database.environ()) as handle:
        kind = handle.store.put_artifact_type(protos.ArtifactType(name="Text"))
        artifact = protos.Artifact(type_id=kind, uri=f"/data/{text}")
        artifact.custom_properties["said"].string_value = text
        [number] = handle.store.put_artifacts([artifact])
        [found] = handle.store.get_artifacts_by_uri(artifact.uri)
        assert (found.id, found.custom_properties["said"].string_value) == (number, text)
        handle.store.put_artifacts([found])
        [again] = handle.store.get_artifacts_by_id([number])
        assert again.custom_properties["said"].string_value == text


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"PASSWORD": "wrong"}, "HR-KFP-023"),
        ({"USER": "nobody"}, "HR-KFP-023"),
        ({"DATABASE": "elsewhere"}, "HR-KFP-023"),
        ({"PORT": "1"}, "HR-KFP-022"),
        ({"HOST": "no-such-host.invalid"}, "HR-KFP-022"),
        ({"PORT": "abc"}, "HR-KFP-021"),
        ({"PASSWORD": ""}, "HR-KFP-021"),
        ({"BACKEND": "sqlite"}, "HR-KFP-021"),
    ],
)
def test_each_fault_of_the_connection_has_its_own_error(database, changed, code):
    with pytest.raises(HeadraceError) as caught:
        connect(database.environ(**changed))
    assert caught.value.code == code
    assert database.environ()["HEADRACE_METADATA_PASSWORD"] not in str(caught.value)


def test_steps_that_start_at_once_do_not_race_for_the_tables(tmp_path):
    if reason := databases.missing("mysql"):
        pytest.skip(reason)
    code = "import os; from pipeline.kubeflow.metadata import connect; connect(os.environ)"
    with databases.server("mysql", tmp_path) as empty:
        connect(empty.environ())  # what the preparing step does
        processes = [subprocess.Popen([sys.executable, "-c", code], env=_environ(empty)) for _ in range(4)]
        assert [process.wait(120) for process in processes] == [0] * 4


def _environ(database) -> dict[str, str]:
    import os

    return {**os.environ, **database.environ()}
