"""What a step on Kubernetes costs beside its work: imports, TFX's launcher and ML Metadata.

    .venv/bin/python bench/step_overhead.py [--runs 5]

Runs the step entry point of ImportSchemaGen, whose own work is reading one small file, as a process of its own against
a MariaDB server on loopback, beside a process that only imports the same modules. `run` is a new database each time,
`cached` a further run against the same one. Needs Debian's mariadb-server. What Kubernetes and Kubeflow add, two pods a
step, is not in it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 6.0
IMPORTS = (
    "from pipeline import environment; environment.prepare(); environment.import_launcher();"
    "import os, pipeline.run_node, components.validate.import_schema_gen; os._exit(0)"
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    sys.path.insert(0, str(ROOT))
    from pipeline import environment

    environment.prepare()
    times: dict[str, list[float]] = {"imports": [], "run": [], "cached": []}
    for number in range(runs + 1):
        for name, seconds in round_trip().items():
            if number:  # the first one warms the disk
                times[name].append(seconds)
    for name, values in times.items():
        spread = f"{min(values):.2f} to {max(values):.2f}"
        print(f"  {name:<10} {statistics.median(values):5.2f} s   {spread} over {len(values)}")
    worst = max(statistics.median(times[name]) for name in ("run", "cached"))
    print(f"  overhead of a step {worst:.2f} s, {'under' if worst < LIMIT_S else 'OVER'} {LIMIT_S:g} s")


def round_trip() -> dict[str, float]:
    """Return seconds of one import, one step that runs and one that is cached, with a database of their own."""
    from tests.e2e.cluster import Cluster
    from tests.pipeline.kubeflow import databases

    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        root = Path(folder, "root")
        root.mkdir()
        with databases.server("mysql", Path(folder, "db")) as database:
            package = Cluster(database, str(root), Path(folder)).compile("digits")
            environ = {**os.environ, **database.environ(), "PYTHONPATH": str(ROOT)}
            subprocess.run(command(package, "prepare", ""), env=environ, check=True, capture_output=True)
            return {
                "imports": timed([sys.executable, "-c", IMPORTS], environ),
                "run": timed(command(package, "importschemagen", "first"), environ),
                "cached": timed(command(package, "importschemagen", "second"), environ),
            }


def command(package, step: str, run_id: str) -> list[str]:
    """Return the command of a step, with the launcher's message for a run."""
    container = package.pipeline["deploymentSpec"]["executors"][f"exec-{step}"]["container"]
    message = json.dumps({"inputs": {"parameterValues": {"run-id": run_id}}, "outputs": {}})
    arguments = [part.replace("{{$}}", message) for part in container["args"] if not part.startswith("--page")]
    return [sys.executable, *container["command"][1:], *arguments]


def timed(words: list[str], environ: dict[str, str]) -> float:
    """Return the seconds that a command takes."""
    begun = time.monotonic()
    subprocess.run(words, env=environ, check=True, capture_output=True)
    return time.monotonic() - begun


if __name__ == "__main__":
    main()
