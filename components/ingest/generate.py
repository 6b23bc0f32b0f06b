"""From source files to the splits `train` and `eval` on disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from components import examples
from components.ingest.csv import read_csv
from components.ingest.images import read_images
from components.ingest.label import check_label, check_split_classes
from components.ingest.parquet import read_parquet
from components.ingest.source import Source
from components.ingest.span import spanned_path
from components.ingest.split import assign_split
from pipeline.config.model import DataConfig, SplitConfig, Strict
from pipeline.system_errors import coded_os_errors

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 20_000
BATCH_BYTES = 1 << 28  # of images, fewer rows
READ_SHARE = {"csv": 0.2, "parquet": 0.2, "images": 0.8}  # of the progress; images are decoded to check them

Progress = Callable[[float, str], None]


class IngestConfig(Strict):
    """The part of a task's configuration that decides what the examples are."""

    data: DataConfig
    split: SplitConfig = SplitConfig()
    label: str
    problem: Literal["binary", "multiclass"]


def generate_examples(
    config: IngestConfig,
    out_uri: str,
    declared: Mapping[str, str] | None = None,
    progress: Progress = lambda fraction, note: None,
) -> dict:
    """Read and check the source, write both splits below `out_uri`, and return the node's summary.

    Args:
        config: source, split, label and problem.
        out_uri: folder of an Examples artifact.
        declared: column -> INT, FLOAT or BYTES, from the schema.
        progress: receives the share done and a note.

    Raises: HR-DATA-001 to HR-DATA-030, HR-SYS-001 to HR-SYS-005.
    """
    started = time.monotonic()
    share = READ_SHARE[config.data.format]
    data = config.data.model_copy(update={"path": spanned_path(config.data.path, config.data.span)})
    progress(0.0, f"reading {data.path}")
    source = read_source(data, declared, lambda fraction, note: progress(share * fraction, note))
    check_label(source.table, config.label, config.problem, source.places)
    in_eval = assign_split(source.table, config.split, source.places)
    warnings = check_split_classes(source.table, config.label, in_eval, source.places)
    rows = _write_splits(
        source.table, in_eval, out_uri, lambda fraction, note: progress(share + (1 - share) * fraction, note)
    )
    return {
        "rows": rows,
        "features": sum(name != config.label for name in source.table.column_names),
        "source_bytes": source.size_bytes,
        "rows_per_s": round(source.table.num_rows / (time.monotonic() - started), 1),
        "late_warnings": warnings,
    }


def read_source(
    data: DataConfig, declared: Mapping[str, str] | None = None, progress: Progress = lambda fraction, note: None
) -> Source:
    """Read the source in its format."""
    if data.format == "images":
        return read_images(data.path, progress)
    return (read_parquet if data.format == "parquet" else read_csv)(data.path, data, declared)


def _write_splits(table: pa.Table, in_eval, out_uri: str, progress: Progress) -> dict[str, int]:
    import pyarrow as pa

    total, written, rows = table.num_rows, 0, {}
    batch_rows = max(1, min(BATCH_ROWS, BATCH_BYTES * total // max(1, table.nbytes)))

    def batches(part: pa.Table) -> Iterator[pa.RecordBatch]:
        nonlocal written
        for batch in part.combine_chunks().to_batches(max_chunksize=batch_rows):
            progress(written / total, f"{written:,} of {total:,} rows written")
            yield batch
            written += batch.num_rows

    with coded_os_errors(out_uri):
        for split, mask in (("train", ~in_eval), ("eval", in_eval)):
            rows[split] = examples.write_split(batches(table.filter(pa.array(mask))), out_uri, split)
    return rows
