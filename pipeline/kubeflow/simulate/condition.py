"""The part of CEL that conditions of pipelines use: comparisons of parameters with constants, and, or, not.

Source: kubeflow/pipelines backend/src/v2/expression/expression.go; the SDK writes conditions in this form only.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping

from pipeline.kubeflow.simulate.model import StepError
from pipeline.kubeflow.simulate.values import to_text

TOKEN = re.compile(
    r"\s*(?:inputs\.parameter_values\[(?:'(?P<input>[^']+)'|\"(?P<input2>[^\"]+)\")\]"
    r"|(?P<number>-?\d+(?:\.\d+)?)|'(?P<text>[^'\\]*)'|\"(?P<text2>[^\"\\]*)\""
    r"|(?P<word>true|false|int|double|string)\b|(?P<sign>==|!=|<=|>=|&&|\|\||[<>!()]))"
)
COMPARE: dict[str, Callable] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
CASTS: dict[str, Callable] = {"int": lambda value: float(int(value)), "double": float, "string": to_text}


class Unsupported(Exception):
    """CEL that stands outside of that part."""


def holds(condition: str, values: Mapping[str, object]) -> bool:
    """Say whether a condition holds.

    Raises:
        StepError: it names an input that has no value, or compares what cannot be compared.
        Unsupported: it uses more of CEL.
    """
    found = _Reader(condition, values).whole()
    if not isinstance(found, bool):
        raise StepError(f"evaluation error: return type is not bool, got {found!r}")
    return found


def check_condition(condition: str) -> None:
    """Read a condition without its values.

    Raises:
        Unsupported: it uses more of CEL.
    """
    _Reader(condition, None).whole()


class _Reader:
    """Recursive descent; without values it checks the form alone."""

    def __init__(self, condition: str, values: Mapping[str, object] | None) -> None:
        self._condition, self._values = condition, values
        self._tokens = self._split(condition)
        self._at = 0

    def _split(self, condition: str) -> list[tuple[str, str]]:
        tokens, position, end = [], 0, len(condition.rstrip())
        while position < end:
            match = TOKEN.match(condition, position)
            if match is None:
                raise Unsupported(condition)
            tokens.append((str(match.lastgroup).rstrip("2"), match[str(match.lastgroup)]))
            position = match.end()
        return tokens

    def _take(self, *signs: str) -> str:
        if self._at < len(self._tokens) and self._tokens[self._at][1] in signs:
            kind, token = self._tokens[self._at]
            if kind in ("sign", "word"):
                self._at += 1
                return token
        return ""

    def whole(self) -> object:
        """Read all of it."""
        found = self._any()
        if self._at != len(self._tokens):
            raise Unsupported(self._condition)
        return found

    def _any(self) -> object:
        found = self._all()
        while self._take("||"):
            other = self._all()
            found = self._known(lambda first=found, second=other: first or second)
        return found

    def _all(self) -> object:
        found = self._comparison()
        while self._take("&&"):
            other = self._comparison()
            found = self._known(lambda first=found, second=other: first and second)
        return found

    def _comparison(self) -> object:
        if self._take("!"):
            inner = self._comparison()
            return self._known(lambda: not inner)
        left = self._value()
        sign = self._take(*COMPARE)
        if not sign:
            return left
        right = self._value()
        return self._known(lambda: COMPARE[sign](left, right))

    def _value(self) -> object:
        if self._take("("):
            return self._closed(self._any())
        cast = self._take(*CASTS)
        if cast:
            if not self._take("("):
                raise Unsupported(self._condition)
            inner = self._closed(self._any())
            return self._known(lambda: CASTS[cast](inner))
        kind, token = self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")
        self._at += 1
        if kind == "input":
            return self._known(lambda: self._input(token))
        if kind == "number":
            return float(token)
        if kind == "word":
            return token == "true"
        if kind == "text":
            return token
        raise Unsupported(self._condition)

    def _closed(self, found: object) -> object:
        if not self._take(")"):
            raise Unsupported(self._condition)
        return found

    def _input(self, name: str) -> object:
        return self._values[name] if self._values is not None else None

    def _known(self, compute: Callable[[], object]) -> object:
        if self._values is None:
            return None
        try:
            return compute()
        except (KeyError, TypeError, ValueError) as error:
            raise StepError(f"evaluation error: {type(error).__name__} {error} in {self._condition}") from None
