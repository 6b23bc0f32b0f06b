import json

import pytest
from click.testing import CliRunner

from pipeline.cli_kubeflow import kubeflow
from pipeline.errors import HeadraceError
from pipeline.kubeflow.package import Package
from pipeline.kubeflow.simulate.given import read_given
from pipeline.kubeflow.simulate.parameters import parse_parameters

SECRETS = """
apiVersion: v1
kind: List
items:
- {kind: Secret, metadata: {name: db}, data: {password: czNjcmV0}, stringData: {username: u}}
- {kind: ConfigMap, metadata: {name: settings}, data: {size: "3"}}
"""
RETRY = {"maxRetryCount": 1, "backoffDuration": "0s", "backoffFactor": 2.0, "backoffMaxDuration": "60s"}


@pytest.fixture
def headrace(tmp_path, monkeypatch):
    """Run `headrace kubeflow simulate` on tasks."""
    monkeypatch.chdir(tmp_path)

    def run(package: Package, *options):
        (tmp_path / "p.yaml").write_text(package.text())
        return CliRunner().invoke(kubeflow, ["simulate", "p.yaml", *options])

    return run


def test_a_run_prints_one_aligned_line_a_step(headrace, build):
    tasks = {
        "first": build.step("print('quiet')"),
        "second": build.step("print('too')", task={"dependentTasks": ["first"]}),
    }
    done = headrace(build.package(tasks))
    assert done.exit_code == 0, done.output
    first, second, last = done.output.splitlines()[:3]
    assert first.split() == ["first", "ok", first.split()[2], "s", "1", "attempt"]
    assert first.index("ok") == second.index("ok") and second.startswith("  second ")
    assert last.startswith("SUCCEEDED  run ")
    assert "quiet" not in done.output


def test_a_failed_step_shows_its_last_twenty_lines_and_gives_its_exit_code(headrace, build):
    code = "import sys\nfor n in range(30): print('line', n)\nsys.exit(3)"
    done = headrace(build.package({"a": build.step(code, task={"retryPolicy": RETRY})}))
    assert done.exit_code == 3
    assert "attempt 1 failed: exit code 3; trying again" in done.output
    shown = [line.split("| ")[1] for line in done.output.splitlines() if "| " in line]
    assert shown == [f"line {n}" for n in range(10, 30)]
    assert "2 attempts" in done.output


def test_json_holds_the_whole_result(headrace, build):
    code = "import sys; open(sys.argv[1], 'w').write(sys.argv[2])"
    step = build.step(
        code,
        "{{$.outputs.parameters['s'].output_file}}",
        "{{$.inputs.parameters['word']}}",
        inputs={"word": ("STRING", {"componentInputParameter": "word"})},
        outputs={"s": "STRING"},
    )
    package = build.package({"a": step}, {"word": {"parameterType": "STRING", "defaultValue": ""}})
    done = headrace(package, "--param", "word=12", "--json", "--profile", "2.14", "--work", "here")
    found = json.loads(done.output)
    assert found["state"] == "SUCCEEDED"
    assert found["steps"][0]["parameters"] == {"s": "12"}
    assert found["steps"][0]["attempts"][0]["log"].endswith("here/steps/a/attempt-0.log")


def test_secrets_come_from_the_command_line_and_from_kubectls_yaml(headrace, build, tmp_path):
    (tmp_path / "s.yaml").write_text(SECRETS)
    config = {
        "secretAsEnv": [
            {
                "secretName": "db",
                "keyToEnv": [{"secretKey": "password", "envVar": "P"}, {"secretKey": "username", "envVar": "U"}],
            }
        ],
        "configMapAsEnv": [{"configMapName": "settings", "keyToEnv": [{"configMapKey": "size", "envVar": "S"}]}],
    }
    code = "import os, sys; sys.exit([os.environ[n] for n in 'PUS'] != ['s3cret', 'own', '3'])"
    package = build.package({"a": build.step(code)}, platform={"a": config})
    done = headrace(package, "--secret-file", "s.yaml", "--secret", "db/username=own")
    assert done.exit_code == 0, done.output


def test_a_secret_that_cannot_be_read_is_refused(tmp_path):
    broken = tmp_path / "s.yaml"
    for text in ("{", "kind: Pod\nmetadata: {name: x}", "[1]", "kind: Secret\nmetadata: {name: x}\ndata: {k: '%'}"):
        broken.write_text(text)
        with pytest.raises(HeadraceError) as caught:
            read_given([], str(broken))
        assert caught.value.code == "HR-KFP-095"
    for item in ("name=x", "name/=x", "name/key"):
        with pytest.raises(HeadraceError) as caught:
            read_given([item], None)
        assert caught.value.code == "HR-KFP-095"


def test_parameters_are_read_in_the_types_of_the_pipeline(build):
    declared = {
        name: {"parameterType": kind, "defaultValue": None}
        for name, kind in (("s", "STRING"), ("i", "NUMBER_INTEGER"), ("l", "LIST"), ("b", "BOOLEAN"))
    }
    package = build.package({"a": build.step("pass")}, declared)
    items = ["s=3", "i=3", "l=[1, a]", "b=true", "unknown=2"]
    assert parse_parameters(package, items) == {"s": "3", "i": 3, "l": [1, "a"], "b": True, "unknown": 2}
    for item in ("s", "i={"):
        with pytest.raises(HeadraceError) as caught:
            parse_parameters(package, [item])
        assert caught.value.code == "HR-KFP-091"
