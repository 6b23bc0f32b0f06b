"""Training outside of the step's pod: the plan goes to a child job's workers, their weights come back.

The workers need TensorFlow and the task's files, not TFX. The step exports the model, because the preprocessing in it
is TFT's.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from components.reporting import progress
from components.trainer.placement import Placement
from components.trainer.plan import Trained, TrainingPlan
from pipeline.config.kubernetes import KubernetesConfig, StepConfig
from pipeline.kubeflow.files import download, read_bytes, write_bytes
from pipeline.kubeflow.jobs.child import ChildJob, this_pod

WORKER = ("python", "-m", "pipeline.kubeflow.worker")
LONGEST_S = 86_400  # of one attempt at a step without timeout_s
MARGIN_S = 120
PLAN, WEIGHTS, RESULT = "plan.json", "weights.h5", "result.json"


def encode_job(step: StepConfig, cluster: KubernetesConfig) -> str:
    """Return what the step has to know of its child job, for a command line."""
    values = {
        "step": step.model_dump(mode="json", exclude_defaults=True),
        "pipeline_root": cluster.pipeline_root,
        "service_account": cluster.service_account,
        "image_pull_secrets": list(cluster.image_pull_secrets),
    }
    return base64.b64encode(json.dumps(values, sort_keys=True).encode()).decode()


def job_timeout_s(step: StepConfig) -> int:
    """Return how long the workers may take: the step's pod is ended after it, and has to say why before."""
    pod_s = step.timeout_s or LONGEST_S
    return pod_s - min(MARGIN_S, pod_s // 10)


def in_child_job(
    encoded: str, pipeline: str, run_id: str, environ: Mapping[str, str], addressed: Callable[[str], str], scratch: Path
) -> Placement:
    """Return the placement that trains in a child job.

    Args:
        encoded: from `encode_job`.
        addressed: puts the address in the object store for each local path in a text.
        scratch: folder for what comes back.
    """
    values = json.loads(base64.b64decode(encoded))
    step = StepConfig.model_validate(values["step"])

    def place(build_model: Callable, plan: TrainingPlan) -> Trained:
        from components.trainer.fit import rebuild
        from pipeline.kubeflow.jobs.run import run_child_job

        folder = f"{values['pipeline_root'].rstrip('/')}/{pipeline}/jobs/{run_id}"
        write_bytes(f"{folder}/{PLAN}", addressed(json.dumps(plan.to_dict(), sort_keys=True)).encode())
        progress(0.0, f"starting {step.workers.replicas} workers")
        run_child_job(
            ChildJob(
                run_id=run_id,
                node_id="Trainer",
                pipeline=pipeline,
                namespace=this_pod(environ).namespace,
                image=step.workers.image or step.image,
                command=[*WORKER, "--folder", folder],
                workers=step.workers,
                step=step,
                timeout_s=job_timeout_s(step),
                owner=this_pod(environ),
                service_account=values["service_account"],
                image_pull_secrets=tuple(values["image_pull_secrets"]),
            ),
            on_line=lambda line: print(line, flush=True),
        )
        download(f"{folder}/{WEIGHTS}", str(scratch))
        result = json.loads(read_bytes(f"{folder}/{RESULT}"))
        model = rebuild(build_model, plan, os.path.join(scratch, WEIGHTS))
        return Trained(model, result["history"], result["steps"], result["examples_per_s"])

    return place


def read_plan(folder: str) -> TrainingPlan:
    """Return the plan that a step left for its workers."""
    return TrainingPlan.from_dict(json.loads(read_bytes(f"{folder}/{PLAN}")))


def write_result(folder: str, trained: Trained, weights: str) -> None:
    """Leave weights and history for the step; the history last, so that it stands for both."""
    write_bytes(f"{folder}/{WEIGHTS}", Path(weights).read_bytes())
    values = {"history": trained.history, "steps": trained.steps, "examples_per_s": trained.examples_per_s}
    write_bytes(f"{folder}/{RESULT}", json.dumps(values).encode())
