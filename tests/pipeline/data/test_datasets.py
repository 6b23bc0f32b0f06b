"""A data set is written whole or not at all, and only once."""

import errno
import types

import pytest

from pipeline.data import datasets
from pipeline.data.datasets import fetch
from pipeline.errors import HeadraceError


@pytest.fixture
def sample(monkeypatch):
    """A data set of one small file; `calls` counts how often it is built."""
    module = types.SimpleNamespace(RECIPE=1, ARCHIVE=None, RESULT="rows.csv", calls=0)

    def build(folder, archive, progress):
        module.calls += 1
        (folder / "rows.csv").write_text("a\n1\n2\n")
        progress(0.5, "half")
        return 2, "two rows"

    module.build = build
    monkeypatch.setitem(datasets.DATASETS, "sample", module)
    return module


def test_the_second_call_does_nothing(sample, tmp_path):
    seen = []
    first = fetch("sample", tmp_path / "data", lambda share, note: seen.append((share, note)))
    assert fetch("sample", tmp_path / "data") == first
    assert (first.path, first.rows, first.note) == (tmp_path / "data" / "sample" / "rows.csv", 2, "two rows")
    assert sample.calls == 1
    assert seen == [(0.5, "half"), (1.0, "two rows")]


def test_a_lost_or_changed_file_is_written_again(sample, tmp_path):
    path = fetch("sample", tmp_path).path
    path.unlink()
    assert fetch("sample", tmp_path).path.read_text() == "a\n1\n2\n"
    path.write_text("a\n1\n")
    assert fetch("sample", tmp_path).path.read_text() == "a\n1\n2\n"
    assert sample.calls == 3


def test_a_new_recipe_writes_anew(sample, tmp_path):
    fetch("sample", tmp_path)
    sample.RECIPE = 2
    fetch("sample", tmp_path)
    assert sample.calls == 2


def test_a_failure_leaves_nothing_and_the_next_call_succeeds(sample, tmp_path):
    good = sample.build

    def fails(folder, archive, progress):
        (folder / "rows.csv").write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    sample.build = fails
    with pytest.raises(HeadraceError, match="HR-SYS-001"):
        fetch("sample", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".sample.lock"]
    sample.build = good
    assert fetch("sample", tmp_path).rows == 2


def test_what_a_killed_run_left_is_no_obstacle(sample, tmp_path):
    (tmp_path / ".sample.partial").mkdir(parents=True)
    (tmp_path / ".sample.partial" / "rows.csv").write_text("half")
    assert fetch("sample", tmp_path).path.read_text() == "a\n1\n2\n"


def test_files_of_the_user_are_never_replaced(sample, tmp_path):
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample" / "mine.csv").write_text("x")
    with pytest.raises(HeadraceError, match="HR-DATA-107") as caught:
        fetch("sample", tmp_path)
    assert caught.value.seen == ["mine.csv"]
    assert (tmp_path / "sample" / "mine.csv").read_text() == "x"


def test_each_data_set_is_described_in_one_line():
    for name in datasets.NAMES:
        assert 10 < len(datasets.describe(name)) < 100


def test_an_unknown_name_suggests_the_nearest(tmp_path):
    with pytest.raises(HeadraceError, match="HR-DATA-103") as caught:
        fetch("flihgts", tmp_path)
    assert (caught.value.fix, caught.value.exit_code) == (["headrace data flights"], 2)


def test_a_folder_that_cannot_be_made_is_named(sample, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(HeadraceError, match="HR-SYS-005") as caught:
        fetch("sample", tmp_path / "file")
    assert str(tmp_path / "file") in caught.value.what
