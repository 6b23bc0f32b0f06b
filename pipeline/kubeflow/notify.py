"""The last step of a run: tells a webhook how the run ended, whatever way it did.

    python -m pipeline.kubeflow.notify --executor-input '{{$}}'

The address is a secret, in HEADRACE_NOTIFY_URL. The body is JSON with `text`, which Slack, Mattermost and Teams' own
webhooks show, and the same as fields.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request

import click

from pipeline.errors import HeadraceError, bounded
from pipeline.kubeflow.executor_input import ExecutorInput
from pipeline.kubeflow.step import exit_with

TIMEOUT_S = 10.0


@click.command()
@click.option("--executor-input", required=True)
def main(executor_input: str) -> None:
    """Tell how the run ended."""
    exit_with(lambda: notify(ExecutorInput.parse(executor_input), os.environ))


def notify(executor_input: ExecutorInput, environ) -> None:
    """Post how the run ended.

    Raises:
        HeadraceError: HR-KFP-032 when nobody could be told; the run itself stays as it ended.
    """
    message = body(executor_input)
    print(message["text"])
    address = environ.get("HEADRACE_NOTIFY_URL", "")
    request = urllib.request.Request(
        address or "missing:", json.dumps(message).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S):
            return
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise HeadraceError(
            "HR-KFP-032",
            "the webhook could not be told how the run ended",
            seen=[bounded(error).replace(address, "<address>") if address else "HEADRACE_NOTIFY_URL is empty"],
            expected="a webhook that takes a POST with JSON",
            fix=["check the secret that kubernetes.notify names"],
        ) from None


def body(executor_input: ExecutorInput) -> dict:
    """Return the message: pipeline, run, state, and a sentence.

    Source: kubeflow/pipelines api/v2alpha1/pipeline_spec.proto, PipelineTaskFinalStatus.
    """
    status = executor_input.parameters.get("status")
    status = status if isinstance(status, dict) else {}
    resource = str(status.get("pipelineJobResourceName", ""))
    state = str(status.get("state", "UNKNOWN"))
    # RUNNING is told too, of a run whose pod was killed: only COMPLETE is a success
    ended = "succeeded" if state in ("COMPLETE", "SUCCEEDED") else "failed"
    name = resource.rpartition("/")[2] or executor_input.run_id
    return {
        "text": f"headrace: {name} {ended}, run {executor_input.run_id}",
        "pipeline": name,
        "run_id": executor_input.run_id,
        "state": ended,
    }


if __name__ == "__main__":
    main()
