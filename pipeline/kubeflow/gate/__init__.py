"""What the KFP API server, its driver and Argo refuse, found before anything is submitted.

Each rule names the source file that it follows. Rules about Kubernetes objects that only a cluster knows (whether a
secret exists, whether a node has the label) cannot be checked here.
"""

from __future__ import annotations

from pipeline.kubeflow.gate.containers import check_containers, check_sizes
from pipeline.kubeflow.gate.dataflow import check_dataflow
from pipeline.kubeflow.gate.expressions import check_expressions
from pipeline.kubeflow.gate.finding import Finding, grouped, refuse_errors
from pipeline.kubeflow.gate.names import check_names
from pipeline.kubeflow.gate.platform import check_platform
from pipeline.kubeflow.gate.quota import fits_quota
from pipeline.kubeflow.gate.references import check_references
from pipeline.kubeflow.gate.spec import parse
from pipeline.kubeflow.gate.tasks import check_tasks
from pipeline.kubeflow.package import Package

__all__ = ["Finding", "check", "fits_quota", "grouped", "refuse_errors", "require"]


def check(package: Package, production: bool = False) -> list[Finding]:
    """Return everything that Kubeflow would refuse, and warnings; documents that do not parse are not looked into.

    Args:
        package: the compiled pipeline.
        production: an image without a digest is an error instead of a warning.
    """
    spec, findings = parse(package)
    if spec is None:
        return findings
    for rules in (
        check_names,
        check_references,
        check_tasks,
        check_dataflow,
        check_expressions,
        check_sizes,
        check_platform,
    ):
        findings += sorted(rules(spec), key=_place)
    return [*findings, *sorted(check_containers(spec, production), key=_place)]


def _place(finding: Finding) -> str:
    return finding.where


def require(package: Package, production: bool = False) -> list[Finding]:
    """Check a package and return the warnings.

    Raises:
        HeadraceError: HR-KFP-004 to HR-KFP-016, that of the first error; all errors stand in `seen`.
    """
    return refuse_errors(check(package, production))
