"""Status codes as TensorFlow Serving puts them on the wire: canonical codes in gRPC, their HTTP code in REST."""

from __future__ import annotations

from enum import IntEnum

MAX_GRPC_CHARS = 1024  # a longer gRPC message is cut there. Source: model_servers/grpc_status_util.cc


class Code(IntEnum):
    """Canonical codes; the numbers are those of gRPC and of `tf.errors`."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


# Source: model_servers/http_server.cc, ToHTTPStatusCode
HTTP_CODES = {
    Code.OK: 200,
    Code.CANCELLED: 499,
    Code.UNKNOWN: 500,
    Code.INVALID_ARGUMENT: 400,
    Code.DEADLINE_EXCEEDED: 504,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.PERMISSION_DENIED: 403,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.FAILED_PRECONDITION: 400,
    Code.ABORTED: 409,
    Code.OUT_OF_RANGE: 400,
    Code.UNIMPLEMENTED: 501,
    Code.INTERNAL: 500,
    Code.UNAVAILABLE: 503,
    Code.DATA_LOSS: 500,
    Code.UNAUTHENTICATED: 401,
}


class ServingError(Exception):
    """An answer that is not OK: a canonical code and the message that the client reads."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        """Return the status as absl prints it, `INVALID_ARGUMENT: message`."""
        return f"{self.code.name}: {self.message}"

    @property
    def http_code(self) -> int:
        """The HTTP code that REST answers with."""
        return HTTP_CODES[self.code]

    @property
    def grpc_message(self) -> str:
        """The message as gRPC carries it."""
        return self.message if len(self.message) <= MAX_GRPC_CHARS else self.message[:MAX_GRPC_CHARS] + "...TRUNCATED"


def invalid_argument(message: str) -> ServingError:
    """Return the error of a request that can never succeed as it stands."""
    return ServingError(Code.INVALID_ARGUMENT, message)


def not_found(message: str) -> ServingError:
    """Return the error of a model or version that is not there."""
    return ServingError(Code.NOT_FOUND, message)
