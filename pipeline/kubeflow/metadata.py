"""The ML Metadata store that the steps of a run share, from a pod's environment."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pipeline.errors import HeadraceError, bounded

if TYPE_CHECKING:
    from tfx.orchestration.metadata import Metadata

PREFIX = "HEADRACE_METADATA_"
BACKENDS = ("mysql", "postgresql", "grpc")
ANSWERS_WITHIN_S = 5.0


def connect(environ: Mapping[str, str]) -> Metadata:
    """Return the store, seen to answer; its tables are created when it is new.

    Args:
        environ: HEADRACE_METADATA_BACKEND (mysql, postgresql or grpc), _HOST, _PORT and, but for grpc, _DATABASE,
            _USER, _PASSWORD and optionally _TLS_CA, a file.

    Raises:
        HeadraceError: HR-KFP-021 settings missing or wrong, HR-KFP-022 not reachable, HR-KFP-023 credentials refused.
    """
    from ml_metadata import errors
    from ml_metadata.metadata_store import metadata_store
    from tfx.orchestration import metadata

    config = connection_config(environ)
    try:
        store = metadata_store.MetadataStore(config)
        store.get_artifact_types()
    except (errors.StatusError, RuntimeError) as error:  # the second without a database
        raise _explained(error, environ) from None
    if environ[f"{PREFIX}BACKEND"] == "postgresql":
        from pipeline.kubeflow.postgresql import PostgresqlMetadata

        return PostgresqlMetadata(config)
    return metadata.Metadata(config)


def connection_config(environ: Mapping[str, str]):
    """Return ML Metadata's own description of the connection.

    Raises:
        HeadraceError: HR-KFP-021.
    """
    from ml_metadata.proto import metadata_store_pb2 as protos

    backend = _value(environ, "BACKEND")
    if backend not in BACKENDS:
        what = "SQLite" if "sqlite" in backend else repr(backend)
        raise _wrong(
            f"{PREFIX}BACKEND is {what}",
            "one of mysql, postgresql, grpc; two pods damage a SQLite file on shared storage",
        )
    host, port = _value(environ, "HOST"), _value(environ, "PORT")
    if not port.isdigit():
        raise _wrong(f"{PREFIX}PORT is {port!r}", "a number")
    if backend == "grpc":
        return protos.MetadataStoreClientConfig(host=host, port=int(port))
    user, password = _value(environ, "USER"), _value(environ, "PASSWORD")
    ca = environ.get(f"{PREFIX}TLS_CA", "")
    config = protos.ConnectionConfig()
    if backend == "mysql":
        config.mysql.host, config.mysql.port = host, int(port)
        config.mysql.database = _value(environ, "DATABASE")
        config.mysql.user, config.mysql.password = user, password
        if ca:
            config.mysql.ssl_options.ca, config.mysql.ssl_options.verify_server_cert = ca, True
    else:
        config.postgresql.host, config.postgresql.port = host, port
        config.postgresql.dbname = _value(environ, "DATABASE")
        config.postgresql.user, config.postgresql.password = user, _quoted(password)
        if ca:
            config.postgresql.ssloption.sslmode, config.postgresql.ssloption.sslrootcert = "verify-full", ca
    return config


def _quoted(value: str) -> str:
    """Return a value as a connection string takes it: ML Metadata writes it there as it is.

    Source: PostgreSQL, libpq, "Connection Strings", keyword/value.
    """
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _value(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(f"{PREFIX}{name}", "")
    if not value:
        raise _wrong(
            f"{PREFIX}{name} is not set", "the settings that the compiled pipeline and its secret give each pod"
        )
    return value


def _wrong(what: str, expected: str) -> HeadraceError:
    return HeadraceError(
        "HR-KFP-021",
        what,
        expected=expected,
        fix=["set kubernetes.metadata and its secret (keys username, password), then publish again"],
    )


def _explained(error: Exception, environ: Mapping[str, str]) -> HeadraceError:
    """Say whether nobody is there, or somebody who refuses: ML Metadata itself keeps the reason of MySQL to itself."""
    host, port = environ[f"{PREFIX}HOST"], environ[f"{PREFIX}PORT"]
    where = f"{environ[f'{PREFIX}BACKEND']} at {host}:{port}"
    text = bounded(error, 200)
    try:
        socket.create_connection((host, int(port)), ANSWERS_WITHIN_S).close()
    except (OSError, OverflowError) as unreachable:
        return HeadraceError(
            "HR-KFP-022",
            f"ML Metadata does not answer: {where}",
            seen=[bounded(unreachable), text],
            expected="a database that takes connections from this pod",
            fix=["kubectl get pods,svc -l app.kubernetes.io/name=headrace-metadata", "the step is tried again"],
        )
    return HeadraceError(
        "HR-KFP-023",
        f"ML Metadata refuses the connection: {where}",
        seen=[text, f"user {environ.get(f'{PREFIX}USER', '-')!r}, database {environ.get(f'{PREFIX}DATABASE', '-')!r}"],
        expected="a database that exists, and user and password of the secret that kubernetes.metadata.secret names",
        fix=["kubectl get secret headrace-metadata -o yaml   holds username and password, base64"],
    )
