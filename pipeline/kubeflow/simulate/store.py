"""The object store and ML Metadata of a run, as far as a step can tell.

Sources: kubeflow/pipelines backend/src/v2/component/launcher_v2.go LocalPathForURI, uploadOutputArtifacts,
downloadArtifacts; backend/src/v2/metadata/client.go RecordArtifact, converter.go StructValueToMLMDValue.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Mapping
from pathlib import Path

from pipeline.kubeflow.simulate.model import StepError
from pipeline.kubeflow.simulate.values import kind_of

ROOT_URI = "minio://mlpipeline/v2/artifacts"  # what an installation of Kubeflow starts with
SCHEMES = {"gs://": "gcs", "minio://": "minio", "s3://": "s3"}
SESSION = (
    '{"Provider":"minio","Params":{"accessKeyKey":"accesskey","disableSSL":"true","endpoint":'
    '"minio-service.kubeflow:9000","fromEnv":"false","region":"minio","secretKeyKey":"secretkey",'
    '"secretName":"mlpipeline-minio-artifact"}}'
)


def local_path(uri: str, root: Path) -> Path | None:
    """Return where a file system has an object: `/minio/...` on a pod, here the same below `root`."""
    for scheme, folder in SCHEMES.items():
        if uri.startswith(scheme):
            return root / folder / uri.removeprefix(scheme)
    return None


class Store:
    """The objects of a run below `folder`, and the numbers of its artifacts."""

    def __init__(self, folder: Path, run_uri: str) -> None:
        self._folder, self._run_uri = folder, run_uri
        self._ids = itertools.count(1)

    def path(self, uri: str) -> Path | None:
        """Return where an object is kept; None when there is none."""
        path = local_path(uri, self._folder)
        return path if path is not None and path.exists() else None

    def upload(self, key: str, uri: str, pod_root: Path) -> str:
        """Take an output artifact from a pod; return a warning when it wrote none.

        Raises:
            StepError: the step has moved its artifact out of the run's part of the store.
        """
        source = local_path(uri, pod_root)
        if source is None:
            return f"output artifact {key!r}: {uri} is no storage address that Kubeflow knows; not uploaded"
        if not uri.startswith(f"{self._run_uri}/"):
            raise StepError(
                f'failed to upload output artifact "{key}": URI "{uri}" does not have expected bucket prefix '
                f'"{self._run_uri}/"'
            )
        if not source.exists():
            return f"output artifact {key!r}: the step wrote no file at {source}"
        _copy(source, local_path(uri, self._folder))
        return ""

    def download(self, uri: str, pod_root: Path) -> None:
        """Give an input artifact to a pod; one without objects is no error."""
        source, target = self.path(uri), local_path(uri, pod_root)
        if source is not None and target is not None:
            _copy(source, target)

    def record(self, key: str, artifact: Mapping) -> dict:
        """Return an output artifact as a later task sees it: without its type, its name a number, its metadata changed.

        Raises:
            StepError: a value is null.
        """
        metadata = {name: _lossy(key, value) for name, value in artifact.get("metadata", {}).items()}
        metadata.setdefault("display_name", key)
        metadata.setdefault("store_session_info", SESSION)
        return {
            "name": str(next(self._ids)),
            "type": {"instanceSchema": ""},
            "uri": artifact["uri"],
            "metadata": metadata,
        }


def _lossy(key: str, value: object) -> object:
    """ML Metadata has no booleans, and wraps lists and structs."""
    kind = kind_of(value)
    if kind == "null":
        raise StepError(f'unable to produce MLMD artifact for output "{key}": unknown/unsupported value type null')
    return {"bool": lambda: float(value), "list": lambda: {"list": value}, "struct": lambda: {"struct": value}}.get(
        kind, lambda: value
    )()


def _copy(source: Path, target: Path | None) -> None:
    assert target is not None  # its address has the scheme of the source's
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, target)
