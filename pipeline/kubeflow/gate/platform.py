"""The Kubernetes platform document: what it adds to a step's pod must be something that a pod can have.

Sources: kubeflow/pipelines backend/src/v2/compiler/visitor.go dfs (labels), backend/src/v2/driver/driver.go and k8s.go
extendPodSpecPatch (secrets, ConfigMaps, pull policies); kubernetes/kubernetes pkg/apis/core/validation/validation.go
ValidateEnv, ValidateTolerations, ValidateNodeSelectorRequirement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from pipeline.kubeflow.gate.finding import Finding
from pipeline.kubeflow.gate.mounts import check_mounts, constant_name, wrong_value
from pipeline.kubeflow.gate.names import LABEL_VALUE, QUALIFIED, SUBDOMAIN, VARIABLE
from pipeline.kubeflow.gate.spec import EXECUTORS, PLATFORM, Spec

LAUNCHER_FOLDERS = (
    "/kfp-launcher",
    "/kfp-workspace",
    "/gcs",
    "/s3",
    "/minio",
    "/oci",
    "/.local",
    "/.cache",
    "/.config",
)
SHARED_MEMORY = "/dev/shm"
PULL_POLICIES = ("", "Always", "Never", "IfNotPresent")
TOLERATION_OPERATORS = ("", "Exists", "Equal")
EFFECTS = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")
AFFINITY_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


def check_platform(spec: Spec) -> Iterator[Finding]:
    """All executors of the platform document, and what they have together with the containers."""
    for label, config in spec.platform.items():
        where = f"{PLATFORM}.{label}"
        if label not in spec.containers:
            what = f"no container {label!r} in {EXECUTORS}: its settings would be lost without a word"
            yield Finding("platform-label", where, what)
        yield from _sources(config, where)
        yield from check_mounts(config, where)
        yield from _scheduling(config, where)
        if config.image_pull_policy not in PULL_POLICIES:
            yield wrong_value(f"{where}.imagePullPolicy", config.image_pull_policy, ", ".join(PULL_POLICIES[1:]))
        if config.active_deadline_seconds < 0:
            yield wrong_value(f"{where}.activeDeadlineSeconds", config.active_deadline_seconds, "a positive number")
    for label, container in spec.containers.items():
        names = [*(variable.name for variable in container.env), *_variables(spec.platform.get(label))]
        for name, count in Counter(names).items():
            if count > 1:
                what = f"{name} is set {count} times, here and in {PLATFORM}.{label}: the pod would keep one of them"
                yield Finding("env", f"{EXECUTORS}.{label}.container.env", what)


def _variables(config: Any) -> list[str]:
    """Return the variables that the platform document adds, in its order."""
    if config is None:
        return []
    grouped = (*config.secret_as_env, *config.config_map_as_env)
    return [key.env_var for group in grouped for key in group.key_to_env] + [v.name for v in config.field_path_as_env]


def _sources(config: Any, where: str) -> Iterator[Finding]:
    """Secrets and ConfigMaps need names, variables too; names of volumes are looked at with the mounts."""
    named = (
        ("secretAsEnv", "secret_name", config.secret_as_env),
        ("configMapAsEnv", "config_map_name", config.config_map_as_env),
        ("imagePullSecret", "secret_name", config.image_pull_secret),
    )
    for title, field, messages in named:
        for index, message in enumerate(messages):
            name = constant_name(message, field)
            if name is not None and not SUBDOMAIN.fullmatch(name):
                yield wrong_value(f"{where}.{title}[{index}]", name, "the name of an object: a-z, 0-9, `-` and `.`")
    for name in _variables(config):
        if not VARIABLE.fullmatch(name):
            yield Finding("env", where, f"{name!r} is no name of a variable")
    for index, variable in enumerate(config.field_path_as_env):
        if not variable.field_path:
            yield wrong_value(f"{where}.fieldPathAsEnv[{index}].fieldPath", "", "a path such as metadata.name")


def _scheduling(config: Any, where: str) -> Iterator[Finding]:
    for key, value in config.node_selector.labels.items():
        if not QUALIFIED.fullmatch(key) or not LABEL_VALUE.fullmatch(value):
            yield wrong_value(f"{where}.nodeSelector.labels", f"{key}: {value}", "a label of a node")
    for index, toleration in enumerate(config.tolerations):
        place = f"{where}.tolerations[{index}]"
        if toleration.HasField("toleration_json"):
            continue
        if toleration.operator not in TOLERATION_OPERATORS:
            yield wrong_value(f"{place}.operator", toleration.operator, "Exists or Equal")
        elif toleration.operator == "Exists" and toleration.value:
            yield wrong_value(f"{place}.value", toleration.value, "none, as the operator is Exists")
        elif toleration.operator != "Exists" and not toleration.key:
            yield wrong_value(f"{place}.key", "", "a key, or the operator Exists")
        if toleration.effect not in EFFECTS:
            yield wrong_value(f"{place}.effect", toleration.effect, ", ".join(EFFECTS[1:]))
    for index, term in enumerate(config.node_affinity):
        for expression in term.match_expressions:
            place = f"{where}.nodeAffinity[{index}].matchExpressions"
            if expression.operator not in AFFINITY_OPERATORS:
                yield wrong_value(place, expression.operator, ", ".join(AFFINITY_OPERATORS))
            elif not QUALIFIED.fullmatch(expression.key):
                yield wrong_value(place, expression.key, "the name of a label")
            elif expression.operator in ("In", "NotIn") and not expression.values:
                yield wrong_value(place, [], f"values for {expression.operator}")
