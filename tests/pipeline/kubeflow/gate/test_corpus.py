"""Each broken pipeline is refused for its own reason, at its own place, and for no other."""

from pathlib import Path

import pytest

from pipeline.errors import HeadraceError
from pipeline.kubeflow.gate import check
from pipeline.kubeflow.gate.finding import RULES
from pipeline.kubeflow.package import read_package
from tests.pipeline.kubeflow.gate.corpus import pipelines, pods
from tests.pipeline.kubeflow.gate.corpus.broken import Broken

CORPUS = Path(__file__).parent / "corpus"
CASES = [*pipelines.broken, *pods.broken]


@pytest.mark.parametrize(("rule", "where", "change"), CASES, ids=[change.__name__ for _, _, change in CASES])
def test_a_broken_pipeline_is_refused_for_its_own_reason_only(package, rule, where, change):
    change(Broken(package))
    errors = [finding for finding in check(package) if finding.severity == "error"]
    assert {error.rule for error in errors} == {rule}, errors
    assert where in {error.where for error in errors}
    assert all(error.what and error.fix for error in errors)


def test_the_corpus_has_a_case_for_each_rule_that_is_an_error():
    warnings, other_tests = {"unused", "image-digest"}, {"quota"}
    assert {rule for rule, _, _ in CASES} == set(RULES) - warnings - other_tests


@pytest.mark.parametrize(("file", "seen"), [("two_pipelines", "2 pipeline specs"), ("tabs", "cannot start any token")])
def test_a_file_that_is_not_two_documents_is_refused_when_it_is_read(file, seen):
    with pytest.raises(HeadraceError) as caught:
        read_package(CORPUS / f"{file}.yaml")
    assert caught.value.code == "HR-KFP-001"
    assert seen in caught.value.seen[0]


@pytest.mark.parametrize(
    ("file", "rule", "where", "word"),
    [
        ("pipeline_job", "pipeline-schema", "pipeline", "displayName"),
        ("a_date", "plain-values", "pipelineInfo.description", "quote it"),
        ("inside_itself", "plain-values", "", "deeper than"),
        ("tfx_resolver", "implementation", "deploymentSpec.executors.LatestModel_executor", "resolver"),
    ],
)
def test_a_file_that_another_tool_wrote_is_refused(file, rule, where, word):
    errors = [finding for finding in check(read_package(CORPUS / f"{file}.yaml")) if finding.severity == "error"]
    assert any(e.rule == rule and e.where.startswith(where) and word in e.what for e in errors), errors


def test_what_tfx_writes_is_refused_for_every_reason_at_once():
    """KubeflowV2DagRunner's own output, without its wrapper."""
    findings = check(read_package(CORPUS / "tfx_resolver.yaml"))
    assert {finding.rule for finding in findings if finding.severity == "error"} == {
        "schema-version",
        "implementation",
        "default-missing",
        "runtime-value",
        "accelerator",
        "task-name",
    }
