"""What each pod of a child job runs: one worker of a training. Needs TensorFlow, and no TFX.

    python -m pipeline.kubeflow.worker --folder s3://bucket/headrace/flights/jobs/RUN

TF_CONFIG, which the bootstrap has set, says who the peers are; worker 0 is the chief and leaves the result.
"""

from __future__ import annotations

import json
import os
import tempfile

import click

from components import user_code
from components.reporting import Listener, listening
from components.trainer.plan import TrainingPlan
from pipeline.config.paths import is_url
from pipeline.kubeflow.files import download
from pipeline.kubeflow.step import Progress, exit_with
from pipeline.kubeflow.training import read_plan, write_result


@click.command()
@click.option("--folder", required=True)
def main(folder: str) -> None:
    """Train as one of several workers."""
    exit_with(lambda: work(folder, os.environ))


def work(folder: str, environ) -> None:
    """Fit the plan's model; the chief writes weights and history.

    Raises:
        HeadraceError: what training raises; HR-KFP-025 to HR-KFP-027.
    """
    from components.trainer.fit import fit

    index = json.loads(environ.get("TF_CONFIG") or "{}").get("task", {}).get("index", 0)
    with tempfile.TemporaryDirectory(prefix="headrace-worker-") as scratch:
        plan = _local(read_plan(folder), scratch)
        build_model = user_code.load(os.path.dirname(plan.source), os.path.basename(plan.source), "build_model")
        with listening(Listener(on_progress=Progress(f"worker {index}"))):
            trained = fit(build_model, plan)
        weights = os.path.join(scratch, "weights.h5")
        trained.model.save_weights(weights)  # every worker: variables that each holds a part of are gathered
        if index == 0:
            write_result(folder, trained, weights)


def _local(plan: TrainingPlan, scratch: str) -> TrainingPlan:
    """Return the plan with local copies of files that lie in an object store."""
    moved = {}
    for path in (*plan.train_files, *plan.eval_files):
        moved[path] = path
        if is_url(path):
            target = os.path.join(scratch, str(len(moved)))
            download(path, target)
            moved[path] = os.path.join(target, os.path.basename(path))
    values = plan.to_dict()
    for name in ("train_files", "eval_files"):
        values[name] = [moved[path] for path in values[name]]
    return TrainingPlan.from_dict(values)


if __name__ == "__main__":
    main()
