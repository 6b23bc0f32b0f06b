"""What `headrace kubeflow compile` reads and writes."""

import json

import pytest
import yaml
from click.testing import CliRunner

from pipeline.cli import main
from pipeline.errors import HeadraceError
from pipeline.kubeflow.written import read_quota

IMAGE = f"registry.example/headrace@sha256:{'ab' * 32}"


def quota(**hard) -> dict:
    return {"kind": "ResourceQuota", "spec": {"hard": hard}}


def written(tmp_path, *documents) -> str:
    path = tmp_path / "quota.yaml"
    path.write_text(yaml.safe_dump_all(documents))
    return str(path)


def test_of_several_quotas_the_smallest_limit_of_each_resource_counts(tmp_path):
    listed = {"kind": "List", "items": [quota(cpu="4", memory="8Gi"), quota(cpu="3500m")]}
    path = written(tmp_path, listed, quota(memory="9000000000", pods=20))
    assert read_quota(path) == {"cpu": "3500m", "memory": "8Gi", "pods": "20"}


@pytest.mark.parametrize(
    "text", ["", "just words", "- 1\n- 2", "spec: {}", "spec: {hard: 7}", "spec: {hard: {cpu: much}}", "a: [", "\ttab"]
)
def test_what_is_no_quota_is_refused_with_the_command_that_writes_one(tmp_path, text):
    if not text:
        path = str(tmp_path / "missing.yaml")
    else:
        path = str(tmp_path / "quota.yaml")
        (tmp_path / "quota.yaml").write_text(text)
    with pytest.raises(HeadraceError) as caught:
        read_quota(path)
    assert caught.value.code == "HR-KFP-018"
    assert "kubectl get resourcequota" in caught.value.fix[0]


@pytest.mark.tf
class TestCommand:
    """The command as it is typed."""

    def compile(self, tmp_path, *options):
        output = tmp_path / "out.yaml"
        values = ["--env", "dev", "--set", f"kubernetes.step.image={IMAGE}"]
        arguments = ["kubeflow", "compile", "digits", "-o", str(output), *values, *options]
        return CliRunner().invoke(main, arguments), output

    def test_it_says_what_was_written_and_what_comes_next(self, tmp_path):
        done, output = self.compile(tmp_path, "--json")
        assert done.exit_code == 0, done.output
        said = json.loads(done.output)
        assert (said["pipeline"], said["bytes"]) == ("digits", output.stat().st_size)
        done, _ = self.compile(tmp_path)
        assert f"headrace kubeflow simulate {output}" in done.output.replace("\n", "")

    def test_the_same_task_gives_the_same_bytes(self, tmp_path):
        first = self.compile(tmp_path)[1].read_bytes()
        assert self.compile(tmp_path)[1].read_bytes() == first

    def test_a_quota_that_no_step_fits_is_refused_and_nothing_is_written(self, tmp_path):
        done, output = self.compile(tmp_path, "--quota", written(tmp_path, quota(**{"requests.memory": "1Mi"})))
        assert done.exit_code == 2
        assert "HR-KFP-017" in done.output
        assert not output.exists()

    def test_custom_resources_are_a_pipeline_and_its_version(self, tmp_path):
        done, output = self.compile(tmp_path, "--format", "custom-resources", "--label", "v7")
        assert done.exit_code == 0, done.output
        pipeline, version = yaml.safe_load_all(output.read_text())
        assert (pipeline["kind"], version["kind"]) == ("Pipeline", "PipelineVersion")
        assert version["metadata"]["name"].startswith("digits-v7-")
        assert version["spec"]["pipelineSpec"]["pipelineInfo"]["name"] == "digits"
