"""What a run came to: checks, slices, quantized models, blessing. Console and report draw the same rows.

Everything here takes records of failed and partial runs: what is not there is None or an empty list.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field

from pipeline.console import figures
from pipeline.console.record import node, section, summary

OVERALL = "overall"
LOWER_IS_BETTER = {"log_loss"}
MAX_FAILURES = 8  # of a hundred slices that fail, the first few tell the story


@dataclass(frozen=True)
class Check:
    """One threshold and what it was held against; `kind` is `value`, or `change` against the baseline."""

    metric: str
    slice: str
    value: float | None
    limits: dict
    kind: str
    passed: bool
    note: str = ""

    def figure(self) -> str:
        """Return `auc 0.668`, or `auc +0.004` for a change."""
        value = figures.signed(self.value) if self.kind == "change" else figures.metric(self.metric, self.value)
        return f"{self.metric} {value}"

    def text(self) -> str:
        """Return `auc 0.668 (>= 0.630 ok)`, or `auc +0.004 (>= 0 ok)` for a change."""
        return f"{self.figure()} ({self.verdict()})"

    def verdict(self) -> str:
        """Return `>= 0.630 ok`, with the note of a check whose figure alone does not say why."""
        return figures.joined([f"{figures.bound(self.limits)} {'ok' if self.passed else 'FAILED'}", self.note], ", ")


@dataclass(frozen=True)
class Slice:
    """Metrics of one slice. Not gated: shown, but not judged, and `note` says why; `small`: too few rows to judge."""

    name: str
    examples: float | None
    metrics: dict
    baseline: dict = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    note: str = ""
    small: bool = False

    @property
    def gated(self) -> bool:
        """Say whether a threshold was held against this slice."""
        return bool(self.checks)

    @property
    def passed(self) -> bool:
        """Say whether no check of the slice failed."""
        return all(check.passed for check in self.checks)


@dataclass(frozen=True)
class EdgeModel:
    """One TFLite model: size from the Quantizer, quality and latency from the EdgeEvaluator."""

    scheme: str
    size_bytes: float | None
    size_ratio: float | None
    latency_us: float | None
    latency_ratio: float | None
    metric: str
    value: float | None
    delta: dict
    agreement: float | None
    gated: bool
    passed: bool | None
    reasons: tuple[str, ...]

    def delta_text(self) -> str:
        """Return `-0.001 [-0.003, +0.001]`: the change against the float model and its interval."""
        if self.delta.get("value") is None:
            return ""
        low, high = self.delta.get("low"), self.delta.get("high")
        interval = f" [{figures.signed(low)}, {figures.signed(high)}]" if low is not None and high is not None else ""
        return figures.signed(self.delta["value"]) + interval

    def verdict(self) -> str:
        """Return PASSED or FAILED for a gated model, `over` for one that lost too much ungated, or nothing."""
        if self.passed is None or self.scheme == "float32":
            return ""
        if self.gated:
            return "PASSED" if self.passed else "FAILED"
        return "" if self.passed else "over"


def goodness(metric: str, value: float | None) -> float:
    """Return a key that grows with quality, whichever way the metric runs; absent and NaN values are the worst."""
    if not figures.is_number(value) or math.isnan(value):
        return -math.inf
    if metric == "calibration":  # mean prediction over mean label: one is right
        return -abs(value - 1)
    return -value if metric in LOWER_IS_BETTER else value


def checks(evaluation: dict) -> list[Check]:
    """Return the checks of an Evaluator summary."""
    return [
        Check(
            row.get("metric", ""),
            row.get("slice") or OVERALL,
            row.get("value"),
            row.get("bound") or {},
            row.get("kind", "value"),
            bool(row.get("passed")),
            row.get("note") or "",
        )
        for row in evaluation.get("checks") or []
    ]


def main_metric(evaluation: dict) -> str:
    """Return the metric to sort and to head-line by: the first with a threshold, otherwise the first reported."""
    reported = [name for name in (evaluation.get("metrics") or {}).get(OVERALL) or {} if name != "example_count"]
    judged = [check.metric for check in checks(evaluation) if check.slice == OVERALL and check.metric in reported]
    return next(iter([*judged, *reported]), "")


def slices(run: dict) -> list[Slice]:
    """Return every slice with its checks, the overall one first, then the worst first by the main metric."""
    evaluation = summary(run, "Evaluator")
    by_slice, metric = defaultdict(list), main_metric(evaluation)
    for check in checks(evaluation):
        by_slice[check.slice].append(check)
    smallest = section(run, "evaluate").get("min_slice_examples")
    baseline = evaluation.get("baseline_metrics") or {}
    found = []
    for name, metrics in (evaluation.get("metrics") or {}).items():
        own = tuple(by_slice[name])
        examples = metrics.get("example_count")
        small = bool(name != OVERALL and smallest and examples is not None and examples < smallest)
        note = "" if own else f"under {smallest:,} rows" if small else "no threshold"
        shown = {key: value for key, value in metrics.items() if key != "example_count"}
        found.append(Slice(name, examples, shown, baseline.get(name) or {}, own, note, small))
    return sorted(found, key=lambda row: (row.name != OVERALL, goodness(metric, row.metrics.get(metric)), row.name))


def worst_slices(run: dict, limit: int = 3) -> list[Slice]:
    """Return the slices to read first: the failed and the worst of those large enough, and the worst small one."""
    rows = [row for row in slices(run) if row.name != OVERALL]
    large = sorted((row for row in rows if not row.small), key=lambda row: row.passed)  # stable: stays worst first
    chosen = {row.name for row in [*large[:limit], *[row for row in rows if row.small][:1]]}
    return [row for row in rows if row.name in chosen]


def edge_models(run: dict) -> list[EdgeModel]:
    """Return the TFLite models of a run, float32 first."""
    metric = summary(run, "EdgeEvaluator").get("metric") or section(run, "edge_evaluate").get("metric", "")
    made = {row["scheme"]: row for row in summary(run, "Quantizer").get("models") or [] if "scheme" in row}
    tried = {row["scheme"]: row for row in summary(run, "EdgeEvaluator").get("models") or [] if "scheme" in row}
    found = []
    for scheme in dict.fromkeys([*made, *tried]):
        row = {**made.get(scheme, {}), **tried.get(scheme, {})}
        overall = (row.get("metrics") or {}).get(OVERALL) or {}
        found.append(
            EdgeModel(
                scheme,
                row.get("size_bytes"),
                row.get("size_ratio"),
                row.get("latency_us"),
                row.get("latency_ratio"),
                metric,
                overall.get(metric),
                row.get("delta") or {},
                row.get("agreement"),
                bool(row.get("gated")),
                row.get("passed"),
                tuple(row.get("reasons") or ()),
            )
        )
    return sorted(found, key=lambda model: model.scheme != "float32")


def baseline_name(evaluation: dict) -> str:
    """Return how to call the model that the candidate was compared with: `version 6`."""
    baseline = evaluation.get("baseline") or {}
    version = baseline.get("version")
    return f"version {version}" if version is not None else "the latest blessed model"


def blessing(run: dict) -> tuple[bool | None, str, list[str]]:
    """Return whether the model is blessed (None: never judged), why in a few words, and the checks that failed."""
    evaluation = summary(run, "Evaluator")
    if "blessed" not in evaluation:
        return None, "the model was not evaluated", []
    done = checks(evaluation)
    failed = [_failure(check, baseline_name(evaluation)) for check in done if not check.passed]
    if failed:
        why = f"{len(failed)} of {figures.counted(len(done), 'check')} failed"
    elif len(done) > 1:
        why = f"all {len(done)} checks passed"
    else:
        why = "its only check passed" if done else "no threshold is set"
    more = [f"and {len(failed) - MAX_FAILURES} more"] if len(failed) > MAX_FAILURES else []
    return bool(evaluation["blessed"]), why, failed[:MAX_FAILURES] + more


def _failure(check: Check, baseline: str) -> str:
    """Return `carrier=OO auc 0.571 (>= 0.600)`, or `auc -0.053 against version 6 (>= 0)`."""
    where = "" if check.slice == OVERALL else f"{check.slice} "
    against = f" against {baseline}" if check.kind == "change" else ""
    return f"{where}{check.figure()}{against} ({figures.joined([figures.bound(check.limits), check.note], ', ')})"


def pushed(run: dict) -> str:
    """Return what the Pusher did, in words; empty if it has not run."""
    found = summary(run, "Pusher")
    if not found:
        return ""
    version, path = found.get("version"), figures.short_path(str(found.get("path") or ""))
    if found.get("pushed") and node(run, "Pusher").get("status") == "cached":
        return f"version {version} as before  {path}"
    if found.get("pushed"):
        return f"version {version}  {path}"
    why = figures.joined(["nothing new", found.get("reason") or ""], ": ")
    return why if version is None else f"{why}; version {version} stays  {path}"
