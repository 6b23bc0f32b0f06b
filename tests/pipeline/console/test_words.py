"""Figures, one-line summaries, and the tables of the other commands."""

import importlib.util
import io
import math
from pathlib import Path

import pytest

from pipeline.console import describe, figures, findings, record, show
from pipeline.console import tables as tables_of
from pipeline.console.document import Table, show_plain

_spec = importlib.util.spec_from_file_location("sample_run", Path(__file__).parents[1] / "sample_run.py")
sample = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sample)

GOLDEN = Path(__file__).parent / "golden"


def printed(document) -> str:
    """Return what a pipe gets."""
    stream = io.StringIO()
    show(document, stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (figures.count(327346), "327,346"),
        (figures.count(None), "-"),
        (figures.count(math.nan), "NaN"),
        (figures.count(-math.inf), "-inf"),
        (figures.counted(1, "warning"), "1 warning"),
        (figures.counted(3, "vocabulary"), "3 vocabularies"),
        (figures.counted(0, "error"), "0 errors"),
        (figures.compact(141203.2), "141k"),
        (figures.compact(1_234_567), "1.2M"),
        (figures.compact(870), "870"),
        (figures.compact(999_960), "1.0M"),
        (figures.compact(0.25), "0.25"),
        (figures.seconds(0), "0.0 s"),
        (figures.seconds(2.31), "2.3 s"),
        (figures.seconds(9.96), "10 s"),
        (figures.seconds(34.4), "34 s"),
        (figures.seconds(59.6), "1 min 00 s"),
        (figures.seconds(125), "2 min 05 s"),
        (figures.seconds(3725), "1 h 02 min"),
        (figures.seconds(12 * 86400), "12 d"),
        (figures.seconds(None), "-"),
        (figures.microseconds(5.8), "5.8 us"),
        (figures.microseconds(1900), "1.9 ms"),
        (figures.microseconds(0.4), "0.4 us"),
        (figures.microseconds(2_000_000), "2.0 s"),
        (figures.size(60_812), "61 kB"),
        (figures.size(512), "512 B"),
        (figures.size(1_240_000), "1.2 MB"),
        (figures.size(999_900), "1.0 MB"),
        (figures.percent(0.997), "99.7 %"),
        (figures.percent(0.0001), "< 0.1 %"),
        (figures.percent(0.99999), "> 99.9 %"),
        (figures.percent(1), "100.0 %"),
        (figures.percent(0), "0.0 %"),
        (figures.metric("auc", 0.6681), "0.668"),
        (figures.metric("example_count", 53884.0), "53,884"),
        (figures.metric("auc", "odd"), "odd"),
        (figures.signed(0.004), "+0.004"),
        (figures.signed(-0.0004), "0.000"),
        (figures.signed(-0.001), "-0.001"),
        (figures.general(2013), "2013"),
        (figures.general(31204), "31,204"),
        (figures.general(3.14159), "3.142"),
        (figures.general(17031320100.0), "1.703e+10"),
        (figures.bound({"min": 0.63}), ">= 0.630"),
        (figures.bound({"min": 0.0, "max": None}), ">= 0"),
        (figures.bound({"min": 0.9, "max": 1.1}), "0.900 to 1.100"),
        (figures.bound({}), ""),
        (figures.value(None), "null"),
        (figures.value(True), "true"),
        (figures.value([1, "a"]), "[1, a]"),
        (figures.value(""), '""'),
        (figures.value({}), "{}"),
        (figures.plain("a\tb\u2028"), "a\\tb\\u2028"),
        (figures.cut("abcdef", 4), "abc…"),
        (figures.cut("名前名前", 5), "名前…"),
        (figures.pad("名", 4), "名  "),
    ],
)
def test_figures_are_written_for_people(written, expected):
    assert written == expected


@pytest.mark.parametrize(
    ("node_id", "words"),
    [
        ("ExampleGen", "327,346 rows  141k rows/s"),
        ("StatisticsGen", "21 features"),
        ("ImportSchemaGen", "schemas/flights/schema.pbtxt"),
        ("ExampleValidator", "0 errors, 1 warning"),
        ("Transform", "14 numeric, 3 vocabularies"),
        ("Trainer", "loss 0.508  val_loss 0.515  1,602 steps  41k ex/s"),
        ("LatestBlessedModel", ""),
        ("Evaluator", "auc 0.668 (>= 0.630 ok) · 19 slices · BLESSED"),
        ("Quantizer", "int8 61 kB (0.31x) · dynamic_range 0.34x · float16 0.52x"),
        ("EdgeEvaluator", "int8 5.8 us (0.52x) · agreement 99.7 % · auc -0.001 · PASSED"),
        ("InfraValidator", "20 requests in a fresh process, p50 1.9 ms · PASSED"),
        ("Pusher", "version 7  runs/flights/serving/7"),
    ],
)
def test_every_node_is_described_in_one_line(node_id, words):
    assert describe(record.node(sample.sample_run(), node_id)) == words


@pytest.mark.parametrize("node_id", sorted(sample.UPSTREAM))
@pytest.mark.parametrize("summary", [{}, {"models": []}, {"metrics": {}}, {"errors": None}])
def test_a_summary_that_lacks_its_figures_is_still_described(node_id, summary):
    assert isinstance(describe({"id": node_id, "status": "ran", "summary": summary}), str)


def test_a_failed_node_is_described_by_its_error():
    assert (
        describe({"id": "Trainer", "status": "failed", "error": {"code": "HR-TASK-001", "what": "build_model raised"}})
        == "HR-TASK-001  build_model raised"
    )


def test_a_gate_that_did_not_pass_says_which_scheme():
    models = [
        {"scheme": "int8", "gated": True, "passed": False, "latency_us": 5.0},
        {"scheme": "float16", "gated": False, "passed": True},
    ]
    assert describe({"id": "EdgeEvaluator", "summary": {"models": models}}).endswith("FAILED: int8")


@pytest.mark.parametrize(
    ("summary", "words", "closing"),
    [
        ({"version": 7, "path": "s/7", "pushed": True}, "version 7  s/7", "version 7  s/7"),
        (
            {"version": 6, "path": "s/6", "pushed": False, "reason": "version 6 has the same bytes"},
            "nothing new: version 6 has the same bytes; version 6 stays",
            "nothing new: version 6 has the same bytes; version 6 stays  s/6",
        ),
        (
            {"version": None, "path": "", "pushed": False, "reason": "not blessed"},
            "nothing new: not blessed",
            "nothing new: not blessed",
        ),
    ],
)
def test_a_push_is_told_apart_from_one_that_had_nothing_to_do(summary, words, closing):
    run = {"nodes": [{"id": "Pusher", "status": "ran", "summary": summary}]}
    assert (describe(run["nodes"][0]), findings.pushed(run)) == (words, closing)


def test_a_cached_push_says_that_the_version_is_not_new():
    run = {"nodes": [{"id": "Pusher", "status": "cached", "summary": {"version": 7, "path": "s/7", "pushed": True}}]}
    assert findings.pushed(run) == "version 7 as before  s/7"


def test_a_path_under_the_current_folder_is_shortened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert figures.short_path(str(tmp_path / "runs/x")) == "runs/x"
    assert figures.short_path("/elsewhere/runs/x") == "/elsewhere/runs/x"


@pytest.mark.parametrize(
    ("status", "error", "ended", "settled"),
    [
        ("ran", None, True, "ran"),
        ("ran", {"code": "x"}, False, "stopped"),
        ("cached", {"code": "x"}, True, "stopped"),
        ("failed", {"code": "x"}, True, "failed"),
        ("pending", None, True, "skipped"),
        ("pending", None, False, "pending"),
    ],
)
def test_a_gate_that_did_not_pass_stopped_and_what_was_pending_was_skipped(status, error, ended, settled):
    assert record.settled({"status": status, "error": error}, ended)["status"] == settled


def test_loading_tensorflow_has_its_own_time():
    run = sample.sample_run()
    run["nodes"][1]["loading_s"] = 11.4
    from pipeline.console.closing import times
    from pipeline.console.document import words

    assert words(times(run, 100)[0]).strip().startswith("Time       loading TensorFlow and TFX 11 s · Transform 8.1 s")


def test_slices_come_worst_first_and_say_why_they_are_not_gated():
    rows = findings.slices(sample.sample_run())
    values = [row.metrics["auc"] for row in rows[1:]]
    assert rows[0].name == "overall" and values == sorted(values)
    small = next(row for row in rows if row.name == "carrier=OO")
    assert (small.gated, small.note, small.examples) == (False, "under 200 rows", 29.0)
    assert {row.name for row in rows[1:] if not row.gated} == {
        f"carrier={name}" for name in ("AS", "F9", "YV", "HA", "OO")
    }


def test_the_worst_slices_hold_the_failing_ones_and_one_that_is_not_gated():
    run = sample.sample_run()
    best = max(
        (check for check in run["nodes"][7]["summary"]["checks"] if check["slice"] != "overall"),
        key=lambda check: check["value"],
    )
    best["passed"] = False
    names = [row.name for row in findings.worst_slices(run)]
    assert best["slice"] in names and "carrier=OO" in names and len(names) == 4


def test_without_slice_thresholds_the_worst_large_slices_are_shown():
    run = sample.sample_run()
    evaluation = findings.node(run, "Evaluator")["summary"]
    evaluation["checks"] = evaluation["checks"][:1]
    assert [row.name for row in findings.worst_slices(run)] == ["carrier=OO", "carrier=B6", "carrier=FL", "carrier=EV"]


@pytest.mark.parametrize(
    ("metric", "better", "worse"),
    [("auc", 0.9, 0.8), ("log_loss", 0.3, 0.4), ("calibration", 1.05, 0.8), ("auc", 0.1, math.nan), ("auc", 0.1, None)],
)
def test_goodness_knows_which_way_a_metric_runs(metric, better, worse):
    assert findings.goodness(metric, better) > findings.goodness(metric, worse)


def test_the_reason_of_a_missing_blessing_names_each_failed_check():
    blessed, why, failures = findings.blessing(sample.unblessed_run())
    assert (blessed, why) == (False, "2 of 16 checks failed")
    assert failures == ["auc 0.611 (>= 0.630)", "auc -0.053 against version 6 (>= 0)"]


def test_a_hundred_failed_slices_are_counted_not_listed():
    checks = [
        {"metric": "auc", "slice": f"s{i}", "value": 0.1, "bound": {"min": 0.5}, "kind": "value", "passed": False}
        for i in range(100)
    ]
    run = {"nodes": [{"id": "Evaluator", "summary": {"blessed": False, "checks": checks, "metrics": {"overall": {}}}}]}
    failures = findings.blessing(run)[2]
    assert len(failures) == 9 and failures[-1] == "and 92 more"


def test_tables_print_the_recorded_text():
    runs = [sample.sample_run(), sample.stopped_run(), sample.unblessed_run()]
    explanation = {
        "node": "Trainer",
        "status": "ran",
        "since": "2026-11-29-090000",
        "parts": [
            {"name": "code", "changed": False, "detail": "components/trainer (9 modules)"},
            {"name": "config", "changed": True, "detail": "train.epochs 3 -> 4   (--set, this run)"},
        ],
    }
    tasks = [
        {"name": "flights", "problem": "binary", "data": "ready", "description": "late arrivals"},
        {"name": "mnist", "problem": "multiclass", "data": "headrace data mnist", "description": "digits"},
    ]
    checks = [
        {"name": "stack", "state": "ok", "found": "compat: glibc 2.36", "fix": ""},
        {"name": "chromium", "state": "missing", "found": "", "fix": "apt install chromium"},
        {"name": "GPU", "state": "optional", "found": "none"},
    ]
    documents = [
        tables_of.runs_document(runs),
        tables_of.status_document(sample.stopped_run()),
        tables_of.explain_document(explanation),
        tables_of.tasks_document(tasks),
        tables_of.doctor_document(checks),
        tables_of.config_document(sample.config(), sample.sample_run()["config_sources"]),
    ]
    assert "\n".join(printed(document) for document in documents) == (GOLDEN / "tables.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("explanation", "words"),
    [
        ({"node": "A", "status": "ran", "since": None}, "A ran because no earlier run has it"),
        (
            {"node": "A", "status": "cached", "since": "r1", "parts": [{"name": "code"}, {"name": "config"}]},
            "A was cached because none of its 2 inputs changed since run r1",
        ),
        (
            {
                "node": "A",
                "status": "ran",
                "since": "r1",
                "parts": [{"name": "code"}, {"name": "config"}],
                "reason": "--fresh",
            },
            "A ran although none of its 2 inputs changed since run r1: --fresh",
        ),
    ],
)
def test_explain_says_why_in_one_sentence(explanation, words):
    assert printed(tables_of.explain_document(explanation)).splitlines()[0] == words


def test_empty_lists_are_said_in_words():
    assert printed(tables_of.runs_document([])) == "  no runs yet\n"
    assert printed(tables_of.tasks_document([])) == "  no tasks\n"


def test_columns_stay_aligned_with_wide_characters_and_odd_lengths():
    stream = io.StringIO()
    show_plain(
        [Table(["name", "n", "end"], [["名前", "1", "x"], ["a" * 60, "22", "y"], ["é", "333", ""]], right=["n"])],
        stream,
    )
    lines = stream.getvalue().splitlines()
    assert [figures.width(line[: line.index("x" if "x" in line else "y")]) for line in lines[1:3]] == [
        2 + 60 + 2 + 3 + 2
    ] * 2
    assert lines[3] == "  é" + " " * 59 + "  333"


@pytest.mark.parametrize("width", [80, 120])
def test_tables_fit_a_terminal_of_any_width(width, monkeypatch):
    from rich.console import Console

    from pipeline.console.document import show_rich

    console = Console(file=io.StringIO(), force_terminal=True, width=width, no_color=True, highlight=False)
    run = sample.sample_run()
    run["config"]["data"]["path"] = "/very/long/" + "folder/" * 40
    for document in (
        tables_of.status_document(run),
        tables_of.config_document(run["config"], {}),
        tables_of.runs_document([run]),
    ):
        show_rich(document, console)
    import re

    lines = re.sub(r"\x1b\[[0-9;]*m", "", console.file.getvalue()).splitlines()
    assert max(figures.width(line) for line in lines) <= width


@pytest.mark.parametrize(
    ("key", "source"),
    [("train.epochs", "--set"), ("evaluate.thresholds.auc.min", "task.yaml"), ("train.seed", "default")],
)
def test_a_section_s_source_counts_for_its_keys(key, source):
    assert tables_of.source_of(key, {"train.epochs": "--set", "evaluate.thresholds": "task.yaml"}) == source
