"""JSON documents read as RapidJSON 1.1.0 reads them: a document that does not parse gets its text and byte offset.

Source: rapidjson v1.1.0 reader.h and error/en.h, by behaviour.
"""

from __future__ import annotations

import json

from pipeline.serving.status import invalid_argument


def parse(body: bytes) -> object:
    """Return the value of a JSON document.

    Bytes that are not UTF-8 are kept (`surrogateescape`), because RapidJSON passes them through to string tensors.

    Raises: ServingError INVALID_ARGUMENT with RapidJSON's text and byte offset.
    """
    if not body:
        raise invalid_argument("JSON Parse error: The document is empty")
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        return json.loads(body.decode("utf-8", "surrogateescape"))
    except ValueError:
        text, offset = locate_error(body)
        raise invalid_argument(f"JSON Parse error: {text} at offset: {offset}") from None
    except RecursionError:
        raise invalid_argument("JSON Parse error: Nested too deeply. at offset: 0") from None


def locate_error(body: bytes) -> tuple[str, int]:
    """Return RapidJSON's text and byte offset of the first error in a document that does not parse."""
    scanner = _Scanner(body)
    try:
        scanner.space()
        if scanner.peek() == b"":
            return "The document is empty.", scanner.at
        scanner.value()
        scanner.space()
    except _Located as error:
        return error.args
    if scanner.at < len(body):
        return "The document root must not be followed by other values.", scanner.at
    return "Unspecific syntax error.", 0


class _Located(Exception):
    """A syntax error: text and byte offset."""


class _Scanner:
    """Walks a document as RapidJSON does and stops where it stops; only run on documents that do not parse."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.at = 0

    def peek(self) -> bytes:
        return self.body[self.at : self.at + 1]

    def take(self, expected: bytes) -> bool:
        if self.peek() != expected or not expected:
            return False
        self.at += 1
        return True

    def space(self) -> None:
        while self.peek() in (b" ", b"\n", b"\r", b"\t"):
            self.at += 1

    def value(self) -> None:
        first = self.peek()
        if first == b"{":
            self.object()
        elif first == b"[":
            self.array()
        elif first == b'"':
            self.string()
        elif first in (b"n", b"t", b"f"):
            self.word({b"n": b"null", b"t": b"true", b"f": b"false"}[first])
        else:
            self.number()

    def word(self, letters: bytes) -> None:
        for letter in letters:
            if not self.take(bytes([letter])):
                raise _Located("Invalid value.", self.at)

    def object(self) -> None:
        self.at += 1
        self.space()
        if self.take(b"}"):
            return
        while True:
            if self.peek() != b'"':
                raise _Located("Missing a name for object member.", self.at)
            self.string()
            self.space()
            if not self.take(b":"):
                raise _Located("Missing a colon after a name of object member.", self.at)
            self.space()
            self.value()
            self.space()
            if self.take(b"}"):
                return
            if not self.take(b","):
                raise _Located("Missing a comma or '}' after an object member.", self.at)
            self.space()

    def array(self) -> None:
        self.at += 1
        self.space()
        if self.take(b"]"):
            return
        while True:
            self.value()
            self.space()
            if self.take(b"]"):
                return
            if not self.take(b","):
                raise _Located("Missing a comma or ']' after an array element.", self.at)
            self.space()

    def string(self) -> None:
        self.at += 1
        while True:
            char = self.peek()
            if char == b"\\":
                self.escape()
            elif char == b'"':
                self.at += 1
                return
            elif char in (b"", b"\0"):
                raise _Located("Missing a closing quotation mark in string.", self.at)
            elif char < b" ":
                raise _Located("Invalid escape character in string.", self.at)
            else:
                self.at += 1

    def escape(self) -> None:
        start = self.at
        self.at += 1
        if self.take(b"u"):
            unit = self.hex(start)
            if 0xD800 <= unit <= 0xDBFF:
                paired = self.take(b"\\") and self.take(b"u") and 0xDC00 <= self.hex(start) <= 0xDFFF
                if not paired:
                    raise _Located("The surrogate pair in string is invalid.", start)
        elif self.peek() and self.peek() in b'"\\/bfnrt':
            self.at += 1
        else:
            raise _Located("Invalid escape character in string.", start)

    def hex(self, start: int) -> int:
        digits = self.body[self.at : self.at + 4]
        if len(digits) < 4 or any(digit not in b"0123456789abcdefABCDEF" for digit in digits):
            raise _Located("Incorrect hex digit after \\u escape in string.", start)
        self.at += 4
        return int(digits, 16)

    def number(self) -> None:
        self.take(b"-")
        if self.take(b"I"):
            self.word(b"nf")
            if self.peek() == b"i":
                self.word(b"inity")
            return
        if self.peek() == b"N":
            self.word(b"NaN")
            return
        if not self.take(b"0") and not self.digits():
            raise _Located("Invalid value.", self.at)
        if self.take(b".") and not self.digits():
            raise _Located("Miss fraction part in number.", self.at)
        if self.take(b"e") or self.take(b"E"):
            if not self.take(b"+"):
                self.take(b"-")
            if not self.digits():
                raise _Located("Miss exponent in number.", self.at)

    def digits(self) -> bool:
        start = self.at
        while self.peek().isdigit():
            self.at += 1
        return self.at > start
