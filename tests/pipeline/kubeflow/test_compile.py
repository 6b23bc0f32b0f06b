"""From a task to the two documents: what each step gets, and what is refused before."""

import hashlib
import json

import pytest

from pipeline.config.load import Layers, load_task
from pipeline.errors import HeadraceError
from pipeline.kubeflow.compile import compile_package, compile_task, on_cluster
from pipeline.kubeflow.gate import require
from pipeline.kubeflow.ir import EncodedNode
from pipeline.kubeflow.package import Package, read_package
from pipeline.nodes import NODES

IMAGE = "kubernetes.step.image=registry.invalid/headrace@sha256:" + "0" * 64
ROOT = "kubernetes.pipeline_root=/pipeline"


def compiled(*overrides: str, task="flights") -> Package:
    loaded = load_task(task, Layers((IMAGE, ROOT, *overrides)))
    digests = {node.id: hashlib.sha256(node.id.encode()).hexdigest() for node in NODES}
    return compile_package(loaded.config, {name: EncodedNode(digest, "eA==") for name, digest in digests.items()})


def container(package, step):
    return package.pipeline["deploymentSpec"]["executors"][f"exec-{step}"]["container"]


def platform(package, step):
    return package.platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"][f"exec-{step}"]


def test_every_node_is_a_step_that_waits_for_what_the_table_names():
    tasks = compiled().pipeline["root"]["dag"]["tasks"]
    assert set(tasks) == {"prepare", *(node.id.lower() for node in NODES)}
    for node in NODES:
        waits_for = [upstream.lower() for upstream in node.upstream] or ["prepare"]
        assert tasks[node.id.lower()]["dependentTasks"] == waits_for
        assert tasks[node.id.lower()]["cachingOptions"] == {}


def test_the_same_settings_give_the_same_bytes_and_others_give_others():
    assert compiled().text() == compiled().text()
    assert compiled().sha256() != compiled("kubernetes.step.cpu='2'").sha256()


def test_a_package_is_read_back_as_it_was(tmp_path):
    package = compiled()
    (tmp_path / "p.yaml").write_text(package.text())
    assert read_package(tmp_path / "p.yaml") == package


@pytest.mark.parametrize("text", ["", "- 1", "a: [", "a: 1\n---\nb: 2\n", "platforms: {}\n"])
def test_a_file_that_is_no_package_is_refused(tmp_path, text):
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(HeadraceError, match="HR-KFP-001"):
        read_package(tmp_path / "p.yaml")


def test_parameters_are_typed_have_defaults_and_reach_the_steps_that_read_them():
    package = compiled("kubernetes.parameters=[data.span, train.epochs, train.num_steps, evaluate.metrics]")
    root = package.pipeline["root"]["inputDefinitions"]["parameters"]
    assert root["train-epochs"] == {
        "parameterType": "NUMBER_INTEGER",
        "defaultValue": load_task("flights").config.train.epochs,
    }
    assert root["train-num-steps"] == {"parameterType": "NUMBER_INTEGER", "isOptional": True}
    assert root["evaluate-metrics"]["parameterType"] == "LIST"
    readers = {
        name: {
            task
            for task, body in package.pipeline["root"]["dag"]["tasks"].items()
            if name in body["inputs"]["parameters"]
        }
        for name in root
    }
    assert readers == {
        "data-span": {"examplegen"},
        "train-epochs": {"trainer"},
        "train-num-steps": {"trainer"},
        "evaluate-metrics": {"evaluator", "edgeevaluator"},
    }
    assert [flag for flag in container(package, "trainer")["args"] if flag.startswith("--parameter")] == [
        "--parameter=train.epochs",
        "--parameter=train.num_steps",
    ]
    assert require(package) == []


@pytest.mark.parametrize("key", ["train", "no.such", "kubernetes.namespace", "description"])
def test_a_key_that_no_step_reads_is_no_parameter(key):
    with pytest.raises(HeadraceError, match="HR-KFP-002"):
        compiled(f"kubernetes.parameters=[{key}]")


def test_a_step_has_its_own_pod_over_the_common_one():
    settings = {
        "cpu": "8",
        "accelerator": {"count": 2},
        "node_selector": {"pool": "gpu"},
        "tolerations": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
        "node_affinity": {"zone": ["a", "b"]},
        "secret_env": {"TOKEN": "vault/token"},
        "config_map_env": {"MODE": "modes/mode"},
        "secret_volumes": [{"name": "ca", "mount_path": "/ca"}],
        "config_map_volumes": [{"name": "cfg", "mount_path": "/cfg"}],
        "shared_memory": "2Gi",
        "timeout_s": 7200,
        "retries": 1,
    }
    package = compiled(
        "kubernetes.step.memory=4Gi", "kubernetes.step.cpu='1'", f"kubernetes.steps={{Trainer: {json.dumps(settings)}}}"
    )
    assert container(package, "trainer")["resources"] == {
        "resourceCpuLimit": "8",
        "resourceCpuRequest": "8",
        "resourceMemoryLimit": "4Gi",
        "resourceMemoryRequest": "4Gi",
        "accelerator": {"resourceType": "nvidia.com/gpu", "resourceCount": "2"},
    }
    assert container(package, "evaluator")["resources"]["resourceCpuLimit"] == "1"
    pod = platform(package, "trainer")
    assert pod["nodeSelector"] == {"labels": {"pool": "gpu"}}
    assert pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert pod["nodeAffinity"] == [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}]
    assert [found["secretName"] for found in pod["secretAsEnv"]] == ["headrace-metadata", "vault"]
    assert pod["configMapAsEnv"][0]["keyToEnv"] == [{"configMapKey": "mode", "envVar": "MODE"}]
    assert pod["secretAsVolume"][0]["mountPath"] == "/ca" and pod["configMapAsVolume"][0]["mountPath"] == "/cfg"
    assert pod["enabledSharedMemory"] == {"volumeName": "shm", "size": "2Gi"}
    assert pod["activeDeadlineSeconds"] == 7200
    assert "nodeSelector" not in platform(package, "evaluator")
    retry = package.pipeline["root"]["dag"]["tasks"]["trainer"]["retryPolicy"]
    assert retry["maxRetryCount"] == 1 and retry["backoffMaxDuration"] == f"{2 * 7200 + 30}s"
    assert require(package) == []


def test_a_notice_at_the_end_hangs_on_one_task_that_holds_all_others():
    package = compiled("kubernetes.notify=alerts/url")
    root = package.pipeline["root"]["dag"]["tasks"]
    assert set(root) == {"pipeline", "notify"}
    assert root["notify"]["dependentTasks"] == ["pipeline"]
    assert set(package.pipeline["components"]["comp-pipeline"]["dag"]["tasks"]) == {
        "prepare",
        *(n.id.lower() for n in NODES),
    }
    secrets = {found["secretName"]: found["keyToEnv"] for found in platform(package, "notify")["secretAsEnv"]}
    assert secrets["alerts"] == [{"secretKey": "url", "envVar": "HEADRACE_NOTIFY_URL"}]
    assert require(package) == []


def test_the_places_are_those_of_the_cluster():
    loaded = load_task("flights", Layers((IMAGE, "kubernetes.pipeline_root=s3://b/r")))
    config = on_cluster(loaded)
    assert config.data.path == "s3://b/r/data/flights/flights.csv"
    assert config.schema_path == "schemas/flights/schema.pbtxt"
    assert config.kubernetes.task_dir == "pipeline/tasks/flights"
    assert config.root == "s3://b/r"


@pytest.mark.parametrize("root", ["", "pipeline", "./here"])
def test_a_root_that_is_no_place_is_refused(root):
    with pytest.raises(HeadraceError, match="HR-KFP-033"):
        on_cluster(load_task("flights", Layers((f"kubernetes.pipeline_root='{root}'",))))


def test_a_task_of_ones_own_has_to_be_in_the_image(finished):
    with pytest.raises(HeadraceError, match="HR-KFP-034"):
        on_cluster(load_task(finished.task, Layers((ROOT,))))
    config = on_cluster(load_task(finished.task, Layers((ROOT, "kubernetes.task_dir=/tasks/tumours"))))
    assert config.schema_path == "/tasks/tumours/schema.pbtxt"


@pytest.mark.tf
def test_a_real_task_compiles_to_the_same_bytes_twice_and_passes_the_gate():
    loaded = load_task("digits", Layers((IMAGE, ROOT)))
    (first, warnings), (second, _) = compile_task(loaded), compile_task(loaded)
    assert first.text() == second.text()
    assert warnings == []
    with pytest.raises(HeadraceError, match="HR-KFP-014"):
        tagged = load_task("digits", Layers((ROOT, "kubernetes.step.image=r/headrace:1", "kubernetes.production=true")))
        compile_task(tagged)
