"""Serialized examples, against protobuf's own deterministic writer and tfx_bsl's encoder."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.encode import encode_examples

pytestmark = pytest.mark.tf

ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.floats(width=32, allow_nan=False),
        st.none() | st.binary(max_size=300),
    ),
    max_size=12,
)


def batch_of(rows):
    import pyarrow as pa

    kinds = {"n": pa.int64(), "é": pa.float32(), "b" * 200: pa.binary()}
    columns = [pa.array([row[index] for row in rows], kind) for index, kind in enumerate(kinds.values())]
    return pa.RecordBatch.from_arrays(columns, names=list(kinds))


@given(rows=ROWS)
@settings(max_examples=50, deadline=None)
def test_the_bytes_are_those_of_protobufs_deterministic_writer(rows):
    import tensorflow as tf

    expected = []
    for whole, real, text in rows:
        example = tf.train.Example(features=tf.train.Features())
        for name, kind, value in (
            ("n", "int64_list", whole),
            ("é", "float_list", real),
            ("b" * 200, "bytes_list", text),
        ):
            feature = example.features.feature[name]
            if value is not None:
                getattr(feature, kind).value.append(value)
        expected.append(example.SerializeToString(deterministic=True))
    assert encode_examples(batch_of(rows)) == expected


def test_the_examples_are_those_of_tfx_bsl():
    import pyarrow as pa
    import tensorflow as tf
    from tfx_bsl.coders import example_coder

    batch = pa.RecordBatch.from_arrays(
        [
            pa.array([[1, -2], None, [2**40]], pa.list_(pa.int64())),
            pa.array([[0.5, 1e-40], [-0.0, 2.0], None], pa.list_(pa.float32())),
            pa.array([[b"x", b""], [b"yz"], None], pa.list_(pa.binary())),
        ],
        names=["n", "f", "b"],
    )
    reference = example_coder.RecordBatchToExamplesEncoder().encode(batch)
    parse = tf.train.Example.FromString
    assert [parse(found) for found in encode_examples(batch)] == [parse(record) for record in reference]
    assert encode_examples(batch.slice(1)) == encode_examples(batch)[1:]


def test_single_values_and_lists_of_one_are_the_same_bytes():
    import pyarrow as pa

    single = batch_of([(1, 0.5, b"x"), (None, None, None), (-1, -0.0, b"y")])
    lists = [
        pa.array([None if v is None else [v] for v in column.to_pylist()], pa.list_(column.type))
        for column in single.columns
    ]
    assert encode_examples(pa.RecordBatch.from_arrays(lists, names=single.schema.names)) == encode_examples(single)


def test_other_types_are_refused():
    import pyarrow as pa

    with pytest.raises(TypeError, match="double"):
        encode_examples(pa.RecordBatch.from_arrays([pa.array([1.0])], names=["x"]))
