"""Content digests of files and folders: over names and bytes, never over where they lie or when they were written."""

from __future__ import annotations

import hashlib
import json
import os

BLOCK_BYTES = 1 << 20


def file_digest(path: str) -> str:
    """Return the SHA-256 of a file's bytes as hex."""
    sha = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(BLOCK_BYTES):
            sha.update(block)
    return sha.hexdigest()


def tree_files(root: str) -> list[str]:
    """Return the paths of all files below `root`, relative to it and sorted; hidden files are left out."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [os.path.relpath(os.path.join(folder, name), root) for name in files if not name.startswith(".")]
    return sorted(found)


def tree_digest(root: str) -> str:
    """Return the digest of a file, or of a folder's relative names and bytes, as hex."""
    if os.path.isfile(root):
        return file_digest(root)
    sha = hashlib.sha256()
    for name in tree_files(root):
        sha.update(f"{name}\0{file_digest(os.path.join(root, name))}\n".encode())
    return sha.hexdigest()


def value_digest(value: object) -> str:
    """Return the digest of plain JSON values, independent of the order of keys."""
    return text_digest(json.dumps(value, sort_keys=True, ensure_ascii=False))


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes as hex."""
    return hashlib.sha256(text.encode()).hexdigest()
