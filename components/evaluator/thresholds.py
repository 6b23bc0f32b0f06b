"""Whether metrics hold their bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from components.evaluator.slices import OVERALL
from pipeline.config.model import Bound, EvaluateConfig

Metrics = Mapping[str, Mapping[str, float]]
NO_BASELINE = "no baseline"


@dataclass(frozen=True)
class Check:
    """One bound and what it was held against.

    Args:
        value: the metric (`kind` value), or candidate minus baseline (`kind` change); NaN when not defined.
        bound: `min`, `max` or both.
        note: why it passed or failed when the numbers alone don't say.
    """

    metric: str
    slice: str
    value: float
    bound: dict[str, float]
    kind: str
    passed: bool
    note: str = ""

    def __str__(self) -> str:
        """Return such as `auc 0.5712 in carrier=OO, bound >= 0.6`."""
        sides = [f"{sign} {self.bound[side]:g}" for side, sign in (("min", ">="), ("max", "<=")) if side in self.bound]
        value = f"{self.value:+.4g}" if self.kind == "change" else f"{self.value:.4g}"
        where = "" if self.slice == OVERALL else f" in {self.slice}"
        what = f"{self.metric} against the baseline" if self.kind == "change" else self.metric
        return f"{what} {value}{where}, bound {' and '.join(sides)}" + (f" ({self.note})" if self.note else "")


def check(config: EvaluateConfig, metrics: Metrics, baseline_metrics: Metrics | None) -> list[Check]:
    """Return one check a bound: the overall metrics, each slice large enough to judge, the change overall.

    NaN fails. A bound on the change passes with a note when there is no baseline yet.

    Args:
        config: bounds, and `min_slice_examples`: smaller slices are not gated.
        metrics: by slice, then by name, with `example_count`.
        baseline_metrics: the same of the latest blessed model on the same rows.
    """
    checks = [_value(name, OVERALL, bound, metrics) for name, bound in config.thresholds.items()]
    gated = [s for s in metrics if s != OVERALL and metrics[s]["example_count"] >= config.min_slice_examples]
    checks += [_value(name, s, bound, metrics) for name, bound in config.slice_thresholds.items() for s in gated]
    return checks + [_change(name, bound, metrics, baseline_metrics) for name, bound in config.change.items()]


def needed_metrics(config: EvaluateConfig) -> list[str]:
    """Return the metrics that are shown or bounded: a bound on a metric that is not listed still counts."""
    names = [*config.metrics, *config.thresholds, *config.slice_thresholds, *config.change, "example_count"]
    return list(dict.fromkeys(names))


def _value(name: str, where: str, bound: Bound, metrics: Metrics) -> Check:
    value = metrics[where][name]
    note = "not defined on these rows" if value != value else ""
    return Check(name, where, value, _sides(bound), "value", bound.holds(value), note)


def _change(name: str, bound: Bound, metrics: Metrics, baseline_metrics: Metrics | None) -> Check:
    if baseline_metrics is None:
        return Check(name, OVERALL, float("nan"), _sides(bound), "change", True, NO_BASELINE)
    value = metrics[OVERALL][name] - baseline_metrics[OVERALL][name]
    note = "not defined on these rows" if value != value else ""
    return Check(name, OVERALL, value, _sides(bound), "change", bound.holds(value), note)


def _sides(bound: Bound) -> dict[str, float]:
    return bound.model_dump(exclude_none=True)
