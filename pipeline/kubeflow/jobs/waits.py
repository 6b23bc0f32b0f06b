"""What workers wait for, since when, and when that is too long."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from pipeline.kubeflow.jobs import troubles
from pipeline.kubeflow.jobs.taking import LEAVE_S
from pipeline.kubeflow.jobs.troubles import Trouble
from pipeline.kubeflow.jobs.watching import WINDOW_S


@dataclass(frozen=True)
class Patience:
    """How long a state that may pass is waited for.

    Args:
        schedule_s: for a node or room in the quota; autoscalers add a node in minutes, a TPU slice in more.
        setup_s: for an image, a secret or the right to create a pod; Kubernetes tries again by itself.
        leave_s: for an earlier attempt's job to go away.
        look_s: between two looks at the clock and the events.
        window_s: of one watch.
    """

    schedule_s: float = 900.0
    setup_s: float = 180.0
    leave_s: float = LEAVE_S
    look_s: float = 5.0
    window_s: float = WINDOW_S

    def of(self, code: str) -> float:
        """Return the patience with a worker that waits."""
        return self.schedule_s if code in (troubles.SCHEDULING, troubles.QUOTA) else self.setup_s


@dataclass
class Waits:
    """Waiting workers, by what waits: the uid of a pod, or the job that cannot create one."""

    patience: Patience
    _since: dict[str, tuple[float, Trouble]] = field(default_factory=dict)

    def note(self, who: str, trouble: Trouble | None) -> None:
        """Take in what someone waits for; None when that is over."""
        before = self._since.pop(who, None)
        if trouble:
            same = before and before[1].code == trouble.code
            self._since[who] = (before[0] if same else time.monotonic(), trouble)

    def check(self) -> None:
        """Raise the error of what has been waited for too long.

        Raises:
            HeadraceError: HR-KFP-073, HR-KFP-079, HR-KFP-082 or HR-KFP-089.
        """
        for since, trouble in self._since.values():
            waited_s = time.monotonic() - since
            if waited_s >= self.patience.of(trouble.code):
                raise troubles.waiting_error(trouble, waited_s)

    def lines(self) -> list[str]:
        """Return all that is waited for."""
        return [str(trouble) for _, trouble in self._since.values()]
