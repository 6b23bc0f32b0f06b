"""A schedule is replaced, never updated: exactly one stays, whatever the order, and at no moment none."""

import itertools
import random
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from pipeline.errors import HeadraceError
from pipeline.kubeflow.publish.client import Api
from pipeline.kubeflow.publish.experiments import experiment_id
from pipeline.kubeflow.publish.schedules import Settings, apply, delete_all, require_no_backfill
from pipeline.kubeflow.publish.timing import read_timing
from pipeline.kubeflow.publish.versions import publish
from tests.pipeline.kubeflow.publish.fake_kfp import Fault

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


def settings(api, cron="30 2 * * *", **more):
    timing = read_timing(cron, None, None, "UTC", NOW)
    more = {"parameters": {"data-span": "[[ScheduledTime]]"}, **more}
    return Settings(timing, experiment_id=experiment_id(api, "headrace"), service_account="headrace-runner", **more)


@pytest.fixture
def published(api, package):
    return publish(api, package, "v14")


def changes(server):
    return [
        (method, path.split("/")[0])
        for method, path in server.log
        if method in ("POST", "DELETE") and "recurring" in path
    ]


def test_a_schedule_is_what_was_asked_for(kfp_server, api, published):
    made = apply(api, published, settings(api))
    assert made.new and made.ours and made.deleted == ()
    (one,) = kfp_server.recurring.values()
    assert one["trigger"] == {"cron_schedule": {"cron": "0 30 2 * * *"}}
    assert (one["no_catchup"], one["max_concurrency"], one["status"]) == (True, "1", "ENABLED")
    assert one["runtime_config"] == {"parameters": {"data-span": "[[ScheduledTime]]"}}
    assert one["pipeline_version_reference"]["pipeline_version_id"] == published.version_id
    assert one["service_account"] == "headrace-runner"
    assert one["display_name"].startswith(f"{published.version}-")


def test_an_interval_is_a_periodic_schedule(kfp_server, api, published):
    timing = read_timing(None, "6h", None, "UTC", NOW)
    wanted = settings(api)
    apply(api, published, Settings(timing, {}, wanted.experiment_id, "x", start=NOW))
    (one,) = kfp_server.recurring.values()
    assert one["trigger"]["periodic_schedule"]["interval_second"] == "21600"
    assert one["trigger"]["periodic_schedule"]["start_time"].startswith("2026-12-01T12:00:00")


def test_the_same_settings_again_change_nothing(kfp_server, api, published):
    first, again = apply(api, published, settings(api)), apply(api, published, settings(api))
    assert (first.new, again.new) == (True, False)
    assert changes(kfp_server) == [("POST", "recurringruns")]


@pytest.mark.parametrize(
    "change",
    [{"cron": "31 2 * * *"}, {"parameters": {}}, {"catchup": True}, {"concurrency": 2}, {"follow_latest": True}],
    ids=str,
)
def test_any_changed_setting_makes_a_new_one_and_then_deletes_the_old(kfp_server, api, published, change):
    old = apply(api, published, settings(api)).schedule.display_name
    made = apply(api, published, settings(api, **change))
    assert made.new and made.deleted == (old,)
    assert [one["display_name"] for one in kfp_server.enabled()] == [made.schedule.display_name]
    order = changes(kfp_server)
    assert order.index(("DELETE", "recurringruns")) > 1  # a tie within a second may add a pair
    assert order[-1] == ("DELETE", "recurringruns")


def test_the_old_one_is_deleted_only_after_the_new_one_was_read_back(kfp_server, api, published):
    old = apply(api, published, settings(api)).schedule.recurring_run_id
    kfp_server.log.clear()
    new = apply(api, published, settings(api, cron="31 2 * * *")).schedule.recurring_run_id
    read, gone = ("GET", f"recurringruns/{new}"), ("DELETE", f"recurringruns/{old}")
    assert kfp_server.log.index(read) < kfp_server.log.index(gone)


def test_following_the_latest_version_outlives_a_new_version(kfp_server, api, package, other_package):
    first = apply(api, publish(api, package, "v14"), settings(api, follow_latest=True))
    second = apply(api, publish(api, other_package, "v15"), settings(api, follow_latest=True))
    assert not second.new and second.schedule.recurring_run_id == first.schedule.recurring_run_id
    (one,) = kfp_server.recurring.values()
    assert "pipeline_version_id" not in one["pipeline_version_reference"]


def test_a_new_version_replaces_a_pinned_schedule(kfp_server, api, package, other_package):
    apply(api, publish(api, package, "v14"), settings(api))
    second = publish(api, other_package, "v15")
    apply(api, second, settings(api))
    assert [one["pipeline_version_reference"]["pipeline_version_id"] for one in kfp_server.enabled()] == [
        second.version_id
    ]


def test_schedules_of_other_people_and_pipelines_stay(kfp_server, api, published):
    made = apply(api, published, settings(api)).schedule
    body = {**kfp_server.recurring[made.recurring_run_id], "mode": "ENABLE"}
    by_hand = kfp_server.recurringruns_post([], {}, {**body, "display_name": "flights-nightly", "description": "mine"})[
        1
    ]
    other = kfp_server.create_pipeline("flights-eu", "", {})
    reference = {"pipeline_id": other["pipeline_id"]}
    kfp_server.create_version(
        other["pipeline_id"], "x", {}, {"root": {"inputDefinitions": {"parameters": {"data-span": {}}}}}
    )
    theirs = {**body, "display_name": "flights-eu-v1-x", "pipeline_version_reference": reference}
    elsewhere = kfp_server.recurringruns_post([], {}, theirs)[1]
    made = apply(api, published, settings(api, cron="31 2 * * *"))
    assert len(made.deleted) == 1
    assert {by_hand["recurring_run_id"], elsewhere["recurring_run_id"]} < set(kfp_server.recurring)
    assert delete_all(api, "flights", published.pipeline_id) == [made.schedule.display_name]
    assert len(kfp_server.recurring) == 2


@pytest.mark.parametrize("status", [400, 403, 500])
def test_a_creation_that_fails_leaves_the_old_one(kfp_server, api, published, status):
    apply(api, published, settings(api))
    before = dict(kfp_server.recurring)
    kfp_server.faults = [Fault("POST", "recurringruns", status)]
    with pytest.raises(HeadraceError):
        apply(api, published, settings(api, cron="31 2 * * *"))
    assert kfp_server.recurring == before


def test_a_new_one_that_is_not_enabled_leaves_the_old_one_and_goes(kfp_server, api, published):
    apply(api, published, settings(api))
    before = dict(kfp_server.recurring)
    kfp_server.disable_new = True
    with pytest.raises(HeadraceError) as refused:
        apply(api, published, settings(api, cron="31 2 * * *"))
    assert refused.value.code == "HR-KFP-060"
    assert kfp_server.recurring == before


def test_a_schedule_switched_off_by_hand_is_replaced_by_one_that_is_on(kfp_server, api, published):
    old = apply(api, published, settings(api)).schedule.recurring_run_id
    kfp_server.recurring[old]["status"] = "DISABLED"
    made = apply(api, published, settings(api))
    assert made.new and len(made.deleted) == 1
    assert [one["recurring_run_id"] for one in kfp_server.recurring.values()] == [made.schedule.recurring_run_id]


def test_an_answer_lost_after_the_creation_makes_no_second_schedule(kfp_server, api, published):
    wanted = settings(api)
    kfp_server.faults = [Fault("POST", "recurringruns", "drop")]
    assert apply(api, published, wanted).new
    assert len(kfp_server.recurring) == 1 and len(changes(kfp_server)) == 1


class Killed(BaseException):
    """What no handler catches."""


def test_killed_between_creation_and_deletion_and_repeated_ends_with_one(kfp_server, api, published, monkeypatch):
    from pipeline.kubeflow.publish import schedules

    apply(api, published, settings(api))
    real = schedules._delete

    def die(*_):
        raise Killed

    monkeypatch.setattr(schedules, "_delete", die)
    kfp_server.clock = lambda: 2_000_000_000  # later than the old one: no tie
    with pytest.raises(Killed):
        apply(api, published, settings(api, cron="31 2 * * *"))
    assert len(kfp_server.enabled()) == 2
    monkeypatch.setattr(schedules, "_delete", real)
    again = apply(api, published, settings(api, cron="31 2 * * *"))
    assert not again.new and len(again.deleted) == 1
    assert [one["display_name"] for one in kfp_server.enabled()] == [again.schedule.display_name]


def test_going_back_after_a_kill_takes_the_settings_asked_for_last(kfp_server, api, published):
    clock = itertools.count(2_000_000_000)
    kfp_server.clock = lambda: next(clock)
    first = apply(api, published, settings(api)).schedule
    copy = dict(kfp_server.recurring[first.recurring_run_id])
    apply(api, published, settings(api, cron="31 2 * * *"))
    kfp_server.recurring[copy["recurring_run_id"]] = copy  # as if killed before the deletion
    made = apply(api, published, settings(api))
    assert made.new and len(made.deleted) == 2
    assert [one["trigger"]["cron_schedule"]["cron"] for one in kfp_server.enabled()] == ["0 30 2 * * *"]


def test_in_one_second_the_later_command_wins(kfp_server, api, published, monkeypatch):
    """The server's times are whole seconds: an id that happens to be less must not decide."""
    from pipeline.kubeflow.publish import schedules

    monkeypatch.setattr(schedules, "TIE_WAIT_S", 0)
    kfp_server.clock = lambda: 2_000_000_000
    for minute in range(12):
        ticking = iter(itertools.chain([2_000_000_000] * 6, itertools.repeat(2_000_000_000 + minute)))
        kfp_server.clock = lambda ticking=ticking: next(ticking)
        made = apply(api, published, settings(api, cron=f"{minute} 2 * * *"))
        assert made.ours
        assert [one["display_name"] for one in kfp_server.enabled()] == [made.schedule.display_name]


@pytest.mark.parametrize("seconds", [1, 1000], ids=["all in one second", "time goes on"])
def test_several_commands_at_once_end_with_exactly_one(kfp_server, connected, published, seconds):
    """Every answer is held back for a random while, so that the commands' requests come in many orders."""
    chance = random.Random(7)
    api = connected()
    apply(api, published, settings(api, cron="59 1 * * *"))
    start = 2_000_000_000
    kfp_server.after = lambda *_: time.sleep(chance.random() * 0.02)
    for _ in range(6):
        start += 100_000
        clock = itertools.count(0)
        kfp_server.clock = lambda start=start, clock=clock: start + next(clock) * seconds // 1000
        apis = [connected() for _ in range(3)]
        wanted = [settings(one, cron=f"{chance.randrange(3)} 2 * * *") for one in apis]
        done: list = []
        threads = [
            threading.Thread(target=lambda a=a, w=w, done=done: done.append(apply(a, published, w)))
            for a, w in zip(apis, wanted, strict=True)
        ]
        [thread.start() for thread in threads]
        [thread.join(60) for thread in threads]
        assert len(done) == 3
        (left,) = kfp_server.enabled()
        assert len(kfp_server.recurring) == 1
        assert left["display_name"] in {one.name(published) for one in wanted}


@dataclass(frozen=True)
class Stepped(Api):
    """A connection that makes each of its calls when it is its turn."""

    turn: object = None

    def read(self, *arguments, **named):
        return self.turn(lambda: super(Stepped, self).read(*arguments, **named))

    def find(self, *arguments, **named):
        return self.turn(lambda: super(Stepped, self).find(*arguments, **named))

    def write(self, *arguments, **named):
        return self.turn(lambda: super(Stepped, self).write(*arguments, **named))


class Turns:
    """Lets two commands make their calls in the order that `order` says: 0 or 1, as long as that one still runs."""

    def __init__(self, order):
        self.order, self.running, self.ready = list(order), {0, 1}, threading.Condition()

    def of(self, who):
        def turn(call):
            with self.ready:
                assert self.ready.wait_for(lambda: self._next() == who, 30)
                try:
                    return call()
                finally:
                    self.order.pop(0)
                    self.ready.notify_all()

        return turn

    def end(self, who):
        with self.ready:
            self.running.discard(who)
            self.ready.notify_all()

    def _next(self):
        while self.order and self.order[0] not in self.running:
            self.order.pop(0)
        if not self.order:
            self.order = sorted(self.running) * 20
        return self.order[0]


@pytest.mark.parametrize("tick", [4, 1], ids=["several in one second", "a second each"])
def test_two_commands_end_with_exactly_one_in_any_order_of_their_calls(kfp_server, api, published, monkeypatch, tick):
    """Orders of each one's first calls (list, create, read back, list); a deletion follows where it may."""
    monkeypatch.setattr("pipeline.kubeflow.publish.schedules.TIE_WAIT_S", 0)
    orders = sorted(set(itertools.permutations([0] * 4 + [1] * 4)))
    wanted = [settings(api, cron=f"{number} 2 * * *") for number in range(2)]
    for number, order in enumerate([(0, 1) * 6, (1, 0) * 6, *orders]):
        clock = itertools.count(2_000_000_000 * tick + number * 1000 * tick)
        kfp_server.clock = lambda clock=clock: next(clock) // tick
        kfp_server.recurring.clear()
        apply(api, published, settings(api, cron="59 1 * * *"))
        turns, done = Turns(order), []

        def command(who, turns=turns, done=done):
            stepped = Stepped(api.host, api.namespace, api.services, api.timeout_s, turns.of(who))
            done.append(apply(stepped, published, wanted[who]))
            turns.end(who)

        threads = [threading.Thread(target=command, args=(who,)) for who in (0, 1)]
        [thread.start() for thread in threads]
        [thread.join(60) for thread in threads]
        assert len(done) == 2
        (left,) = kfp_server.recurring.values()
        assert left["status"] == "ENABLED"
        assert left["display_name"] in {one.name(published) for one in wanted}
        assert any(one.ours for one in done)


def test_a_schedule_never_vanishes_while_it_is_replaced(kfp_server, api, published):
    counts = []
    apply(api, published, settings(api))
    kfp_server.after = lambda *_: counts.append(len(kfp_server.enabled()))
    for minute in (1, 2, 3):
        apply(api, published, settings(api, cron=f"{minute} 2 * * *"))
    assert min(counts) >= 1


@pytest.mark.parametrize(
    "missed, start", [(31, datetime(2026, 11, 1, tzinfo=UTC)), (1, datetime(2026, 12, 1, tzinfo=UTC))]
)
def test_a_backfill_says_how_many_runs_it_would_start(missed, start):
    timing = read_timing("30 2 * * *", None, None, "UTC", NOW)
    with pytest.raises(HeadraceError) as refused:
        require_no_backfill(timing, start, True, NOW)
    assert refused.value.code == "HR-KFP-058"
    assert f"{missed} times" in refused.value.what
    assert "--yes" in refused.value.fix[1]


def test_a_start_in_the_past_without_catching_up_is_refused():
    timing = read_timing(None, "1h", None, "UTC", NOW)
    with pytest.raises(HeadraceError, match="HR-KFP-055"):
        require_no_backfill(timing, datetime(2026, 11, 1, tzinfo=UTC), False, NOW)
    require_no_backfill(timing, datetime(2026, 12, 2, tzinfo=UTC), True, NOW)
    require_no_backfill(timing, None, True, NOW)
