"""Which rows go to eval: by a hash of the row's content, or by time."""

from __future__ import annotations

import datetime
import hashlib
from typing import TYPE_CHECKING

from components.ingest.source import Places
from pipeline.config.model import SplitConfig
from pipeline.errors import MAX_SEEN, HeadraceError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

HASH_BITS = 53  # a float64 holds this many exactly
NULL = 0x9E3779B97F4A7C15
SUGGESTED_TRAIN_SHARE = 0.8


def assign_split(table: pa.Table, split: SplitConfig, places: Places) -> np.ndarray:
    """Return bool [n]: True where the row belongs to eval.

    By hash, rows of equal values always share a side, whatever the order of rows or columns, and a larger
    `eval_fraction` keeps the rows that were in eval. By time, a row is in eval from `eval_from` on.

    Raises: HR-DATA-018 (a split without rows), HR-DATA-019 (split column).
    """
    import numpy as np

    if split.by == "hash":
        share = (hash_rows(table) >> np.uint64(64 - HASH_BITS)) * 2.0**-HASH_BITS
        mask = share < split.eval_fraction
    else:
        mask = _from_time_on(table, split, places)
    _require_both(mask, table, split)
    return mask


def hash_rows(table: pa.Table) -> np.ndarray:
    """Return uint64 [n], a hash of each row's names and values; equal numbers hash alike, integers or floats.

    Source: the finalizer of splitmix64 (Steele, Lea, Flood, OOPSLA 2014; constants of variant 13 by Stafford) over the
    columns in order of their names; texts and names enter as blake2b of 8 bytes.
    """
    import numpy as np

    total = np.zeros(table.num_rows, np.uint64)
    for name in sorted(table.column_names):
        total = _mix(total + _hash_column(table[name]) + np.uint64(_hash_bytes(name.encode())))
    return total


def _hash_column(column: pa.ChunkedArray) -> np.ndarray:
    import numpy as np

    chunks = [_hash_chunk(chunk) for chunk in column.chunks]  # joined, chunks of bytes could pass Arrow's 2 GiB
    return np.concatenate(chunks) if chunks else np.zeros(0, np.uint64)


def _hash_chunk(column: pa.Array) -> np.ndarray:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = np.asarray(column.is_null())
    if pa.types.is_binary(column.type):
        encoded = pc.dictionary_encode(column)
        hashes = np.array([_hash_bytes(value) for value in encoded.dictionary.to_pylist()] or [0], np.uint64)
        values = hashes[np.asarray(pc.fill_null(encoded.indices, 0))]
    else:
        numbers = np.asarray(pc.fill_null(column, 0)).astype(np.float64) + 0.0  # -0.0 becomes 0.0
        values = _mix(numbers.view(np.uint64))
    return np.where(missing, np.uint64(NULL), values)


def _hash_bytes(value: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(value, digest_size=8).digest(), "little")


def _mix(value: np.ndarray) -> np.ndarray:
    import numpy as np

    value = value + np.uint64(NULL)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def _from_time_on(table: pa.Table, split: SplitConfig, places: Places) -> np.ndarray:
    import numpy as np
    import pyarrow as pa

    if split.column not in table.column_names:
        seen = [", ".join(table.column_names)]
        what = f"split.column {split.column!r} is not in the data"
        raise HeadraceError("HR-DATA-019", what, seen, "a column of dates or numbers", _other_ways())
    column = table[split.column]
    missing = np.flatnonzero(np.asarray(column.is_null()))
    if len(missing):
        seen = places(missing[:MAX_SEEN].tolist())
        what = f"split.column {split.column!r} is missing in {len(missing):,} of {len(column):,} rows"
        raise HeadraceError("HR-DATA-019", what, seen, "a value in each row", ["fill the values in", *_other_ways()])
    if pa.types.is_binary(column.type):
        return _from_date_on(column, split, places)
    try:
        start = float(split.eval_from)
    except ValueError:
        raise _bad_start(split, "a number", _range(column)) from None
    return np.asarray(column) >= start


def _from_date_on(column: pa.ChunkedArray, split: SplitConfig, places: Places) -> np.ndarray:
    import numpy as np
    import pyarrow.compute as pc

    start = _moment(split.eval_from)
    if start is None:
        raise _bad_start(split, "an ISO 8601 date", _range(column))
    encoded = pc.dictionary_encode(column.combine_chunks())
    encoded = encoded.combine_chunks() if hasattr(encoded, "combine_chunks") else encoded
    values = encoded.dictionary.to_pylist()
    moments = [_moment(value.decode("utf-8", "replace")) for value in values]
    codes = np.asarray(encoded.indices)
    wrong = np.array([moment is None for moment in moments])[codes]
    if wrong.any():
        rows = np.flatnonzero(wrong)[:MAX_SEEN].tolist()
        seen = [
            f"{values[codes[row]].decode('utf-8', 'replace')!r} at {place}"
            for row, place in zip(rows, places(rows), strict=True)
        ]
        what = f"split.column {split.column!r} holds no date in {wrong.sum():,} of {len(wrong):,} rows"
        expected = "ISO 8601, such as 2013-11-01 or 2013-11-01T05:15:00Z"
        raise HeadraceError("HR-DATA-019", what, seen, expected, ["correct the values", *_other_ways()])
    return np.array([moment >= start for moment in moments])[codes]


def _moment(text: str) -> datetime.datetime | None:
    """Return the moment of an ISO 8601 text, in UTC unless it names a zone; None if it is no such text."""
    try:
        moment = datetime.datetime.fromisoformat(text.strip().removesuffix("Z"))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def _require_both(mask: np.ndarray, table: pa.Table, split: SplitConfig) -> None:
    in_eval = int(mask.sum())
    in_train = len(mask) - in_eval
    if in_train and in_eval:
        return
    empty = "train" if not in_train else "eval"
    what = f"{empty} has no rows: {in_train:,} rows in train, {in_eval:,} in eval"
    if split.by == "time":
        seen = [f"{split.column} runs from {_range(table[split.column])}, split.eval_from is {split.eval_from}"]
        fix = [
            f"--set split.eval_from={_quantile(table[split.column])}   keeps the last rows for eval",
            "--set split.by=hash",
        ]
    else:
        seen = [f"{len(mask):,} {'row' if len(mask) == 1 else 'rows'}, split.eval_fraction is {split.eval_fraction}"]
        fix = ["add rows: a few hundred at least", "--set split.eval_fraction=0.5"]
    raise HeadraceError("HR-DATA-018", what, seen, "rows in both", fix)


def _bad_start(split: SplitConfig, kind: str, span: str) -> HeadraceError:
    what = f"split.eval_from {split.eval_from!r} is not {kind}, as split.column {split.column!r} is"
    return HeadraceError(
        "HR-DATA-019", what, [f"{split.column} runs from {span}"], kind, ["--set split.eval_from=VALUE"]
    )


def _range(column: pa.ChunkedArray) -> str:
    import pyarrow.compute as pc

    ends = pc.min_max(column).as_py()
    return f"{_show(ends['min'])} to {_show(ends['max'])}"


def _quantile(column: pa.ChunkedArray) -> str:
    import pyarrow.compute as pc

    order = pc.sort_indices(column)
    return _show(column[order[int(len(column) * SUGGESTED_TRAIN_SHARE)].as_py()].as_py())


def _show(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else f"{value:g}"


def _other_ways() -> list[str]:
    return ["--set split.column=COLUMN", "--set split.by=hash"]
