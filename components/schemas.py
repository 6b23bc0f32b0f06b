"""The curated schema: read, checked and written as text protos; inferred from statistics; compared."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pipeline.errors import HeadraceError, bounded

if TYPE_CHECKING:
    from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2

SCHEMA_FILE = "schema.pbtxt"


def read_schema(path: str) -> schema_pb2.Schema:
    """Read a schema, given the file or its folder.

    Raises:
        HeadraceError: HR-DATA-210 when the file is missing, HR-DATA-211 when it cannot be parsed.
    """
    from google.protobuf import text_format
    from tensorflow_metadata.proto.v0 import schema_pb2

    if os.path.isdir(path):
        path = os.path.join(path, SCHEMA_FILE)
    try:
        with open(path, encoding="utf-8") as file:
            return text_format.Parse(file.read(), schema_pb2.Schema())
    except FileNotFoundError:
        raise HeadraceError(
            "HR-DATA-210",
            f"there is no schema at {path}",
            expected="a curated schema: the contract on the data, reviewed like code",
            fix=["headrace schema infer TASK   writes a first one from the data; read it before you keep it"],
        ) from None
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise HeadraceError(
            "HR-DATA-211",
            f"{path} is not a schema",
            seen=[bounded(error)],
            expected="a text proto of tensorflow_metadata.v0.Schema",
            fix=[f"correct the line named above in {path}"],
        ) from None


def write_schema(schema: schema_pb2.Schema, path: str) -> None:
    """Write a schema as a text proto, whole or not at all."""
    from google.protobuf import text_format

    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    partial = f"{path}.partial"
    with open(partial, "w", encoding="utf-8") as file:
        file.write(text_format.MessageToString(schema))
    os.replace(partial, path)


def infer(statistics: statistics_pb2.DatasetFeatureStatisticsList) -> schema_pb2.Schema:
    """Return the schema that TFDV infers, without guessed tensor shapes for columns with gaps."""
    from tensorflow_data_validation.api import validation_api

    return validation_api.infer_schema(statistics, infer_feature_shape=False)


def differences(before: schema_pb2.Schema, after: schema_pb2.Schema) -> list[str]:
    """Return what changed between two schemas as lines of `+`, `-` and `~`, one feature or domain value a line."""
    lines = []
    old, new = describe_features(before), describe_features(after)
    for name in sorted(old.keys() | new.keys()):
        if name not in old:
            lines.append(f"+ {name}: {new[name]}")
        elif name not in new:
            lines.append(f"- {name}: {old[name]}")
        elif old[name] != new[name]:
            lines.append(f"~ {name}: {old[name]} -> {new[name]}")
    return lines


def add_values(schema: schema_pb2.Schema, feature: str, values: list[str]) -> schema_pb2.Schema:
    """Return a copy whose string domain of `feature` also admits `values`.

    Raises:
        HeadraceError: HR-DATA-212 when the schema has no such feature, or it has no list of values.
    """
    changed = type(schema)()
    changed.CopyFrom(schema)
    found = next((f for f in changed.feature if f.name == feature), None)
    domain = _string_domain(changed, found) if found is not None else None
    if domain is None:
        raise HeadraceError(
            "HR-DATA-212",
            f"the schema has no list of values for {feature!r}",
            expected="a feature with a string_domain: "
            + ", ".join(f.name for f in changed.feature if _string_domain(changed, f) is not None),
        )
    domain.value.extend(value for value in values if value not in domain.value)
    return changed


def _string_domain(schema, feature):
    if feature.HasField("string_domain"):
        return feature.string_domain
    return next((d for d in schema.string_domain if d.name == feature.domain), None) if feature.domain else None


def describe_features(schema: schema_pb2.Schema) -> dict[str, str]:
    """Return type, presence, range and values of each feature, in one line each."""
    from tensorflow_metadata.proto.v0 import schema_pb2

    described = {}
    for feature in schema.feature:
        words = [schema_pb2.FeatureType.Name(feature.type), f"present in >= {feature.presence.min_fraction:.4g}"]
        if feature.HasField("int_domain"):
            words.append(f"[{feature.int_domain.min}, {feature.int_domain.max}]")
        if feature.HasField("float_domain"):
            words.append(f"[{feature.float_domain.min:g}, {feature.float_domain.max:g}]")
        domain = _string_domain(schema, feature)
        if domain is not None:
            words.append("{" + ", ".join(sorted(domain.value)) + "}")
        described[feature.name] = "  ".join(words)
    return described
