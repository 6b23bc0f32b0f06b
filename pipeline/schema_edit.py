"""`headrace schema`: a first schema from the data, what changed since, and approving it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline.config.load import LoadedTask
from pipeline.errors import HeadraceError

if TYPE_CHECKING:
    from tensorflow_metadata.proto.v0 import schema_pb2


def infer(task: LoadedTask) -> schema_pb2.Schema:
    """Return the schema that the task's data suggests, from the statistics of all of it.

    Raises:
        HeadraceError: whatever is wrong with the data, as ExampleGen says it.
    """
    from components import schemas
    from components.ingest.generate import IngestConfig, generate_examples
    from components.validate import statistics

    config = task.config
    with tempfile.TemporaryDirectory() as folder:
        generate_examples(
            IngestConfig(data=config.data, split=config.split, label=config.label, problem=config.problem), folder
        )
        return schemas.infer(statistics.compute(folder, "train", None, config.beam))


def difference(task: LoadedTask) -> list[str]:
    """Return how the schema that the data suggests differs from the curated one, a line a feature."""
    from components import schemas

    return schemas.differences(schemas.read_schema(task.config.schema_path), infer(task))


def approve(task: LoadedTask, add: Sequence[str], features: Sequence[str], drop: Sequence[str]) -> list[str]:
    """Change the curated schema and return what changed; the file before is kept as `schema.pbtxt.before`.

    Args:
        add: `feature=value` pairs to admit into a list of values.
        features: columns of the data to take over as the data suggests them.
        drop: columns to remove.
    """
    from components import schemas

    path = task.config.schema_path
    before = schemas.read_schema(path)
    after = type(before)()
    after.CopyFrom(before)
    for pair in add:
        feature, equals, value = pair.partition("=")
        if not equals:
            raise HeadraceError("HR-CONFIG-002", f"--add {pair!r} is not feature=value", fix=["--add carrier=XX"])
        after = schemas.add_values(after, feature, [value])
    for name in drop:
        kept = [feature for feature in after.feature if feature.name != name]
        if len(kept) == len(after.feature):
            raise HeadraceError(
                "HR-DATA-212", f"the schema has no feature {name!r}", expected=", ".join(f.name for f in kept)
            )
        del after.feature[:]
        after.feature.extend(kept)
    if features:
        suggested = {feature.name: feature for feature in infer(task).feature}
        for name in features:
            if name not in suggested:
                raise HeadraceError(
                    "HR-DATA-212", f"the data has no column {name!r}", expected=", ".join(sorted(suggested))
                )
            after.feature.append(suggested[name])
    shutil.copyfile(path, f"{path}.before")
    schemas.write_schema(after, path)
    return schemas.differences(before, after)


def refuse_existing(path: str, force: bool) -> None:
    """Raise HR-DATA-213 when there is a schema already, unless `force`."""
    if os.path.exists(path) and not force:
        raise HeadraceError(
            "HR-DATA-213",
            f"{path} exists",
            fix=["headrace schema diff TASK   shows what the data suggests", "--force replaces it"],
        )


def save(schema: schema_pb2.Schema, path: str) -> None:
    """Write an inferred schema."""
    from components import schemas

    schemas.write_schema(schema, path)
