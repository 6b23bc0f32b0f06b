"""ExampleGen inside TFX."""

import json
from datetime import date

import pytest

from components import reporting

pytestmark = pytest.mark.tf


def test_the_component_writes_typed_splits_and_marks_the_artifact(tmp_path):
    from tfx.types import standard_artifacts

    from components import examples
    from components.ingest.component import ExampleGen

    (tmp_path / "2026").mkdir()
    (tmp_path / "2026" / "rows.csv").write_text("zip,y\n" + "".join(f"{n:05d},{n % 2}\n" for n in range(100)))
    (tmp_path / "schema.pbtxt").write_text('feature { name: "zip" type: BYTES } feature { name: "y" type: INT }')
    schema, artifact = standard_artifacts.Schema(), standard_artifacts.Examples()
    schema.uri, artifact.uri = str(tmp_path), str(tmp_path / "out")
    config = {
        "data": {"path": f"{tmp_path}/{{YYYY}}/rows.csv", "span": "2026-11-30"},
        "split": {"eval_fraction": 0.3},
        "label": "y",
        "problem": "binary",
    }
    with reporting.listening(reporting.Listener()) as listener:
        ExampleGen.test_call(schema=schema, examples=artifact, config=json.dumps(config))
    rows = listener.outcome.summary["rows"]
    assert rows["train"] + rows["eval"] == 100
    assert json.loads(artifact.split_names) == ["train", "eval"]
    assert artifact.span == (date(2026, 11, 30) - date(1970, 1, 1)).days
    values = {value for split in rows for value in examples.read_dense(artifact.uri, split, ["zip"])["zip"].tolist()}
    assert values == {f"{n:05d}".encode() for n in range(100)}
