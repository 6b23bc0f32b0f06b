"""Whether the label can be learnt: present in each row, of the right kind, and every class known to train."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from components.ingest.source import Places
from pipeline.errors import MAX_SEEN, HeadraceError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


def check_label(table: pa.Table, label: str, problem: str, places: Places) -> None:
    """Check the label column on all rows.

    Args:
        table: typed columns.
        label: name of the column.
        problem: `binary` (0 and 1) or `multiclass` (class names or integers).
        places: names rows.

    Raises: HR-DATA-010 (no such column), HR-DATA-011 (missing values), HR-DATA-013 (one class), HR-DATA-014 (kind).
    """
    import numpy as np
    import pyarrow as pa

    if label not in table.column_names:
        near = difflib.get_close_matches(label, table.column_names, 1)
        fix = [f"--set label={name}" for name in near] or ["--set label=COLUMN"]
        raise HeadraceError(
            "HR-DATA-010", f"there is no label column {label!r}", [", ".join(table.column_names)], "", fix
        )
    column = table[label]
    missing = np.flatnonzero(np.asarray(column.is_null()))
    if len(missing):
        what = f"label {label!r} is missing in {len(missing):,} of {len(column):,} rows"
        seen = [*places(missing[:MAX_SEEN].tolist()), *["further rows"] * (len(missing) - MAX_SEEN)]
        raise HeadraceError("HR-DATA-011", what, seen, "a class in each row", ["fill these rows in, or delete them"])
    classes = class_counts(column)
    is_binary = problem == "binary"
    fits = set(classes) <= {0, 1} if is_binary else not pa.types.is_floating(column.type)
    if not fits:
        expected = "0 and 1" if is_binary else "class names or integers"
        fix = (
            ["--set problem=multiclass", "or write 0 and 1"]
            if is_binary
            else ["write the classes as names or integers"]
        )
        what = f"label {label!r} has values that problem={problem} cannot use"
        raise HeadraceError("HR-DATA-014", what, _shown(classes, table.num_rows), expected, fix)
    if len(classes) < 2:
        fix = ["add rows of another class", "or name another column:  --set label=COLUMN"]
        what = f"label {label!r} has one class only"
        raise HeadraceError("HR-DATA-013", what, _shown(classes, table.num_rows), "two classes at least", fix)


def check_split_classes(table: pa.Table, label: str, in_eval: np.ndarray, places: Places) -> list[str]:
    """Check that train knows each class of eval; return warnings.

    Args:
        table: typed columns.
        label: name of the column.
        in_eval: bool [n].
        places: names rows.

    Raises: HR-DATA-015.
    """
    import numpy as np
    import pyarrow as pa

    column = table[label]
    train, evaluated = class_counts(column.filter(pa.array(~in_eval))), class_counts(column.filter(pa.array(in_eval)))
    unseen = [value for value in evaluated if value not in train]
    if unseen:
        rows = [
            int(np.flatnonzero(in_eval & np.asarray([each == value for each in column.to_pylist()]))[0])
            for value in unseen[:MAX_SEEN]
        ]
        firsts = dict(zip(sorted(rows), places(sorted(rows)), strict=True))
        seen = [
            f"{_text(value)!r} in eval {_times(evaluated[value])}, first at {firsts[row]}"
            for value, row in zip(unseen, rows, strict=False)
        ]
        seen += ["further classes"] * (len(unseen) - len(seen))
        what = f"{len(unseen)} of {len(evaluated)} classes in eval do not occur in train"
        fix = [
            "add rows of these classes to train, or leave the classes out",
            "--set split.by=hash   or another split.eval_from",
        ]
        raise HeadraceError("HR-DATA-015", what, seen, f"one of {_listed(train)}", fix)
    absent = [_text(value) for value in train if value not in evaluated]
    return [f"eval has no row of class {value}" for value in absent]


def class_counts(column: pa.ChunkedArray) -> dict[object, int]:
    """Return how often each value occurs, the most frequent first."""
    counted = [(entry["values"], entry["counts"]) for entry in column.value_counts().to_pylist()]
    return dict(sorted(counted, key=lambda each: (-each[1], str(each[0]))))


def _shown(classes: dict[object, int], total: int) -> list[str]:
    return [f"{_text(value)!r} in {count:,} of {total:,} rows" for value, count in classes.items()]


def _listed(classes: dict[object, int]) -> str:
    names = sorted(_text(value) for value in classes)
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
