import threading

import pytest

from pipeline.errors import HeadraceError
from pipeline.serving.status import Code, ServingError
from pipeline.serving.storage import LOAD_ATTEMPTS, ModelManager, latest_version, version_folders


class FakeModel:
    """Stands for a loaded model: it knows its path and whether it was closed."""

    def __init__(self, path):
        self.path = path
        self.closed = False

    def close(self):
        self.closed = True


class Loader:
    """Makes fake models and fails on paths it is told to fail on."""

    def __init__(self):
        self.broken = set()
        self.models = []

    def __call__(self, path):
        if path.rsplit("/", 1)[1] in self.broken:
            raise ServingError(Code.NOT_FOUND, f"no saved_model.pb in {path}")
        self.models.append(FakeModel(path))
        return self.models[-1]


@pytest.fixture
def said():
    return []


@pytest.fixture
def manager(tmp_path, said):
    base = tmp_path / "base"
    base.mkdir()
    loader = Loader()
    manager = ModelManager("m", str(base), said.append, loader)
    manager.base, manager.loader = base, loader
    yield manager
    manager.stop()


def states(manager):
    return {status.version: status.state for status in manager.statuses("m")}


def serving(manager):
    with manager.acquire("m") as handle:
        return handle.version


def test_only_children_named_as_integers_are_versions(tmp_path):
    for name in ("1", "00042", ".tmp-3", "4.partial", "v5", "6a", " 7", "+8", "9" * 20):
        (tmp_path / name).mkdir()
    assert {number: path.rsplit("/", 1)[1] for number, path in version_folders(str(tmp_path)).items()} == {
        1: "1",
        42: "00042",
    }
    assert latest_version(str(tmp_path)) == str(tmp_path / "00042")


def test_a_base_path_without_versions_is_a_coded_error(tmp_path, manager):
    (manager.base / ".tmp-3").mkdir()
    with pytest.raises(HeadraceError, match="HR-SERVE-002") as error:
        manager.load_first()
    assert ".tmp-3" in error.value.seen[0]
    with pytest.raises(HeadraceError, match="HR-SERVE-002"):
        latest_version(str(tmp_path / "absent"))


def test_a_first_version_that_does_not_load_is_a_coded_error(manager):
    (manager.base / "1").mkdir()
    manager.loader.broken.add("1")
    with pytest.raises(HeadraceError, match="HR-SERVE-003") as error:
        manager.load_first()
    assert "no saved_model.pb" in error.value.seen[0]


def test_the_highest_version_serves_and_the_one_before_it_is_unloaded(manager, said):
    (manager.base / "9").mkdir()
    assert manager.load_first() == 9
    (manager.base / "10").mkdir()  # higher as a number, lower as text
    manager.poll()
    assert serving(manager) == 10
    assert states(manager) == {10: "AVAILABLE", 9: "END"}
    assert [model.closed for model in manager.loader.models] == [True, False]
    assert [line.split(" (")[0] for line in said] == ["version 9 serves", "version 10 serves", "version 9 unloaded"]


def test_a_request_in_flight_keeps_its_version_until_it_ends(manager):
    (manager.base / "1").mkdir()
    manager.load_first()
    with manager.acquire("m") as old:
        (manager.base / "2").mkdir()
        manager.poll()
        assert states(manager) == {2: "AVAILABLE", 1: "UNLOADING"}
        assert not old.model.closed
        assert serving(manager) == 2
        with (
            pytest.raises(ServingError, match=r"Servable not found for request: Specific\(m, 1\)"),
            manager.acquire("m", 1),
        ):
            pass
    assert old.model.closed
    assert states(manager) == {2: "AVAILABLE", 1: "END"}


def test_a_version_that_does_not_load_leaves_the_one_before_it_serving(manager, said):
    (manager.base / "1").mkdir()
    manager.load_first()
    manager.loader.broken.add("2")
    (manager.base / "2").mkdir()
    manager.poll()
    assert (serving(manager), states(manager)) == (1, {2: "LOADING", 1: "AVAILABLE"})
    for _ in range(LOAD_ATTEMPTS):
        manager.poll()
    assert (serving(manager), states(manager)) == (1, {2: "END", 1: "AVAILABLE"})
    status = manager.statuses("m", 2)[0]
    assert status.code == Code.NOT_FOUND and "no saved_model.pb" in status.message
    assert len([line for line in said if "version 2" in line]) == 2  # first and last attempt, not each


def test_a_folder_that_changes_is_tried_again(manager):
    (manager.base / "1").mkdir()
    manager.load_first()
    manager.loader.broken.add("2")
    (manager.base / "2").mkdir()
    for _ in range(LOAD_ATTEMPTS + 1):
        manager.poll()
    manager.loader.broken.clear()
    manager.poll()
    assert serving(manager) == 1
    (manager.base / "2" / "saved_model.pb").write_text("now it is whole")
    manager.poll()
    assert serving(manager) == 2


def test_removing_the_newest_folder_goes_back_to_the_version_before_it(manager):
    for name in ("1", "2"):
        (manager.base / name).mkdir()
    assert manager.load_first() == 2
    (manager.base / "2").rmdir()
    manager.poll()
    assert (serving(manager), states(manager)) == (1, {2: "END", 1: "AVAILABLE"})
    (manager.base / "2").mkdir()
    manager.poll()
    assert (serving(manager), states(manager)) == (2, {2: "AVAILABLE", 1: "END"})


def test_an_empty_base_path_unloads_everything_but_a_missing_one_nothing(manager, said):
    (manager.base / "1").mkdir()
    manager.load_first()
    away = manager.base.rename(manager.base.parent / "away")
    manager.poll()
    manager.poll()
    assert serving(manager) == 1
    assert len([line for line in said if "Could not find base path" in line]) == 1
    away.rename(manager.base)
    (manager.base / "1").rmdir()
    manager.poll()
    with pytest.raises(ServingError, match=r"Servable not found for request: Latest\(m\)"):
        serving(manager)


@pytest.mark.parametrize(
    ("request_for", "code", "message"),
    [
        (("other", None, None), Code.NOT_FOUND, "Servable not found for request: Latest(other)"),
        (("m", 7, None), Code.NOT_FOUND, "Servable not found for request: Specific(m, 7)"),
        (("m", None, "canary"), Code.INVALID_ARGUMENT, "Unrecognized servable version label: canary"),
        (("", None, None), Code.INVALID_ARGUMENT, "ModelSpec has no name specified."),
    ],
)
def test_a_request_for_what_is_not_served_gets_the_text_of_tensorflow_serving(manager, request_for, code, message):
    (manager.base / "1").mkdir()
    manager.load_first()
    with pytest.raises(ServingError) as error, manager.acquire(*request_for):
        pass
    assert (error.value.code, error.value.message) == (code, message)


def test_the_status_of_what_was_never_seen_is_not_found(manager):
    with pytest.raises(ServingError, match="Could not find any versions of model m"):
        manager.statuses("m")
    (manager.base / "1").mkdir()
    manager.load_first()
    with pytest.raises(ServingError, match="Could not find version 3 of model m"):
        manager.statuses("m", 3)


def test_swapping_under_many_threads_closes_each_version_once_and_never_early(manager):
    (manager.base / "1").mkdir()
    manager.load_first()
    stop, failures, seen = threading.Event(), [], set()

    def ask():
        while not stop.is_set():
            with manager.acquire("m") as handle:
                seen.add(handle.version)
                if handle.model.closed:
                    failures.append(handle.version)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(2, 40):
        (manager.base / str(number)).mkdir()
        manager.poll()
    stop.set()
    for thread in threads:
        thread.join(10)
    assert failures == []
    assert len(seen) > 1
    assert sum(not model.closed for model in manager.loader.models) == 1
