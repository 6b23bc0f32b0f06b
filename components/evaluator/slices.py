"""Slices: the rows that share the values of some raw columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.errors import HeadraceError

OVERALL = "overall"
MAX_SLICES = 2_000  # of one spec: more are an identifier, not a group, and nobody reads their report


@dataclass(frozen=True)
class Slice:
    """Rows with equal values.

    Args:
        name: `overall`, or such as `carrier=OO,month=11`.
        parts: column and value pairs; values are str, or numbers where a whole column holds such.
        rows: int64 [m], ascending positions of the rows.
    """

    name: str
    parts: tuple[tuple[str, str | int | float], ...]
    rows: np.ndarray


def find_slices(
    columns: Mapping[str, np.ndarray], specs: Sequence[Sequence[str]], rows: int | None = None
) -> list[Slice]:
    """Return `overall` and every slice of every spec, in order of spec and value.

    A row without a value (the empty string) in one of a spec's columns is in none of its slices, as in TFMA.

    Args:
        columns: [n] arrays by column name.
        specs: column names to slice by together, such as [[carrier], [carrier, month]].
        rows: n, needed when there are no columns.

    Raises: HR-EVAL-006.
    """
    count = len(next(iter(columns.values()))) if rows is None else rows
    found = [Slice(OVERALL, (), np.arange(count))]
    coded = {name: _codes(columns[name]) for name in dict.fromkeys(name for spec in specs for name in spec)}
    for name, (values, _) in coded.items():
        if not len(values):
            raise HeadraceError(
                "HR-EVAL-006",
                f"slice column {name!r} has no value in any eval example",
                expected="a raw column of the examples",
                fix="correct evaluate.slices in task.yaml",
            )
    for spec in specs:
        found += _slices_of_spec([(name, *coded[name]) for name in spec])
    return found


def slice_rows(columns: Mapping[str, np.ndarray], specs: Sequence[Sequence[str]]) -> dict[str, np.ndarray]:
    """Return the positions of each slice's rows by slice name. Raises: HR-EVAL-006."""
    return {found.name: found.rows for found in find_slices(columns, specs)}


def _codes(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values (sorted, integers by size) and each row's code, -1 for none."""
    values, codes = np.unique(column, return_inverse=True)
    codes = codes.reshape(-1)
    if values.dtype.kind in "SO":  # bytes: decode the distinct ones only, and join those that decode alike
        text = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in values]
        values, joined = np.unique(np.array(text, str), return_inverse=True)
        codes = joined.reshape(-1)[codes]
    if values.dtype.kind == "U":
        if len(values) and values[0] == "":  # the empty string sorts first
            values, codes = values[1:], codes - 1
        numbers = _as_integers(values)
        if numbers is not None:
            order = np.argsort(numbers)
            rank = np.full(len(order) + 1, -1)  # code -1 reads the last place: it stays -1
            rank[order] = np.arange(len(order))
            values, codes = numbers[order], rank[codes]
    return values, codes


def _as_integers(values: np.ndarray) -> np.ndarray | None:
    """Return the values as int64 where each is written as an integer is ('7', never '07')."""
    try:
        numbers = values.astype(np.int64)
    except (ValueError, OverflowError):
        return None
    return numbers if len(values) and (numbers.astype(str) == values).all() else None


def _slices_of_spec(columns: list[tuple[str, np.ndarray, np.ndarray]]) -> list[Slice]:
    rows = np.flatnonzero(np.logical_and.reduce([codes >= 0 for _, _, codes in columns]))
    group = np.zeros(len(rows), np.int64)
    for _, values, codes in columns:  # the columns' codes as digits of one number, renumbered so that it stays small
        _, group = np.unique(group * len(values) + codes[rows], return_inverse=True)
        group = group.reshape(-1)
    sizes = np.bincount(group)
    if len(sizes) > MAX_SLICES:
        names = ",".join(name for name, _, _ in columns)
        raise HeadraceError(
            "HR-EVAL-006",
            f"slicing by {names} makes {len(sizes):,} slices",
            seen=[f"{name} has {len(values):,} values" for name, values, _ in columns],
            expected=f"at most {MAX_SLICES:,} slices",
            fix="slice by a column with fewer values: evaluate.slices in task.yaml",
        )
    ordered = rows[np.argsort(group, kind="stable")]
    return [_slice(columns, members) for members in np.split(ordered, np.cumsum(sizes)[:-1]) if len(members)]


def _slice(columns: list[tuple[str, np.ndarray, np.ndarray]], rows: np.ndarray) -> Slice:
    parts = tuple((name, values[codes[rows[0]]].item()) for name, values, codes in columns)
    return Slice(",".join(f"{name}={value}" for name, value in parts), parts, rows)
