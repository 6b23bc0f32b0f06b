"""Run a child job of a step: start it or take it over, follow it, remove it."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator

from pipeline.errors import HeadraceError
from pipeline.kubeflow.jobs import taking
from pipeline.kubeflow.jobs.api import KubernetesApi
from pipeline.kubeflow.jobs.child import ChildJob
from pipeline.kubeflow.jobs.following import Followed
from pipeline.kubeflow.jobs.manifest import manifest
from pipeline.kubeflow.jobs.waits import Patience

UNREACHABLE = "HR-KFP-081"
TERMINATED = 128 + signal.SIGTERM


def run_child_job(
    job: ChildJob,
    api: KubernetesApi | None = None,
    on_line: Callable[[str], None] = print,
    patience: Patience | None = None,
) -> None:
    """Return once all workers have ended well. In every case the job is deleted, also when SIGTERM ends the step.

    Only where the API server does not answer any more, the job is left for the next attempt, which takes it over.

    Args:
        api: of the cluster; that of the pod by default.
        on_line: called, by this thread only, with each line of the chief's log and of what happens to the job.

    Raises:
        HeadraceError: HR-KFP-071 to HR-KFP-084, HR-KFP-087 to HR-KFP-089.
    """
    manifest(job)  # what is wrong with the settings is said before the cluster is asked
    api = api or KubernetesApi.connect()
    patience = patience or Patience()
    with ending_on_sigterm():
        removing = True
        try:
            found = taking.take(job, api, on_line, patience.leave_s)
            Followed(job, api, on_line, patience, found).follow()
        except HeadraceError as error:
            removing = error.code != UNREACHABLE
            raise
        finally:
            if removing:
                taking.remove(job, api, on_line)


@contextlib.contextmanager
def ending_on_sigterm() -> Iterator[None]:
    """Turn SIGTERM into an exception where it would end the process at once; a handler that is there is kept."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def end(number: int, frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one would end the removal of the job
        sys.exit(TERMINATED)

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
