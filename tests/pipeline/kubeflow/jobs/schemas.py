"""What the published schemas say against an object, with fields that a server would drop in silence."""

import functools
from pathlib import Path

import yaml

CRDS = Path(__file__).parents[5] / "shared" / "crds"
FILES = {"JobSet": "jobset.x-k8s.io_jobsets.yaml", "TFJob": "kubeflow.org_tfjobs.yaml"}


def present():
    return CRDS.is_dir()


@functools.cache
def validator(kind, version):
    from jsonschema import Draft202012Validator

    definition = yaml.load((CRDS / FILES[kind]).read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    found = next(each for each in definition["spec"]["versions"] if each["name"] == version)
    schema = found["schema"]["openAPIV3Schema"]
    schema["properties"]["metadata"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return Draft202012Validator(strict(schema))


def strict(schema):
    """Refuse unknown fields, and take numbers where a schema says int-or-string."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: strict(value) for key, value in schema.items()}
    is_schema = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
    if is_schema and not schema.get("x-kubernetes-preserve-unknown-fields") and "additionalProperties" not in schema:
        found["additionalProperties"] = False
    return found


def problems(body):
    """What is wrong with a JobSet or a TFJob; nothing where the schemas are absent."""
    if body["kind"] not in FILES or not present():
        return []
    errors = validator(body["kind"], body["apiVersion"].rpartition("/")[2]).iter_errors(body)
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in errors]
