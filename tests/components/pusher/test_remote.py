"""Pushing to an object store, against moto's S3."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from components.pusher.remote import push_remote
from pipeline.errors import HeadraceError
from tests.object_store import BUCKET


def model(folder, text):
    (folder / "variables").mkdir(parents=True)
    (folder / "saved_model.pb").write_text(text)
    (folder / "variables" / "variables.index").write_text("index")
    return str(folder)


@pytest.fixture
def base(object_store, request):
    return f"s3://{BUCKET}/{request.node.name}/serving"


def names(object_store, base):
    root = base.removeprefix("s3://")
    return sorted(path.removeprefix(root + "/") for path in object_store.find(root))


def test_versions_are_numbered_and_the_same_bytes_are_not_pushed_again(object_store, base, tmp_path):
    first, second = model(tmp_path / "a", "one"), model(tmp_path / "b", "two")
    assert push_remote(first, base).version == 1
    assert push_remote(second, base).version == 2
    again = push_remote(second, base)
    assert (again.version, again.pushed, again.path) == (2, False, f"{base}/2")
    assert names(object_store, base) == [
        ".claims/1.json",
        ".claims/2.json",
        "1/saved_model.pb",
        "1/variables/variables.index",
        "2/saved_model.pb",
        "2/variables/variables.index",
    ]
    assert object_store.cat_file(f"{base}/2/saved_model.pb") == b"two"


def test_a_push_that_was_killed_leaves_a_gap_and_no_half_model_that_counts(object_store, base, tmp_path):
    object_store.pipe_file(f"{base}/.claims/1.json", json.dumps({"digest": "x"}).encode())
    object_store.pipe_file(f"{base}/1/variables/variables.index", b"index")
    assert push_remote(model(tmp_path / "a", "one"), base).version == 2


def test_a_version_that_another_tool_pushed_is_never_overwritten(object_store, base, tmp_path):
    object_store.pipe_file(f"{base}/7/saved_model.pb", b"theirs")
    assert push_remote(model(tmp_path / "a", "one"), base).version == 8
    assert object_store.cat_file(f"{base}/7/saved_model.pb") == b"theirs"


def test_pushes_at_once_get_numbers_of_their_own(object_store, base, tmp_path):
    models = [model(tmp_path / str(n), f"model {n}") for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        pushed = list(pool.map(lambda path: push_remote(path, base), models))
    assert sorted(p.version for p in pushed) == [1, 2, 3, 4]
    for number, found in enumerate(pushed):
        assert object_store.cat_file(f"{found.path}/saved_model.pb") == f"model {number}".encode()


def test_a_folder_without_a_model_is_refused(base, tmp_path):
    with pytest.raises(HeadraceError, match="HR-PUSH-003"):
        push_remote(str(tmp_path), base)
