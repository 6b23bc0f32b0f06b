"""How a run looks while it runs: recorded plain text, JSON lines, and the live view at two widths."""

import importlib.util
import io
import json
import math
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pipeline import __version__
from pipeline.console import figures, make_view, render_error
from pipeline.console.json_view import JsonView
from pipeline.console.live_view import LiveView, bar
from pipeline.console.plain_view import PlainView

_spec = importlib.util.spec_from_file_location("sample_run", Path(__file__).parents[1] / "sample_run.py")
sample = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sample)

GOLDEN = Path(__file__).parent / "golden"
NEXT = [
    "headrace serve flights",
    "headrace explain Trainer",
    "headrace release promote flights",
    "headrace kubeflow compile flights",
]


class Terminal(io.StringIO):
    """A stream that says it is a UTF-8 terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """Say yes."""
        return True


def play(view, run: dict) -> None:
    """Send the events of a run record to a view."""
    view.header(run)
    for node in run["nodes"]:
        if node["status"] == "pending":
            continue
        if node["status"] != "cached":
            view.node_started(node["id"])
            view.node_progress(node["id"], 0.7, "half way")
        view.node_finished(node)
    view.finished(run, NEXT)


def rich_console(width: int, **options):
    """Return a rich console that believes in a terminal of `width` cells."""
    from rich.console import Console

    return Console(
        file=Terminal(), force_terminal=True, width=width, highlight=False, markup=False, emoji=False, **options
    )


def without_escapes(text: str) -> str:
    """Return what a terminal's escape sequences leave."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


@pytest.mark.parametrize("name", ["sample_run", "stopped_run", "unblessed_run"])
def test_a_piped_run_prints_the_recorded_text(name):
    stream = io.StringIO()
    play(PlainView(stream), getattr(sample, name)())
    recorded = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").replace("{version}", __version__)
    assert stream.getvalue() == recorded


def test_a_piped_run_has_no_escape_sequence_and_no_trailing_space():
    stream = io.StringIO()
    play(make_view("auto", stream), sample.sample_run())
    assert "\x1b" not in stream.getvalue()
    assert all(line == line.rstrip() for line in stream.getvalue().splitlines())


def test_progress_is_printed_at_most_every_five_seconds_when_piped():
    now = [0.0]
    stream = io.StringIO()
    view = PlainView(stream, clock=lambda: now[0])
    view.node_started("Trainer")
    for second in range(0, 13):
        now[0] = float(second)
        view.node_progress("Trainer", second / 13, f"epoch {second}")
    assert stream.getvalue().splitlines() == [
        "  Trainer            38 %  epoch 5",
        "  Trainer            77 %  epoch 10",
    ]


def test_json_lines_hold_one_strict_object_per_event():
    stream, now = io.StringIO(), [0.0]
    run = sample.sample_run()
    run["nodes"][7]["summary"]["metrics"]["overall"]["auc"] = math.nan
    view = JsonView(stream, clock=lambda: now[0])
    view.header(run)
    view.node_started("Trainer")
    for tick in range(40):
        now[0] = tick / 10
        view.node_progress("Trainer", tick / 40, "epoch 1/3 é")
    view.node_finished(run["nodes"][7])
    view.finished(run, NEXT)

    def refuse(token):
        raise AssertionError(f"{token} is not JSON")

    events = [json.loads(line, parse_constant=refuse) for line in stream.getvalue().splitlines()]
    names = [event["event"] for event in events]
    assert names == ["header", "node_started", *["node_progress"] * 4, "node_finished", "finished"]
    assert [event["fraction"] for event in events if event["event"] == "node_progress"] == [0.0, 0.25, 0.5, 0.75]
    assert (
        events[-2]["node"] == "Evaluator"
        and events[-2]["status"] == "ran"
        and events[-2]["summary"]["metrics"]["overall"]["auc"] is None
    )
    assert events[-1]["run"]["task"] == "flights" and events[-1]["next"] == NEXT
    assert "nodes" not in events[0]["run"]


@pytest.mark.parametrize("width", [80, 120])
def test_on_a_terminal_each_node_is_one_line_that_fits_and_ends_in_its_seconds(width):
    console = rich_console(width)
    view = LiveView(console)
    run = sample.sample_run()
    for node in run["nodes"]:
        view.node_finished(node)
    view.close()
    lines = without_escapes(console.file.getvalue()).splitlines()
    assert len(lines) == len(run["nodes"])
    assert {figures.width(line) for line in lines} == {min(width, 100)}
    assert all(line.endswith(" s") or line.endswith("cached") for line in lines)
    evaluator = next(line for line in lines if "EdgeEvaluator" in line)
    assert "PASSED" in evaluator and "int8 5.8 us" in evaluator


@pytest.mark.parametrize("width", [80, 120])
def test_the_live_view_shows_running_nodes_with_bar_note_and_seconds(width):
    view, page = LiveView(rich_console(width)), rich_console(width)
    view.node_started("Trainer")
    view.node_progress("Trainer", 0.7, "epoch 2/3  loss 0.512")
    view.node_started("StatisticsGen")
    view._running["Trainer"].started -= 7.0
    page.print(view)
    view.close()
    trainer, statistics = without_escapes(page.file.getvalue()).splitlines()
    assert trainer.startswith("  Trainer            ███████░░░ epoch 2/3  loss 0.512  3 s left")
    assert trainer.rstrip().endswith("7.0 s")
    assert statistics.startswith("  StatisticsGen      …")
    assert max(figures.width(line) for line in (trainer, statistics)) <= width


def test_the_live_view_gives_the_cursor_back_and_closes_twice():
    console = rich_console(80)
    view = LiveView(console)
    view.node_started("Trainer")
    view.close()
    view.close()
    assert console.file.getvalue().rstrip().endswith("\x1b[?25h") or "\x1b[?25h" in console.file.getvalue()


def test_the_terminal_and_the_pipe_say_the_same_words():
    plain, console = io.StringIO(), rich_console(200)
    play(PlainView(plain), sample.unblessed_run())
    play(LiveView(console), sample.unblessed_run())
    shown = re.sub(r"[█░…]", "", without_escapes(console.file.getvalue()))
    for word in set(plain.getvalue().split()):
        assert word in shown, word


def test_no_color_leaves_colours_out(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    console = rich_console(100)
    play(LiveView(console), sample.stopped_run())
    codes = re.findall(r"\x1b\[([0-9;]*)m", console.file.getvalue())
    assert codes and not any(30 <= int(number) <= 107 for code in codes for number in code.split(";") if number)


def test_make_view_picks_the_view_of_the_stream(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    assert isinstance(make_view("auto", io.StringIO()), PlainView)
    assert isinstance(make_view("json", Terminal()), JsonView)
    assert isinstance(make_view("auto", Terminal()), LiveView)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(make_view("auto", Terminal()), PlainView)


def test_rich_is_not_imported_when_output_is_piped():
    code = """
import sys
from pipeline.console import make_view, render_error
view = make_view("auto")
view.header({"task": "x"})
view.finished({}, [])
print("rich" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]
    )
    assert done.stdout.splitlines()[-1] == "False"


def test_names_from_data_cannot_steer_the_terminal():
    run = sample.sample_run()
    hostile = "\x1b[2J\x1b]0;owned\x07[red]名前\u202e\n" + "x" * 300
    run["nodes"][7]["summary"]["metrics"][f"carrier={hostile}"] = {"auc": 0.1, "example_count": 5.0}
    run["nodes"][-1]["summary"]["path"] = hostile
    plain, console = io.StringIO(), rich_console(80, no_color=True)
    play(PlainView(plain), run)
    play(LiveView(console), run)
    assert "\x1b" not in plain.getvalue() and "\u202e" not in plain.getvalue()
    assert "\\x1b[2J\\x1b]0;owned\\x07[red]名前\\u202e\\n" in plain.getvalue()
    assert "\x1b[2J" not in console.file.getvalue() and "\x07" not in console.file.getvalue()
    assert "[red]名前" in console.file.getvalue()


def test_a_stream_of_another_encoding_gets_question_marks_not_an_exception():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    play(make_view("auto", stream), sample.sample_run())
    stream.flush()
    assert b"19 slices ? BLESSED" in raw.getvalue()


def test_missing_and_not_a_number_values_are_shown_as_such():
    run = sample.sample_run()
    evaluator = run["nodes"][7]["summary"]
    evaluator["metrics"]["overall"] = {"auc": math.nan, "accuracy": None, "example_count": 10.0}
    evaluator["checks"] = [
        {
            "metric": "auc",
            "slice": "overall",
            "value": math.nan,
            "bound": {"min": 0.6},
            "kind": "value",
            "passed": False,
            "note": "not defined on these rows",
        }
    ]
    run["nodes"][9]["summary"]["models"][3].update(latency_us=None, latency_ratio=None, agreement=None, delta={})
    stream = io.StringIO()
    play(PlainView(stream), run)
    assert "auc NaN (>= 0.600 FAILED, not defined on these rows)" in stream.getvalue()
    assert re.search(r"accuracy +-\n", stream.getvalue())


def test_empty_and_running_records_are_shown():
    stream = io.StringIO()
    view = PlainView(stream)
    view.header({})
    view.node_finished({"id": "Mystery", "status": "ran", "summary": {"things": 3, "name": "x"}})
    view.finished({"task": "t", "status": "interrupted", "nodes": [{"id": "A", "status": "pending"}]}, [])
    assert "Mystery            things 3 · name x" in stream.getvalue()
    assert "Interrupted (0 of 1 node ran, 1 not run)." in stream.getvalue()


def test_events_may_come_from_several_threads():
    stream = io.StringIO()
    view = PlainView(stream)
    nodes = [{"id": f"node{i}", "status": "ran", "elapsed_s": 1.0, "summary": {}} for i in range(50)]
    threads = [threading.Thread(target=view.node_finished, args=(node,)) for node in nodes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = stream.getvalue().splitlines()
    assert sorted(line.split()[0] for line in lines) == sorted(node["id"] for node in nodes)


def test_a_piece_of_work_outside_a_run_shows_its_progress():
    from pipeline.console.progress import progress_line

    stream, now = io.StringIO(), [0.0]
    with progress_line("flights", stream=stream, clock=lambda: now[0]) as progress:
        progress(0.1, "reading")
        now[0] = 6.0
        progress(0.5, "1,000 rows")
    assert stream.getvalue() == "  flights            50 %  1,000 rows\n"
    with progress_line("flights", quiet=True, stream=stream) as progress:
        progress(1.0, "x")
    assert stream.getvalue().count("\n") == 1


def test_the_progress_of_work_outside_a_run_leaves_a_terminal_clean(monkeypatch):
    from pipeline.console.progress import progress_line

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    stream = Terminal()
    with progress_line("flights", stream=stream) as progress:
        progress(0.5, "1,000 rows")
    assert stream.getvalue().endswith("\x1b[1A\x1b[2K") and "\x1b[?25h" in stream.getvalue()


def test_a_gate_that_stops_the_run_shows_as_stopped_even_while_its_entry_says_ran():
    stream = io.StringIO()
    PlainView(stream).node_finished(
        {"id": "Evaluator", "status": "ran", "summary": {}, "error": {"code": "HR-EVAL-001", "what": "x"}}
    )
    assert stream.getvalue().endswith("STOPPED\n")


def test_an_error_is_printed_as_the_error_itself_reads():
    from pipeline.errors import HeadraceError

    error = HeadraceError(
        "HR-CLI-001",
        "there is no task 'fligths'",
        [f"line {i}" for i in range(7)],
        "one of flights",
        ["headrace tasks", "headrace run flights"],
    )
    stream = io.StringIO()
    render_error(error.to_dict(), stream)
    own = [re.sub(r" +", " ", line.strip()) for line in str(error).splitlines()]
    printed = [re.sub(r" +", " ", line.strip()) for line in stream.getvalue().splitlines()]
    assert printed == own


@pytest.mark.parametrize(
    ("fraction", "drawn"),
    [(0, "░░░░░░░░░░ "), (0.5, "█████░░░░░ "), (2, "██████████ "), (-1, "░░░░░░░░░░ "), (math.nan, "░░░░░░░░░░ ")],
)
def test_a_bar_has_ten_cells_whatever_the_fraction(fraction, drawn):
    assert bar(fraction) == drawn
