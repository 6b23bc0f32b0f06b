"""The HTML report: what it shows, that data cannot break it, and that it opens in Chromium without a console error."""

import copy
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import HeadraceError
from pipeline.report import write_report

_spec = importlib.util.spec_from_file_location("sample_run", Path(__file__).parents[1] / "sample_run.py")
sample = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sample)

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome", "chrome") if (found := shutil.which(name))),
    None,
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--v=0",
    "--dump-dom",
]


class Page(HTMLParser):
    """Collects tags, attributes and text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        """Remember a tag."""
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data):
        """Remember text outside of style and script."""
        if self.tags and self.tags[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        """Return the text with single spaces."""
        return " ".join(" ".join(self.words).split())


def report_of(tmp_path: Path, run: dict, **options) -> str:
    """Write the run and its report, and return the report's text."""
    return write_report(sample.write_run(tmp_path, run, **options)).read_text(encoding="utf-8")


def summary(run: dict, node_id: str) -> dict:
    """Return the summary of a node, to change it."""
    return next(node for node in run["nodes"] if node["id"] == node_id)["summary"]


def open_in_browser(path: Path, profile: Path) -> tuple[str, list[str]]:
    """Return the DOM after scripts ran and the console's lines."""
    done = subprocess.run(
        [BROWSER, *FLAGS, f"--user-data-dir={profile}", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_the_report_of_a_good_run_shows_every_part(tmp_path):
    text = Page(report_of(tmp_path, sample.sample_run())).text
    for shown in (
        "flights ✓ succeeded",
        "2026-11-30-153000",
        "headrace run flights --set train.epochs=4",
        "compat, Python 3.11.7, TFX 1.16.0, TensorFlow 2.16.2, glibc 2.36",
        "split by time: train Jan-Oct, eval Nov-Dec",
        "10 of 12 nodes ran, 2 cached",
        "Trainer ran · 7.5 s",
        "StatisticsGen cached",
        "blessed: all 16 checks passed",
        "auc change against version 6",
        "not gated: under 200 rows",
        "carrier=OO 29",
        "Calibration off the diagonal by",
        "dynamic_range 66 kB 0.34x 9.1 us 0.81x",
        "-0.001 [-0.003, +0.001]",
        "1,602 steps, 48,211 parameters",
        "train 0.508",
        "eval 0.515",
        "column 'wind_gust': is missing in more rows than the schema allows",
        "headrace schema approve flights --min-presence wind_gust=0.2",
        "tailnum",
        "version 7",
        "train.base_learning_rate 0.002 pipeline/tasks/flights/task.yaml:14",
    ):
        assert shown in text, shown


def test_every_artifact_stands_in_the_lineage_with_digest_uri_and_id(tmp_path):
    run = sample.sample_run()
    html = report_of(tmp_path, run)
    text = Page(html).text
    for node in run["nodes"]:
        for name, output in node["outputs"].items():
            assert (
                f"{node['id']} {name} {output['type']} {output['digest'][:12]} {output['mlmd_id']} {output['uri']}"
                in text
            )
            assert output["digest"] in html


def test_the_statistics_of_both_splits_are_those_of_the_artifact(tmp_path):
    run = sample.sample_run()
    text = Page(report_of(tmp_path, run, rows=4000)).text
    rng = np.random.default_rng(0)  # write_statistics draws month and day first
    month, day = rng.integers(1, 11, 4000), rng.integers(1, 32, 4000)
    card = text[text.index(" month int ") : text.index(" day int ")]
    assert f"mean {month.mean():.4g}".rstrip("0") in card and "min 1 11" in card and "max 10 12" in card
    assert f"mean {day.mean():.4g}" in text


def test_a_report_is_small_and_quick(tmp_path):
    run_dir = sample.write_run(tmp_path, sample.sample_run())
    started = time.monotonic()
    path = write_report(run_dir)
    assert time.monotonic() - started < 10  # 0.5 s on an idle machine
    assert path.stat().st_size < 300_000


def test_a_wide_table_with_many_slices_stays_under_a_megabyte(tmp_path):
    from tensorflow_metadata.proto.v0 import statistics_pb2

    run = sample.sample_run()
    metrics = summary(run, "Evaluator")["metrics"]
    metrics |= {
        f"carrier={i},month={i % 12}": {
            "auc": 0.6 + i * 1e-5,
            "accuracy": 0.7,
            "log_loss": 0.5,
            "example_count": 150.0 + i,
        }
        for i in range(2000)
    }
    summary(run, "Evaluator")["checks"] = sample.checks(metrics)
    summary(run, "Trainer")["history"] = {
        "loss": list(np.linspace(1, 0.1, 3000)),
        "val_loss": list(np.linspace(1, 0.2, 3000)),
    }
    run_dir = sample.write_run(tmp_path, run)
    listed = statistics_pb2.DatasetFeatureStatisticsList()
    dataset = listed.datasets.add()
    for i in range(400):
        sample.add_numeric(dataset, f"f{i}", np.random.default_rng(i).normal(size=200))
    for path in (tmp_path / "runs/flights/artifacts/StatisticsGen").rglob("FeatureStats.pb"):
        path.write_bytes(listed.SerializeToString())
    path = write_report(run_dir)
    text = Page(path.read_text(encoding="utf-8")).text
    assert path.stat().st_size < 1_000_000
    assert "280 more features left off here" in text and "1,720 better slices left off here" in text


def test_hostile_names_and_values_stay_text(tmp_path):
    evil = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7*7 }}"
    run = sample.stopped_run()
    good = copy.deepcopy(sample.sample_run())
    run["nodes"][7:] = good["nodes"][7:]
    run.update(command=evil, split={"by": "time", "column": evil, "eval_from": evil})
    run["stack"]["name"] = evil
    run["config"].update({evil: evil, "description": evil})
    run["config_sources"][evil] = evil
    run["error"].update(code=evil, what=evil, seen=[evil], expected=evil, fix=[evil])
    summary(run, "Evaluator")["metrics"][f"carrier={evil}"] = {"auc": 0.5, evil: 0.5, "example_count": 3.0}
    summary(run, "Evaluator")["metrics"]["overall"][evil] = 0.5
    summary(run, "Evaluator")["plots"] = {"confusion": [[5, 1], [2, 7]], "classes": [evil, "b"]}
    summary(run, "ExampleValidator")["anomalies"][0].update(
        feature=evil, description=evil, seen=[evil], fix=[evil], code=evil, severity=evil
    )
    summary(run, "EdgeEvaluator")["models"][3].update(scheme=evil, reasons=[evil], passed=False)
    run["nodes"][7]["outputs"]["evaluation"].update(type=evil, uri=evil, digest=evil)
    run["nodes"][8]["id"] = evil
    html = report_of(tmp_path, run, extra_feature=evil)
    page = Page(html)
    assert page.tags.count("script") == 1 and "img" not in page.tags
    assert not [attribute for attribute in page.attributes if attribute[1].startswith("on")]
    assert "{{ 7*7 }}" in page.text and "49" not in html.split("<body>")[1].split("7*7")[1][:8]


def test_the_page_loads_nothing_and_allows_its_own_script_only(tmp_path):
    import base64
    import hashlib

    html = report_of(tmp_path, sample.sample_run())
    page = Page(html)
    assert not [
        value
        for _, name, value in page.attributes
        if name in ("src", "href", "xlink:href", "action") and not value.startswith("#")
    ]
    assert "url(" not in html and "@import" not in html
    policy = next(value for _, name, value in page.attributes if name == "content" and "script-src" in value)
    script = re.search(r"<script>(.*?)</script>", html, re.S).group(1)
    assert f"script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none'")


def test_a_stopped_run_shows_the_error_its_fix_and_what_was_not_reached(tmp_path):
    text = Page(report_of(tmp_path, sample.stopped_run())).text
    for shown in (
        "✕ failed",
        "HR-DATA-012 column 'carrier' has values that the schema does not know",
        "headrace schema approve flights --add carrier=XX",
        "docs/errors.md#hr-data-012",
        "ExampleValidator stopped · 0.2 s",
        "Pusher skipped",
        "not reached",
        "1 of 12 nodes ran, 2 cached, 1 stopped, 8 not run",
        "Features",
    ):
        assert shown in text, shown
    assert "TFLite models" not in text and "Slices" not in text


def test_the_time_to_load_tensorflow_is_told_apart_from_the_node(tmp_path):
    run = sample.sample_run()
    run["nodes"][1]["loading_s"] = 11.4
    assert "after 11 s of loading TensorFlow and TFX" in Page(report_of(tmp_path, run)).text


def test_an_unblessed_run_shows_each_failed_check(tmp_path):
    text = Page(report_of(tmp_path, sample.unblessed_run())).text
    assert "not blessed: 2 of 16 checks failed" in text
    assert "auc 0.611 (≥ 0.630)" in text and "auc -0.053 against version 6 (≥ 0)" in text


def test_records_with_next_to_nothing_still_make_a_report(tmp_path):
    for number, run in enumerate(
        (
            {},
            {"nodes": []},
            {"nodes": [{"id": "A", "status": "running"}]},
            {"nodes": [{"id": "Evaluator", "status": "ran", "summary": {"metrics": {"overall": {}}}}]},
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "run.json").write_text(json.dumps(run))
        assert "Configuration" in Page(write_report(folder).read_text()).text


def test_a_running_run_shows_what_is_still_to_come(tmp_path):
    run = sample.sample_run()
    run.update(status="running", ended=None)
    for node in run["nodes"][4:]:
        node.update(status="pending", elapsed_s=None, started=None, summary={}, outputs={}, key=None, parts={})
    text = Page(report_of(tmp_path, run)).text
    assert "… running" in text and "Transform pending" in text and "not yet" in text


def test_not_a_number_values_are_drawn_as_gaps_and_words(tmp_path):
    run = sample.sample_run()
    summary(run, "Trainer")["history"] = {
        "loss": [float("nan"), 1.0, 2.0, None, 0.5],
        "val_loss": [],
        "accuracy": [float("inf")],
    }
    summary(run, "Evaluator")["metrics"]["overall"]["auc"] = float("nan")
    summary(run, "Evaluator")["metrics"]["carrier=OO"]["auc"] = None
    html = report_of(tmp_path, run)
    path = re.search(r'<path class="line train" d="([^"]*)"', html).group(1)
    assert path.count("M") == 2 and path.count("L") == 1
    assert (
        "auc NaN" in Page(html).text
        and "nan" not in path
        and "inf" not in html.split("<body>")[1].split("Why each")[0].replace("infra", "")
    )


@pytest.mark.parametrize("damage", ["removed", "truncated", "emptied"])
def test_missing_or_damaged_statistics_are_said_in_words(tmp_path, damage):
    run_dir = sample.write_run(tmp_path, sample.sample_run())
    folder = tmp_path / "runs/flights/artifacts/StatisticsGen/statistics/1"
    target = folder / "Split-eval/FeatureStats.pb"
    if damage == "removed":
        shutil.rmtree(folder)
    else:
        target.write_bytes(b"\xff\xff\x00rubbish" if damage == "truncated" else b"")
    text = Page(write_report(run_dir).read_text()).text
    expected = {
        "removed": "no statistics in",
        "truncated": "the statistics of split eval cannot be read",
        "emptied": "Features",
    }[damage]
    assert expected in text


def test_why_a_node_ran_is_taken_from_the_run_before(tmp_path):
    before = sample.sample_run(run_id="2026-11-29-090000")
    for node in before["nodes"]:
        node["status"] = "ran"
        if node["id"] == "Trainer":
            node["parts"]["config"] = {"train.epochs": 3}
        if node["id"] == "Transform":
            node["parts"]["code"] = "0000"
    sample.write_run(tmp_path, before)
    (tmp_path / "runs/flights/2026-11-28-090000").mkdir()
    (tmp_path / "runs/flights/2026-11-28-090000/run.json").write_text("{half")
    text = Page(report_of(tmp_path, sample.sample_run())).text
    assert "Trainer ✓ ran config train.epochs 3 -> 4 changed 2026-11-29-090000" in text
    assert "Transform ✓ ran code changed 2026-11-29-090000" in text
    assert "StatisticsGen = cached code, configuration, inputs and stack are the same 2026-11-29-090000" in text


def test_the_report_replaces_an_earlier_one_and_leaves_no_partial_file(tmp_path):
    run_dir = sample.write_run(tmp_path, sample.sample_run())
    (run_dir / "report.html").write_text("old")
    write_report(run_dir)
    assert sorted(path.name for path in run_dir.iterdir()) == ["report.html", "run.json"]
    assert (run_dir / "report.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("content", [None, "", "{half", "[1]", "\x00"])
def test_a_run_record_that_cannot_be_read_is_a_coded_error(tmp_path, content):
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(HeadraceError) as raised:
        write_report(tmp_path)
    assert raised.value.code == "HR-REPORT-001"


def test_a_report_that_cannot_be_written_is_a_coded_error(tmp_path, monkeypatch):
    import errno
    import os

    run_dir = sample.write_run(tmp_path, sample.sample_run())

    def full(self, *args, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(HeadraceError) as raised:
        write_report(run_dir)
    assert raised.value.code == "HR-SYS-001"
    assert [path.name for path in run_dir.iterdir()] == ["run.json"]


def test_no_tensorflow_and_no_jinja_is_imported_before_it_is_needed(tmp_path):
    run_dir = sample.write_run(tmp_path, sample.sample_run())
    code = f"""
import sys
from pathlib import Path
from pipeline.report import write_report
print({{"jinja2", "tensorflow_metadata"}} & set(sys.modules))
write_report(Path({str(run_dir)!r}))
print({{"tensorflow", "apache_beam", "tfx", "pandas", "pyarrow", "numpy", "rich"}} & set(sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]
    )
    assert done.stdout.split() == ["set()", "set()"]


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine: apt install chromium")
def test_chromium_opens_the_report_without_a_console_error(tmp_path):
    html = report_of(tmp_path, sample.sample_run())
    dom, console = open_in_browser(tmp_path / "runs/flights/2026-11-30-153000/report.html", tmp_path / "profile")
    assert console == []
    assert dom.count("data-ready") == html.count('class="sortable') == 3  # the script ran under the page's own policy
    assert "<button" not in html and dom.count("<button") > 10


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine: apt install chromium")
def test_pressing_a_header_sorts_the_slices_in_chromium(tmp_path):
    html = report_of(tmp_path, sample.sample_run())
    press = """<script>
        const heads = document.querySelectorAll("table.slices th button");
        for (const column of [1, 1, 1, 2, 1]) heads[column].click();
    </script>"""
    copy_path = tmp_path / "pressed.html"
    copy_path.write_text(
        re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html).replace("</body>", press + "</body>"),
        encoding="utf-8",
    )
    dom, console = open_in_browser(copy_path, tmp_path / "profile")
    table = re.search(r'<table class="sortable slices".*?</table>', dom, re.S).group(0)
    rows = [float(value) for value in re.findall(r'<td class="n" data-v="([\d.]+)">[\d,]+</td>', table)]
    assert console == []
    assert len(rows) == 20 and rows == sorted(rows, reverse=True)
    assert table.count('aria-sort="descending"') == 1


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine: apt install chromium")
def test_hostile_names_do_nothing_in_chromium(tmp_path):
    evil = "\"'><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    run = sample.stopped_run()
    run["command"] = run["error"]["what"] = evil
    run["config"][evil] = evil
    report_of(tmp_path, run, extra_feature=evil)
    dom, console = open_in_browser(tmp_path / "runs/flights/2026-11-30-160000/report.html", tmp_path / "profile")
    assert console == []
    assert "<title>owned" not in dom and "<img" not in dom
