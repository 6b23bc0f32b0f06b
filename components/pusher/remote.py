"""Pushes a SavedModel as the next numbered version of a folder in an object store, such as s3://bucket/serving.

An object store has no rename and no lock. A number is claimed by making an object that must not exist yet;
`saved_model.pb` is written last, so that a model server that looks too early finds no model there and looks again.
"""

from __future__ import annotations

import json
import os
import re
import tempfile

from components.digest import tree_digest, tree_files
from components.pusher.push import Pushed, differs, require_saved_model
from components.reporting import progress

CLAIMS = ".claims"
LAST = "saved_model.pb"
TRIES = 20


def push_remote(model_dir: str, base_dir: str) -> Pushed:
    """Copy a SavedModel to `base_dir/<next version>`, unless the highest version has the same bytes.

    Args:
        model_dir: folder with `saved_model.pb`, on this machine.
        base_dir: address of the folder of the numbered versions.

    Raises: HR-PUSH-002, HR-PUSH-003.
    """
    import fsspec

    require_saved_model(model_dir)
    store, base = fsspec.core.url_to_fs(base_dir, use_listings_cache=False)
    digest = tree_digest(model_dir)
    claims = _claims(store, base)
    served = {number: claim for number, claim in claims.items() if store.exists(f"{base}/{number}/{LAST}")}
    newest = max(served, default=0)
    if served and served[newest].get("digest") == digest:
        return Pushed(newest, f"{base_dir}/{newest}", False, f"version {newest} has the same bytes")
    version = _claim(store, base, max(claims, default=0) + 1, digest)
    files = sorted(tree_files(model_dir), key=lambda name: (name == LAST, name))
    for done, name in enumerate(files):
        progress(done / len(files), name)
        store.put_file(os.path.join(model_dir, name), f"{base}/{version}/{name}")
    _verify(store, f"{base}/{version}", files, digest)
    return Pushed(version, f"{base_dir}/{version}", True)


def _claims(store, base: str) -> dict[int, dict]:
    """Return what each claimed number was claimed for; numbers that another tool pushed count as claimed."""
    found: dict[int, dict] = {}
    for path in store.ls(base, detail=False) if store.exists(base) else []:
        name = os.path.basename(path.rstrip("/"))
        if re.fullmatch(r"[0-9]{1,18}", name):
            found[int(name)] = {}
    for path in store.find(f"{base}/{CLAIMS}"):  # also names the folder itself while its first object is written
        if claimed := re.fullmatch(r"([0-9]{1,18})\.json", os.path.basename(path)):
            found[int(claimed[1])] = json.loads(store.cat_file(path))
    return found


def _claim(store, base: str, version: int, digest: str) -> int:
    """Return the first number from `version` on that this call has claimed."""
    for number in range(version, version + TRIES):
        try:
            store.pipe_file(f"{base}/{CLAIMS}/{number}.json", json.dumps({"digest": digest}).encode(), mode="create")
            return number
        except FileExistsError:
            continue
    raise AssertionError(f"{TRIES} pushes at once")


def _verify(store, folder: str, files: list[str], digest: str) -> None:
    with tempfile.TemporaryDirectory(prefix="headrace-push-") as copy:
        targets = [os.path.join(copy, name) for name in files]
        for target in targets:
            os.makedirs(os.path.dirname(target), exist_ok=True)
        store.get([f"{folder}/{name}" for name in files], targets)
        found = tree_digest(copy)
    if found != digest:
        store.rm(folder, recursive=True)
        raise differs(found, digest)
