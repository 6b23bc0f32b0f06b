"""The same flights work through stock TFX and through headrace, in turn, with times per node and the ratio.

    python bench/stock_tfx.py [--repeat 3] [--folder bench-work]

Like for like: the nine-column table, the same features, model, optimizer, 400 steps of 512, AUC overall and by carrier.
headrace's extra nodes (Quantizer, EdgeEvaluator, InfraValidator, and so Pusher) are off; stock's Pusher is not counted.
headrace validates on all eval rows where stock takes 100 batches. Both start from nothing: a fresh process, no cache.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# stock node -> headrace nodes that do its work
NODES = {
    "imports": ["loading"],
    "CsvExampleGen": ["ExampleGen"],
    "StatisticsGen": ["StatisticsGen"],
    "SchemaGen": ["ImportSchemaGen"],
    "ExampleValidator": ["ExampleValidator"],
    "Transform": ["Transform"],
    "Trainer": ["Trainer"],
    "Evaluator": ["LatestBlessedModel", "Evaluator"],
}


def main() -> None:
    """Run both, print the table and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=1, help="pairs of runs (default 1)")
    parser.add_argument("--folder", default="bench-work", help="scratch folder (default bench-work)")
    arguments = parser.parse_args()
    folder = Path(arguments.folder).absolute()
    table = prepare_table(folder)
    runs = {"stock": [], "headrace": []}
    for number in range(arguments.repeat):
        for name, run in (("stock", run_stock), ("headrace", run_headrace)):
            work = folder / f"{name}-{number}"
            shutil.rmtree(work, ignore_errors=True)
            runs[name].append(run(work, table))
            last = runs[name][-1]
            print(f"{name} {number + 1}/{arguments.repeat}: {last['whole']:.1f} s, auc {last['auc']:.4f}", flush=True)
    report(runs)
    (folder / "result.json").write_text(json.dumps(runs, indent=1))


def prepare_table(folder: Path) -> Path:
    """Write the nine-column table once and return its folder."""
    from pipeline.data import archive, flights

    table = folder / "table"
    if not (table / "flights.csv").exists():
        table.mkdir(parents=True, exist_ok=True)
        sdist = archive.obtain(flights.ARCHIVE, folder / "packages", lambda fraction, note: None)
        flights.write_nine_columns(sdist, table / "flights.csv")
    return table


def run_stock(work: Path, table: Path) -> dict[str, float]:
    """Run the stock pipeline in a process of its own and return seconds per node."""
    begun = time.monotonic()
    done = _process([sys.executable, str(HERE / "stock" / "pipeline.py"), str(work), str(table)], work)
    whole = time.monotonic() - begun
    seconds = {name: float(value) for name, value in re.findall(r"^NODE (\w+) ([\d.]+)$", done, re.M)}
    pushed = seconds.pop("Pusher", 0.0)
    return {**seconds, "whole": whole - pushed, "auc": _stock_auc(work)}


def run_headrace(work: Path, table: Path) -> dict[str, float]:
    """Run headrace up to the Evaluator in a process of its own and return seconds per node."""
    begun = time.monotonic()
    _process(
        [sys.executable, "-m", "pipeline.cli", "run", str(HERE / "nine"), "--to", "Evaluator", "--json",
         "--set", f"data.path={table / 'flights.csv'}", "--set", f"root={work / 'runs'}"],
        work,
    )  # fmt: skip
    whole = time.monotonic() - begun
    record = json.loads(next((work / "runs" / "nine").glob("*/run.json")).read_text())
    seconds = {node["id"]: node["elapsed_s"] for node in record["nodes"]}
    seconds["loading"] = sum(node.get("loading_s", 0.0) for node in record["nodes"])
    evaluation = next(node for node in record["nodes"] if node["id"] == "Evaluator")
    return {**seconds, "whole": whole, "auc": evaluation["summary"]["metrics"]["overall"]["auc"]}


def report(runs: dict[str, list[dict[str, float]]]) -> None:
    """Print medians per node, and the ratio of the whole with its range over the pairs."""
    print(f"\n{'node':<18} {'stock s':>9} {'headrace s':>11} {'ratio':>7}")
    for node, ours in NODES.items():
        stock = statistics.median(run.get(node, 0.0) for run in runs["stock"])
        headrace = statistics.median(sum(run.get(name, 0.0) for name in ours) for run in runs["headrace"])
        print(f"{node:<18} {stock:>9.1f} {headrace:>11.1f} {stock / headrace if headrace else float('nan'):>6.1f}x")
    ratios = [s["whole"] / h["whole"] for s, h in zip(runs["stock"], runs["headrace"], strict=True)]
    whole = {name: statistics.median(run["whole"] for run in each) for name, each in runs.items()}
    print(f"{'whole process':<18} {whole['stock']:>9.1f} {whole['headrace']:>11.1f} {statistics.median(ratios):>6.1f}x")
    print(f"ratio over {len(ratios)} pairs: {min(ratios):.2f} to {max(ratios):.2f}")


def pip_alone(work: Path) -> Path:
    """Return a folder that holds pip and nothing else: stock TFX installs its user module with it, `.venv` has none."""
    folder = work / "pip"
    found = next((ROOT / ".tools" / "venv" / "lib").glob("python*/site-packages/pip"))
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "pip").exists():
        (folder / "pip").symlink_to(found)
    return folder


def _stock_auc(work: Path) -> float:
    """Return the AUC that stock's Evaluator wrote."""
    code = (
        "import sys, tensorflow_model_analysis as tfma\n"
        "result = tfma.load_eval_result(sys.argv[1])\n"
        "metrics = dict(result.slicing_metrics)[()]\n"
        "print('AUC', metrics['']['']['auc']['doubleValue'])"
    )
    folder = next((work / "pipeline" / "Evaluator" / "evaluation").iterdir())
    return float(re.search(r"^AUC ([\d.]+)$", _process([sys.executable, "-c", code, str(folder)], work), re.M)[1])


def _process(command: list[str], work: Path) -> str:
    work.mkdir(parents=True, exist_ok=True)
    settings = {"PYTHONPATH": f"{ROOT}:{pip_alone(work)}", "TF_CPP_MIN_LOG_LEVEL": "3", "TF_USE_LEGACY_KERAS": "1"}
    environment = {**os.environ, **settings}
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed with {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done.stdout


if __name__ == "__main__":
    main()
