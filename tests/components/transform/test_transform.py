"""Analysis and application of preprocessing_fn, against numpy row by row."""

import collections
import os

import numpy as np
import pytest

from components import examples, schemas, user_code
from components.transform.analyze import analyze, check_trace
from components.transform.apply import apply
from components.transform.summary import summarize
from pipeline.config.model import BeamConfig
from pipeline.errors import HeadraceError

pytestmark = pytest.mark.tf
SCHEMA = """
feature { name: "x" type: FLOAT presence { min_fraction: 1.0 min_count: 1 } shape { dim { size: 1 } } }
feature { name: "gap" type: INT presence { min_count: 1 } }
feature { name: "word" type: BYTES presence { min_fraction: 1.0 min_count: 1 } shape { dim { size: 1 } } }
feature { name: "late" type: INT presence { min_fraction: 1.0 min_count: 1 } shape { dim { size: 1 } } }
"""
FEATURES = """
import tensorflow as tf
import tensorflow_transform as tft

def preprocessing_fn(inputs):
    gap = inputs["gap"]
    gap = tf.SparseTensor(gap.indices, gap.values, [gap.dense_shape[0], 1])
    gap = tf.squeeze(tf.sparse.to_dense(gap, default_value=-1), 1)
    x = tft.scale_to_z_score(tf.reshape(inputs["x"], [-1]))
    return {
        "pair": tf.stack([x, tf.cast(gap, tf.float32)], axis=1),
        "word": tft.compute_and_apply_vocabulary(
            tf.reshape(inputs["word"], [-1]), vocab_filename="word", num_oov_buckets=1
        ),
        "late": tf.reshape(inputs["late"], [-1]),
    }
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    import pyarrow as pa

    from pipeline.environment import skip_library_autograph

    skip_library_autograph()
    root = tmp_path_factory.mktemp("transform")
    (root / "features.py").write_text(FEATURES)
    (root / "schema.pbtxt").write_text(SCHEMA)
    random = np.random.default_rng(3)
    raw = {}
    for split, rows in (("train", 250), ("eval", 70)):
        words = ["a", "b", "c"] if split == "train" else ["a", "b", "new"]
        raw[split] = {
            "x": random.normal(5, 2, rows).astype(np.float32),
            "gap": [None if random.random() < 0.2 else int(random.integers(9)) for _ in range(rows)],
            "word": [words[i] for i in random.choice(3, rows, p=[0.6, 0.3, 0.1])],
            "late": random.integers(0, 2, rows),
        }
        columns = raw[split]
        batch = pa.RecordBatch.from_arrays(
            [
                pa.array(columns["x"]),
                pa.array(columns["gap"], pa.int64()),
                pa.array([w.encode() for w in columns["word"]]),
                pa.array(columns["late"]),
            ],
            names=list(columns),
        )
        examples.write_split(
            [batch.slice(i, 50) for i in range(0, rows, 50)], str(root / "examples"), split, rows_per_shard=100
        )
    schema = schemas.read_schema(str(root / "schema.pbtxt"))
    function = user_code.load(str(root), "features.py", "preprocessing_fn")
    graph, out = str(root / "graph"), str(root / "transformed")
    os.makedirs(graph)
    analyze(function, str(root / "features.py"), str(root / "examples"), schema, graph, BeamConfig(), 64)
    for split in raw:
        apply(graph, str(root / "examples"), split, out, BeamConfig(), 64)
    return root, raw, graph, out


@pytest.mark.parametrize("split", ["train", "eval"])
def test_every_row_is_what_numpy_makes_of_it_in_the_same_order(done, split):
    _, raw, _, out = done
    train, columns = raw["train"], raw[split]
    found = examples.read_dense(out, split)
    expected = (columns["x"] - train["x"].mean(dtype=np.float64)) / train["x"].std(dtype=np.float64)
    np.testing.assert_allclose(found["pair"][:, 0], expected, atol=1e-4)
    np.testing.assert_array_equal(found["pair"][:, 1], [-1 if gap is None else gap for gap in columns["gap"]])
    order = [word for word, _ in collections.Counter(train["word"]).most_common()]
    ids = {word: i for i, word in enumerate(order)}
    np.testing.assert_array_equal(found["word"], [ids.get(word, len(order)) for word in columns["word"]])
    np.testing.assert_array_equal(found["late"], columns["late"])


def test_one_file_comes_out_for_each_that_goes_in(done):
    root, _, _, out = done
    for split in ("train", "eval"):
        inside = [os.path.basename(p) for p in examples.split_files(str(root / "examples"), split)]
        assert [os.path.basename(p) for p in examples.split_files(out, split)] == inside


def test_the_graph_is_what_tft_reads(done):
    import tensorflow_transform as tft

    output = tft.TFTransformOutput(done[2])
    assert set(output.raw_feature_spec()) == {"x", "gap", "word", "late"}
    assert output.vocabulary_size_by_name("word") == 3
    assert summarize(done[2]) == {"features": 3, "numeric": 2, "vocabularies": {"word": 3}}


def refused(tmp_path, body: str) -> HeadraceError:
    (tmp_path / "features.py").write_text(body)
    (tmp_path / "schema.pbtxt").write_text(SCHEMA)
    with pytest.raises(HeadraceError) as caught:
        function = user_code.load(str(tmp_path), "features.py", "preprocessing_fn")
        check_trace(function, str(tmp_path / "features.py"), schemas.read_schema(str(tmp_path / "schema.pbtxt")))
    return caught.value


def test_a_preprocessing_fn_that_raises_shows_its_own_line_alone(tmp_path):
    error = refused(
        tmp_path, "def preprocessing_fn(inputs):\n    y = inputs['x']\n    return {'x': y + inputs['typo']}\n"
    )
    assert error.code == "HR-TASK-002"
    assert "KeyError" in error.what
    assert error.seen == [f"{tmp_path / 'features.py'}:3 return {{'x': y + inputs['typo']}}"]


def test_a_sparse_output_is_refused_by_name(tmp_path):
    error = refused(tmp_path, "def preprocessing_fn(inputs):\n    return {'gap': inputs['gap']}\n")
    assert error.code == "HR-TASK-003"
    assert error.seen == ["gap: sparse"]


def test_an_output_of_text_is_refused_by_name(tmp_path):
    assert refused(tmp_path, "def preprocessing_fn(inputs):\n    return {'word': inputs['word']}\n").seen == [
        "word: string"
    ]


def test_a_function_that_returns_nothing_is_refused(tmp_path):
    assert refused(tmp_path, "def preprocessing_fn(inputs):\n    pass\n").code == "HR-TASK-003"


def test_a_file_that_cannot_be_parsed_shows_the_line(tmp_path):
    error = refused(tmp_path, "def preprocessing_fn(inputs):\n    return {\n")
    assert error.code == "HR-TASK-002"
    assert f"{tmp_path / 'features.py'}:2" in error.seen[0]


def test_a_missing_function_is_told(tmp_path):
    assert refused(tmp_path, "def preprocess(inputs):\n    return inputs\n").code == "HR-TASK-001"
