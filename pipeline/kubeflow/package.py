"""The two documents that Kubeflow Pipelines takes: the pipeline spec 2.1.0 and the Kubernetes platform spec."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from components.digest import text_digest
from pipeline.errors import HeadraceError, bounded

SCHEMA_VERSION = "2.1.0"  # the only one that KFP 2.14 to 2.17 accept


@dataclass(frozen=True)
class Package:
    """A compiled pipeline.

    Args:
        pipeline: the PipelineSpec as plain JSON values.
        platform: `{"platforms": {"kubernetes": ...}}`; empty when no step needs it.
    """

    pipeline: dict
    platform: dict

    @property
    def name(self) -> str:
        """The pipeline's name."""
        return self.pipeline["pipelineInfo"]["name"]

    def text(self) -> str:
        """Return the YAML file: keys sorted, lines never folded, so that equal pipelines are equal bytes."""
        return dump([self.pipeline, self.platform] if self.platform else [self.pipeline])

    def sha256(self) -> str:
        """Return the digest of the file's text as hex."""
        return text_digest(self.text())


def dump(documents: list[dict]) -> str:
    """Return documents as YAML, the same bytes each time."""
    import yaml

    return yaml.dump_all(documents, Dumper=_dumper(), sort_keys=True, width=float("inf"), allow_unicode=True)


def read_package(path: str | Path) -> Package:
    """Read a compiled pipeline.

    Raises:
        HeadraceError: HR-KFP-001 when the file is missing, no YAML, or not one pipeline spec and at most one platform
            spec.
    """
    import yaml

    try:
        text = Path(path).read_text(encoding="utf-8")
        documents = [found for found in yaml.load_all(text, Loader=_loader()) if found is not None]
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _unreadable(path, bounded(error)) from None
    if not documents or not all(isinstance(document, dict) for document in documents):
        raise _unreadable(path, "the file holds no mappings")
    platforms = [document for document in documents if "platforms" in document]
    pipelines = [document for document in documents if "platforms" not in document]
    if len(pipelines) != 1 or len(platforms) > 1:
        raise _unreadable(path, f"{len(pipelines)} pipeline specs and {len(platforms)} platform specs")
    return Package(pipelines[0], platforms[0] if platforms else {})


def _unreadable(path: str | Path, seen: str) -> HeadraceError:
    return HeadraceError(
        "HR-KFP-001",
        f"{path} is not a compiled pipeline",
        seen=[seen],
        expected="YAML with one pipeline spec and at most one Kubernetes platform spec",
        fix=["headrace kubeflow compile TASK -o FILE"],
    )


def _dumper():
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data) -> bool:
            return True  # an anchor would make the text depend on which objects happen to be shared

    return Dumper


def _loader():
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)
