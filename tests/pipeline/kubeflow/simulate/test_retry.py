import pytest

from pipeline.kubeflow.simulate.retry import Retry

POLICY = {"maxRetryCount": 3, "backoffDuration": "30s", "backoffFactor": 2.0, "backoffMaxDuration": "600s"}


def test_waits_grow_by_the_factor_until_no_retry_is_left():
    retry = Retry.of({"retryPolicy": POLICY})
    assert [retry.wait(attempts, 10)[0] for attempts in (1, 2, 3)] == [30, 60, 120]
    assert retry.wait(4, 10) == (None, "no more retries left")


def test_the_longest_duration_counts_from_the_first_attempt_and_is_no_cap_of_the_wait():
    retry = Retry.of({"retryPolicy": POLICY})
    assert retry.wait(1, 601) == (None, "max duration limit exceeded (600 s)")
    assert retry.wait(1, 580) == (None, "backoff would exceed max duration limit (600 s)")


@pytest.mark.parametrize("task", [{}, {"retryPolicy": {"backoffDuration": "1s"}}])
def test_a_task_without_a_count_is_never_tried_again(task):
    assert Retry.of(task).wait(1, 0) == (None, "")


def test_a_policy_without_a_longest_duration_never_retries():
    policy = {name: value for name, value in POLICY.items() if name != "backoffMaxDuration"}
    assert Retry.of({"retryPolicy": policy}).wait(1, 0.1)[0] is None


def test_a_step_that_runs_longer_than_the_longest_duration_is_not_tried_again(play, build):
    policy = {**POLICY, "backoffDuration": "0s", "backoffMaxDuration": "1s"}
    tasks = {"a": build.step("import time, sys; time.sleep(1.2); sys.exit(1)", task={"retryPolicy": policy})}
    result = play(tasks)
    assert len(result.steps["a"].attempts) == 1
    assert result.steps["a"].message == "exit code 1; max duration limit exceeded (1 s)"
