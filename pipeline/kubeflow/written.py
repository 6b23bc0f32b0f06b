"""`headrace kubeflow compile`: write a compiled task to a file, and say what was written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipeline.config.load import Layers, load_task
from pipeline.console.document import labelled
from pipeline.errors import HeadraceError, bounded
from pipeline.kubeflow.compile import compile_task
from pipeline.kubeflow.gate import fits_quota, grouped, refuse_errors
from pipeline.kubeflow.package import Package, dump
from pipeline.kubeflow.publish.custom_resources import custom_resources
from pipeline.kubeflow.publish.versions import default_label, version_name
from pipeline.system_errors import coded_os_errors

LIMIT_BYTES = 1 << 20


@dataclass(frozen=True)
class Request:
    """What the user asked for; `form` is `package` or `custom-resources`, `quota` a file."""

    task: str
    output: str
    form: str
    label: str | None
    quota: str | None
    layers: Layers


def write(request: Request):
    """Compile, check and write; return what to show for people and for machines.

    Raises:
        HeadraceError: what `compile_task` raises; HR-KFP-017 quota exceeded, HR-KFP-018 quota unreadable.
    """
    loaded = load_task(request.task, request.layers)
    package, warnings = compile_task(loaded)
    if request.quota:
        warnings = [*warnings, *refuse_errors(fits_quota(package, read_quota(request.quota)))]
    text = package.text()
    if request.form == "custom-resources":
        version = version_name(package, request.label or default_label(loaded.task_dir))
        text = dump(custom_resources(package, version, loaded.config.kubernetes.namespace))
    with coded_os_errors(request.output):
        Path(request.output).write_text(text, encoding="utf-8")
    return labelled(_lines(request, package, text, warnings)), {
        "pipeline": package.name,
        "file": request.output,
        "sha256": package.sha256(),
        "bytes": len(text.encode()),
        "warnings": [str(warning) for warning in warnings],
    }


def read_quota(path: str) -> dict[str, str]:
    """Return the hard limits of a ResourceQuota, or of all in a list, the smallest of each resource.

    Raises:
        HeadraceError: HR-KFP-018.
    """
    import yaml

    from pipeline.kubeflow.gate.quantity import parse_quantity

    try:
        documents = [found for found in yaml.safe_load_all(Path(path).read_text(encoding="utf-8")) if found]
        quotas = [item for found in documents for item in found.get("items", [found])]
        limits: dict[str, str] = {}
        for quota in quotas:
            for name, value in quota["spec"]["hard"].items():
                smallest = min(str(value), limits.get(name, str(value)), key=parse_quantity)
                limits[name] = smallest
    except (OSError, yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise HeadraceError(
            "HR-KFP-018",
            f"{path} is no ResourceQuota",
            seen=[bounded(f"{type(error).__name__}: {error}", 160)],
            expected="spec.hard, with a limit of each resource",
            fix=["kubectl get resourcequota -n NAMESPACE -o yaml > quota.yaml"],
        ) from None
    return limits


def _lines(request: Request, package: Package, text: str, warnings: list) -> list:
    steps = len(package.pipeline["deploymentSpec"]["executors"])
    secrets = sorted(_secrets(package.platform))
    size = f"{len(text.encode()) / 1024:.0f} kB"
    checked = "spec, names, sizes, images" + (", quota" if request.quota else "")
    named = f"; secrets named, not looked up: {', '.join(secrets)}" if secrets else ""
    return [
        ("compiled", [f"{package.name}  {steps} steps  sha256 {package.sha256()[:12]}  {size}"]),
        ("checked", [checked + named]),
        *(("warning", [line]) for line in grouped(warnings)),
        ("written", [request.output]),
        ("next", [f"headrace kubeflow simulate {request.output}"]),
        ("next", [f"headrace kubeflow publish {request.task}"]),
    ]


def _secrets(platform: dict) -> set[str]:
    executors = platform.get("platforms", {}).get("kubernetes", {}).get("deploymentSpec", {}).get("executors", {})
    places = ("secretAsEnv", "secretAsVolume", "imagePullSecret")
    return {found["secretName"] for config in executors.values() for place in places for found in config.get(place, [])}
