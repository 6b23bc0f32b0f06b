"""Publishing can be repeated, raced and interrupted: one version for one content."""

import subprocess
import threading

import pytest

from pipeline import __version__
from pipeline.errors import HeadraceError
from pipeline.kubeflow.package import Package
from pipeline.kubeflow.publish.versions import default_label, publish, require_pipeline, version_name
from tests.pipeline.kubeflow.publish.fake_kfp import Fault, template


def uploads(server):
    return [path for method, path in server.log if method == "POST" and path == "pipelines/upload_version"]


def test_a_first_publishing_makes_the_pipeline_and_one_version(kfp_server, api, package):
    done = publish(api, package, "v14")
    assert done.new
    assert done.version == f"flights-v14-{package.sha256()[:12]}"
    (pipeline,) = kfp_server.pipelines.values()
    assert (pipeline["display_name"], pipeline["pipeline_id"]) == ("flights", done.pipeline_id)
    (version,) = kfp_server.versions.values()
    assert version["display_name"] == done.version
    assert version["description"] == f"sha256 {package.sha256()}"
    assert version["pipeline_spec"]["pipeline_spec"]["pipelineInfo"]["name"] == "flights"


def test_publishing_the_same_again_changes_nothing(kfp_server, api, package):
    first, second = publish(api, package, "v14"), publish(api, package, "v14")
    assert (first.new, second.new) == (True, False)
    assert second.version_id == first.version_id
    assert len(uploads(kfp_server)) == 1


def test_another_content_is_another_version_of_the_same_pipeline(kfp_server, api, package, other_package):
    first, second = publish(api, package, "v14"), publish(api, other_package, "v14")
    assert second.new and second.pipeline_id == first.pipeline_id and second.version != first.version
    assert len(kfp_server.versions) == 2


def test_a_pipeline_uploaded_by_hand_gets_a_version(kfp_server, api, package):
    kfp_server.create_pipeline("flights", "", {})
    assert publish(api, package, "v1").new
    assert len(kfp_server.pipelines) == 1


def test_a_pipeline_whose_name_differs_in_case_is_another_one(kfp_server, api, package):
    kfp_server.create_pipeline("Flights", "", {})
    publish(api, package, "v1")
    assert sorted(one["display_name"] for one in kfp_server.pipelines.values()) == ["Flights", "flights"]


def test_a_pipeline_on_a_later_page_is_found(kfp_server, api, package):
    pipeline = kfp_server.create_pipeline("flights", "", {})
    for number in range(230):
        kfp_server.create_version(pipeline["pipeline_id"], f"old-{number}", {}, {})
    found = api.pages(
        "list", api.services.pipelines.pipeline_service_list_pipeline_versions, "pipeline_versions",
        pipeline_id=pipeline["pipeline_id"],
    )  # fmt: skip
    assert {one.display_name for one in found} == {f"old-{number}" for number in range(230)}
    assert publish(api, package, "v1").pipeline_id == pipeline["pipeline_id"]


def test_the_same_name_with_other_content_is_refused(kfp_server, api, package, other_package):
    pipeline = kfp_server.create_pipeline("flights", "", {})
    name = version_name(package, "v14")
    kfp_server.create_version(pipeline["pipeline_id"], name, {}, template(other_package.text()))
    with pytest.raises(HeadraceError) as refused:
        publish(api, package, "v14")
    assert refused.value.code == "HR-KFP-054"
    assert name in refused.value.what
    assert "--label ANOTHER" in refused.value.fix[0]


def test_a_workflow_of_the_old_kubeflow_under_that_name_is_refused(kfp_server, api, package):
    pipeline = kfp_server.create_pipeline("flights", "", {})
    kfp_server.create_version(pipeline["pipeline_id"], version_name(package, "v14"), {}, {"root": 5})
    with pytest.raises(HeadraceError, match="HR-KFP-054"):
        publish(api, package, "v14")


@pytest.mark.parametrize("path", ["pipelines", "pipelines/upload_version"])
def test_an_answer_lost_after_the_write_is_a_success(kfp_server, api, package, path):
    kfp_server.faults = [Fault("POST", path, "drop")]
    publish(api, package, "v14")
    assert (len(kfp_server.pipelines), len(kfp_server.versions)) == (1, 1)
    assert [p for m, p in kfp_server.log if m == "POST"] == ["pipelines", "pipelines/upload_version"]


@pytest.mark.parametrize("path", ["pipelines", "pipelines/upload_version"])
def test_a_server_busy_twice_is_asked_again(kfp_server, api, package, path):
    kfp_server.faults = [Fault("POST", path, 503, 2), Fault("GET", "pipelines", 503, 2)]
    assert publish(api, package, "v14").new
    assert (len(kfp_server.pipelines), len(kfp_server.versions)) == (1, 1)


def test_many_at_once_make_one_pipeline_and_one_version(kfp_server, connected, package):
    apis, done, barrier = [connected() for _ in range(6)], [], threading.Barrier(6)

    def one(api):
        barrier.wait(10)
        done.append(publish(api, package, "v14"))

    threads = [threading.Thread(target=one, args=(api,)) for api in apis]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert len(done) == 6 and len({published.version_id for published in done}) == 1
    assert (len(kfp_server.pipelines), len(kfp_server.versions)) == (1, 1)
    assert sum(published.new for published in done) == 1


def test_a_package_that_the_server_refuses_says_its_words(kfp_server, api, package):
    broken = Package({**package.pipeline, "schemaVersion": "2.0.0"}, package.platform)
    with pytest.raises(HeadraceError) as refused:
        publish(api, broken, "v14")
    assert refused.value.code == "HR-KFP-062"
    assert "KFP only supports schema version 2.1.0" in refused.value.seen[0]


@pytest.mark.parametrize("label", ["", "V14", "a b", "-x", "x_y", "x" * 120])
def test_a_label_that_makes_no_kubernetes_name_is_refused(package, label):
    with pytest.raises(HeadraceError, match="HR-KFP-068"):
        version_name(package, label)


def test_the_default_label_is_the_commit_of_a_clean_tree(tmp_path):
    def git(*arguments):
        done = subprocess.run(["git", "-C", str(tmp_path), *arguments], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert default_label(str(tmp_path)) == __version__
    git("init", "-q")
    (tmp_path / "task.yaml").write_text("a")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
    assert default_label(str(tmp_path)) == git("rev-parse", "HEAD")[:12]
    (tmp_path / "task.yaml").write_text("b")
    assert default_label(str(tmp_path)) == __version__


def test_a_pipeline_that_was_never_published_is_named(api):
    with pytest.raises(HeadraceError) as refused:
        require_pipeline(api, "flights")
    assert refused.value.code == "HR-KFP-059"
    assert "headrace kubeflow publish" in refused.value.fix[0]
