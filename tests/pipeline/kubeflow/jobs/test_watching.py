"""Watches and logs over connections that end."""

import itertools
import threading

import pytest

from pipeline.kubeflow.jobs import watching
from tests.pipeline.kubeflow.jobs.conftest import Running, child_job
from tests.pipeline.kubeflow.jobs.fake_kubernetes import JOBSETS, PODS, Fault


@pytest.fixture
def stopped():
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def pods(cluster, stopped):
    """What happens to pods, one change after the other."""
    found = watching.changes(cluster.api(), watching.PODS, "team", stopped, window_s=2, labelSelector="of=us")
    return ((change, pod["metadata"]["name"]) for change, pod in found)


def put(cluster, name, change="ADDED", of="us"):
    with cluster.changed:
        body = cluster.objects.get((PODS, "team", name), {"metadata": {"name": name, "labels": {"of": of}}})
        return cluster.put(PODS, "team", body, change)


def test_what_is_there_comes_first_then_what_changes(cluster, pods):
    put(cluster, "a")
    put(cluster, "of others", of="others")
    assert next(pods) == ("ADDED", "a")
    put(cluster, "b")
    put(cluster, "a", "MODIFIED")
    cluster.remove(PODS, cluster.objects[PODS, "team", "b"])
    assert list(itertools.islice(pods, 3)) == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]


def test_a_version_that_is_forgotten_leads_to_a_new_list_without_repeats(cluster, pods):
    for name in "abc":
        put(cluster, name)
    assert len(list(itertools.islice(pods, 3))) == 3
    cluster.faults.append(Fault("watch", PODS, 410, "too old resource version"))
    put(cluster, "b", "MODIFIED")
    cluster.remove(PODS, cluster.objects[PODS, "team", "c"])
    put(cluster, "d")
    assert sorted(itertools.islice(pods, 3)) == [("ADDED", "d"), ("DELETED", "c"), ("MODIFIED", "b")]
    assert len(cluster.requests("list", PODS)) == 2


def test_a_watch_that_turns_gone_while_it_runs_is_begun_anew(cluster, pods):
    put(cluster, "a")
    assert next(pods) == ("ADDED", "a")
    put(cluster, "b")
    assert next(pods) == ("ADDED", "b")
    cluster.forget_history()
    put(cluster, "c")
    assert next(pods) == ("ADDED", "c")
    assert len(cluster.requests("list", PODS)) == 2


def test_a_watch_whose_connection_breaks_is_begun_anew(cluster, pods):
    put(cluster, "a")
    assert next(pods) == ("ADDED", "a")
    cluster.faults.append(Fault("watch", PODS, "drop", after=0))
    put(cluster, "b")
    assert next(pods) == ("ADDED", "b")
    assert len(cluster.requests("list", PODS)) == 2


def test_a_window_that_is_over_goes_on_from_its_last_version(cluster, stopped):
    put(cluster, "a")
    found = watching.changes(cluster.api(), watching.PODS, "team", stopped, window_s=1)
    next(found)
    timer = threading.Timer(1.5, put, (cluster, "b"))
    timer.start()
    change, pod = next(found)
    assert (change, pod["metadata"]["name"]) == ("ADDED", "b")
    assert len(cluster.requests("list", PODS)) == 1
    assert len(cluster.requests("watch", PODS)) == 2
    timer.join()


def test_a_broken_log_is_resumed_without_a_line_lost_or_repeated(cluster):
    cluster.faults.append(Fault("log", PODS, "drop", after=3, count=2))
    running = Running(child_job(), cluster.api())
    cluster.starts(0)
    cluster.starts(1)
    written = ["same", "same", "other", "same", "last"]
    cluster.writes(0, *written, stamp="2026-01-01T00:00:00.5Z")
    cluster.wait_for(lambda: len(cluster.requests("log", PODS)) >= 3)
    cluster.writes(0, "after", stamp="2026-01-01T00:00:01.5Z")
    cluster.ends(0)
    cluster.ends(1)
    assert running.end() is None
    assert running.lines[1:] == [*written, "after"]
    assert [query.get("sinceTime") for query in cluster.requests("log", PODS)][:3] == [
        None,
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00Z",
    ]


def test_a_log_of_a_zone_other_than_utc_keeps_its_zone(cluster, stopped):
    cluster.create(JOBSETS, "team", _jobset())
    cluster.starts(0)
    cluster.faults.append(Fault("log", PODS, "drop", after=1))
    cluster.writes(0, "one", "two", stamp="2026-01-01T00:00:00.123+02:00")
    cluster.ends(0)
    name = cluster.pod(0)["metadata"]["name"]
    assert list(watching.log_lines(cluster.api(), "team", name, stopped)) == ["one", "two"]
    assert cluster.requests("log", PODS)[1]["sinceTime"] == "2026-01-01T00:00:00+02:00"


def test_the_log_of_a_pod_that_is_gone_is_empty(cluster, stopped):
    assert list(watching.log_lines(cluster.api(), "team", "never-was", stopped)) == []


def _jobset():
    from pipeline.kubeflow.jobs.manifest import jobset

    return jobset(child_job())
