"""The gate takes what Kubeflow takes, says what to do about the rest, and survives any document."""

import copy
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import HeadraceError
from pipeline.kubeflow.gate import Finding, check, refuse_errors, require
from pipeline.kubeflow.gate.expressions import condition_faults
from pipeline.kubeflow.gate.finding import RULES
from pipeline.kubeflow.gate.names import IMAGE, LABEL, QUALIFIED, SUBDOMAIN
from pipeline.kubeflow.package import Package, read_package

SLOW_FIXTURES = [HealthCheck.function_scoped_fixture]


def errors(package: Package) -> list[Finding]:
    return [finding for finding in check(package) if finding.severity == "error"]


def test_what_the_compiler_writes_has_no_errors(compiled):
    assert errors(compiled) == []


def test_a_pipeline_without_notification_and_platform_has_no_findings(package):
    tasks = package.pipeline["components"]["comp-pipeline"]["dag"]["tasks"]
    for name in ("comp-pipeline", "comp-notify"):
        del package.pipeline["components"][name]
    del package.pipeline["deploymentSpec"]["executors"]["exec-notify"]
    package.pipeline["root"]["dag"] = {"tasks": tasks}
    assert check(Package(package.pipeline, {})) == []


def test_what_kfps_own_compiler_writes_has_no_errors(tmp_path):
    """Loops, conditions, exit handlers, importers, volumes and secrets, as the SDK writes them for the same server."""
    file = tmp_path / "sdk.yaml"
    script = Path(__file__).parent / "sdk_pipeline.py"
    subprocess.run([sys.executable, "-W", "ignore", str(script), str(file)], check=True, timeout=240)
    findings = check(read_package(file))
    assert [finding for finding in findings if finding.severity == "error"] == []
    assert {finding.rule for finding in findings} == {"image-digest"}


def test_an_image_by_tag_is_a_warning_and_in_production_an_error(package):
    package.pipeline["deploymentSpec"]["executors"]["exec-trainer"]["container"]["image"] = "r.example/headrace:1"
    warnings = [finding for finding in require(package) if finding.rule == "image-digest"]
    assert [finding.where for finding in warnings] == ["deploymentSpec.executors.exec-trainer.container.image"]
    with pytest.raises(HeadraceError) as caught:
        require(package, production=True)
    assert caught.value.code == "HR-KFP-014"


def test_what_no_task_leads_to_is_a_warning(package):
    del package.pipeline["components"]["comp-pipeline"]["dag"]["tasks"]["pusher"]
    unused = [finding for finding in require(package) if finding.rule == "unused"]
    assert [finding.where for finding in unused] == [
        "components.comp-pusher",
        "deploymentSpec.executors.exec-pusher",
    ]


def test_retries_that_end_before_the_step_may_are_a_warning(package):
    task = package.pipeline["components"]["comp-pipeline"]["dag"]["tasks"]["trainer"]
    task["retryPolicy"]["backoffMaxDuration"] = "3600s"
    config = package.platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]["exec-trainer"]
    config["activeDeadlineSeconds"] = 3600
    assert "retry-policy" not in {finding.rule for finding in require(package)}
    config["activeDeadlineSeconds"] = 3601
    warning = next(finding for finding in require(package) if finding.rule == "retry-policy")
    assert "3600 s from the start of the first attempt, which alone may take 3601 s" in warning.what


def test_a_run_value_that_only_newer_versions_know_is_a_warning(package):
    task = package.pipeline["components"]["comp-pipeline"]["dag"]["tasks"]["trainer"]
    task["inputs"]["parameters"]["run-id"]["runtimeValue"]["constant"] = "{{$.pipeline_task_name}}"
    assert "placeholder" in {finding.rule for finding in require(package)}


def test_all_errors_are_told_at_once_under_the_code_of_the_first(package):
    package.pipeline["pipelineInfo"]["name"] = "Flights"
    del package.pipeline["deploymentSpec"]["executors"]["exec-trainer"]["container"]["command"]
    with pytest.raises(HeadraceError) as caught:
        require(package)
    error = caught.value
    assert error.code == "HR-KFP-006"
    assert [line.split()[0] for line in error.seen] == ["[pipeline-name]", "[command]"]
    assert "set `name` in task.yaml" in error.fix


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_stops_a_command_under_its_own_code(rule):
    with pytest.raises(HeadraceError) as caught:
        refuse_errors([Finding("unused", "x", "y", "warning"), Finding(rule, "root", "is wrong")])
    assert caught.value.code == RULES[rule]
    assert caught.value.seen == [f"[{rule}] root: is wrong"]


def test_the_sdk_still_imports_after_the_gate_and_is_not_imported_by_it():
    script = (
        "import sys\n"
        "from pipeline.kubeflow.gate.schema import messages\n"
        "schema, kubernetes = messages()\n"
        "assert not [m for m in sys.modules if m == 'kfp' or m.startswith('kfp.')]\n"
        "from kfp import Client, dsl, kubernetes as k8s\n"
        "assert hasattr(dsl, 'pipeline') and hasattr(k8s, 'mount_pvc')\n"
        "assert messages.__wrapped__()[0].PipelineSpec().DESCRIPTOR == schema.PipelineSpec().DESCRIPTOR\n"
        "assert sys.modules['kfp'].Client is Client\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=240, env=environment)


def required_references(package: Package) -> list[tuple]:
    """Paths in the pipeline document without which something has no target."""
    pipeline = package.pipeline
    tasks = ("components", "comp-pipeline", "dag", "tasks")
    steps = pipeline["components"]["comp-pipeline"]["dag"]["tasks"]
    waited_for = {upstream for task in steps.values() for upstream in task.get("dependentTasks", ())}
    paths = [("components", name) for name in pipeline["components"]]
    paths += [("deploymentSpec", "executors", label) for label in pipeline["deploymentSpec"]["executors"]]
    paths += [(*tasks, name) for name in waited_for]
    paths += [(*tasks, name, "componentRef") for name in steps]
    paths += [
        (*tasks, name, "inputs", "parameters", key) for name in steps for key in steps[name]["inputs"]["parameters"]
    ]
    for name, component in pipeline["components"].items():
        if "executorLabel" in component:
            paths.append(("components", name, "executorLabel"))
        for key in component["inputDefinitions"]["parameters"]:
            paths.append(("components", name, "inputDefinitions", "parameters", key))
        for key in component.get("outputDefinitions", {}).get("artifacts", ()):
            paths.append(("components", name, "outputDefinitions", "artifacts", key))
    for key in pipeline["root"]["inputDefinitions"]["parameters"]:
        paths.append(("root", "inputDefinitions", "parameters", key))
    paths.append(("root", "dag", "tasks", "pipeline"))
    return paths


def test_any_reference_that_loses_its_target_is_found(compiled):
    paths = required_references(compiled)
    assert len(paths) > 100
    for path in paths:
        package = copy.deepcopy(compiled)
        parent = package.pipeline
        for key in path[:-1]:
            parent = parent[key]
        del parent[path[-1]]
        assert errors(package), f"nothing found without {'.'.join(path)}"


def places(value, path=()):
    """Every path of a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


odd_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.dates()
    | st.sampled_from(
        ["{{$", "{{$}}", "1e999", "-1", "2.1.0", "NaN", "/", "a/b", "99999999999999999999", 99, -1, b"x"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10) | st.integers(), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(max_examples=250, deadline=None, suppress_health_check=SLOW_FIXTURES)
@given(data=st.data())
def test_no_change_of_the_documents_makes_the_gate_fall_over(compiled, data):
    package = copy.deepcopy(compiled)
    documents = {"pipeline": package.pipeline, "platform": package.platform}
    all_places = [path for path in places(documents) if path]
    for path in data.draw(st.lists(st.sampled_from(all_places), min_size=1, max_size=3)):
        try:
            parent = documents
            for key in path[:-1]:
                parent = parent[key]
            parent[path[-1]]
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
        if data.draw(st.booleans()):
            parent[path[-1]] = data.draw(odd_values)
        else:
            del parent[path[-1]]
    findings = check(Package(documents.get("pipeline"), documents.get("platform")))
    assert all(finding.rule in RULES and finding.what and str(finding) for finding in findings)


@pytest.mark.parametrize(
    "condition",
    [
        "inputs.parameter_values['pipelinechannel--n'] == 'true'",
        "int(inputs.parameter_values['pipelinechannel--n']) > 2 && !(inputs.parameters['n'] == \"a'b\")",
        "inputs.parameter_values['n'] in ['a', 'b'] || false",
        "parseJson(inputs.parameters['n'].string_value).loss < 1.5e-3",
    ],
)
def test_conditions_as_kfp_writes_them_are_taken(condition):
    assert list(condition_faults(condition, {"n", "pipelinechannel--n"})) == []


@pytest.mark.parametrize(
    ("condition", "fault"),
    [
        ("inputs.parameter_values['m'] == 1", "no input 'm'"),
        ("inputs.artifacts['n'].artifacts[0].metadata['blessed'] == 1", "'inputs'"),
        ("(1 == 1", "'(' is never closed"),
        ("1 == 1)", "')' closes nothing"),
        ("([1 == 1)]", "')' closes nothing"),
        ("inputs.parameter_values['n'] = 1", "'= 1' is no CEL"),
        ("'open == 1", "is no CEL"),
        ("os == 1", "'os'"),
    ],
)
def test_conditions_that_no_driver_can_judge_are_named(condition, fault):
    assert any(fault in found for found in condition_faults(condition, {"n"}))


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (LABEL, ["a", "a-1", "a" * 63], ["", "A", "-a", "a-", "a.b", "a" * 64, "a\n"]),
        (SUBDOMAIN, ["a", "a.b-c.d", "a" * 253], ["", "a..b", ".a", "a_b", "a" * 254]),
        (
            QUALIFIED,
            ["gpu", "nvidia.com/gpu", "a.b/C_d.e"],
            ["", "/gpu", "nvidia.com/", "a/b/c", "A.com/x", "a/" + "b" * 64],
        ),
    ],
    ids=["label", "subdomain", "qualified"],
)
def test_names_are_those_of_kubernetes(pattern, good, bad):
    assert all(pattern.fullmatch(name) for name in good)
    assert not any(pattern.fullmatch(name) for name in bad)


@pytest.mark.parametrize(
    ("image", "name", "tag", "digest"),
    [
        ("python", "python", None, None),
        ("python:3.12-slim", "python", "3.12-slim", None),
        ("localhost:5000/a/b_c:v1", "localhost:5000/a/b_c", "v1", None),
        (f"r.example/a__b@sha256:{'0' * 64}", "r.example/a__b", None, f"sha256:{'0' * 64}"),
        (f"r.example/a:1@sha256:{'f' * 64}", "r.example/a", "1", f"sha256:{'f' * 64}"),
    ],
)
def test_image_references_are_taken_apart(image, name, tag, digest):
    found = IMAGE.fullmatch(image)
    assert (found["name"], found["tag"], found["digest"]) == (name, tag, digest)


@pytest.mark.parametrize(
    "image", ["", "r.example/A/b", "a//b", "a:", "a@sha256:12", "a b", "http://r/a", "a:tag:tag", "-a"]
)
def test_what_is_no_image_reference_is_not_taken_for_one(image):
    assert not IMAGE.fullmatch(image)
