"""When Argo tries a pod again.

Sources: kubeflow/pipelines backend/src/v2/compiler/argocompiler/container.go getTaskRetryParametersWithValues,
getTaskRetryStrategyFromInput; argoproj/argo-workflows workflow/controller/operator.go processNodeRetries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

NEVER = 0


@dataclass(frozen=True)
class Retry:
    """A retry policy.

    Args:
        limit: attempts after the first.
        wait_s: wait before the second attempt.
        factor: each later wait is that many times the one before.
        max_duration_s: Argo's `maxDuration`. Not the longest wait: counted from the start of the first attempt, no
            attempt starts later, and one that is tried again is ended then.
    """

    limit: int = NEVER
    wait_s: float = 0.0
    factor: int = 0
    max_duration_s: float = 0.0

    @classmethod
    def of(cls, task: Mapping) -> Retry:
        """Return the policy of a task. Kubeflow passes whole seconds on, and 0 for a duration that is not there."""
        policy = task.get("retryPolicy", {})
        return cls(
            int(policy.get("maxRetryCount", 0)),
            _whole_seconds(policy.get("backoffDuration", "0s")),
            int(policy.get("backoffFactor", 0)),
            _whole_seconds(policy.get("backoffMaxDuration", "0s")),
        )

    def wait(self, attempts: int, elapsed_s: float) -> tuple[float | None, str]:
        """Return how long to wait before the next attempt, or None with the reason why there is none.

        Args:
            attempts: how many have failed.
            elapsed_s: time since the first began.
        """
        if self.limit == NEVER:
            return None, ""
        if elapsed_s > self.max_duration_s:
            return None, f"max duration limit exceeded ({self.max_duration_s:g} s)"
        wait_s = self.wait_s * (self.factor ** (attempts - 1) if self.factor > 0 else 1)
        if elapsed_s + wait_s > self.max_duration_s:
            return None, f"backoff would exceed max duration limit ({self.max_duration_s:g} s)"
        if attempts > self.limit:
            return None, "no more retries left"
        return wait_s, ""


def _whole_seconds(text: str) -> float:
    return float(int(float(text.removesuffix("s"))))
