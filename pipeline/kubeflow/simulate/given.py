"""Secrets and ConfigMaps from the command line."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from pathlib import Path

from pipeline.errors import HeadraceError, bounded

Values = dict[str, dict[str, str]]


def read_given(items: Iterable[str], path: str | None) -> tuple[Values, Values]:
    """Return secrets and ConfigMaps, name -> key -> value; an item wins over the file.

    Args:
        items: `NAME/KEY=VALUE`, secrets.
        path: YAML file of Secrets and ConfigMaps, or of a List of them.

    Raises:
        HeadraceError: HR-KFP-095.
    """
    secrets: Values = {}
    config_maps: Values = {}
    for manifest in _manifests(path) if path else ():
        target = secrets if manifest["kind"] == "Secret" else config_maps
        target.setdefault(manifest["metadata"]["name"], {}).update(_values(manifest, str(path)))
    for item in items:
        place, separator, value = item.partition("=")
        name, slash, key = place.partition("/")
        if not (separator and slash and name and key):
            raise _unreadable(f"--secret {place}", "no NAME/KEY=VALUE", "--secret database/password=...")
        secrets.setdefault(name, {})[key] = value
    return secrets, config_maps


def _manifests(path: str) -> Iterator[dict]:
    import yaml

    try:
        documents = list(yaml.safe_load_all(Path(path).read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _unreadable(path, error) from None
    for document in documents:
        is_list = isinstance(document, dict) and document.get("kind") == "List"
        for manifest in document.get("items", []) if is_list else [document]:
            if manifest is None:
                continue
            kind = manifest.get("kind") if isinstance(manifest, dict) else type(manifest).__name__
            if kind not in ("Secret", "ConfigMap") or not isinstance(manifest.get("metadata", {}).get("name"), str):
                raise _unreadable(path, f"a {kind} instead of a Secret or ConfigMap with a name")
            yield manifest


def _values(manifest: dict, path: str) -> dict[str, str]:
    data = {key: str(value) for key, value in (manifest.get("data") or {}).items()}
    if manifest["kind"] == "ConfigMap":
        return data
    try:
        decoded = {key: base64.b64decode(value, validate=True).decode() for key, value in data.items()}
    except (binascii.Error, UnicodeDecodeError):
        raise _unreadable(path, f"data of {manifest['metadata']['name']} is no text in base64") from None
    return decoded | {key: str(value) for key, value in (manifest.get("stringData") or {}).items()}


def _unreadable(what: str, seen: object, fix: str = "kubectl get secret NAME -o yaml > FILE.yaml") -> HeadraceError:
    return HeadraceError(
        "HR-KFP-095",
        f"cannot read secrets from {what}",
        seen=[bounded(seen, 200)],
        expected="NAME/KEY=VALUE, or YAML of kind Secret, ConfigMap or List",
        fix=[fix],
    )
