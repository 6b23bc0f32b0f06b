"""ML Metadata on PostgreSQL, with text that holds a backslash.

ML Metadata takes the first and last character off what PQescapeLiteral returns and puts quotes around the rest. For
text with a backslash PQescapeLiteral returns ` E'...'`, and the statement is refused: every error with a quotation mark
in its JSON would be lost. So a full-width backslash stands for it in the database.

Source: ml_metadata/metadata_store/postgresql_metadata_source.cc, EscapeString; PostgreSQL, libpq, PQescapeLiteral.
"""

from __future__ import annotations

from typing import Any

from tfx.orchestration import metadata

STAND_IN = "\uff3c"  # FULLWIDTH REVERSE SOLIDUS


class PostgresqlMetadata(metadata.Metadata):
    """The connection, with backslashes exchanged on the way in and back on the way out."""

    def __enter__(self) -> PostgresqlMetadata:
        """Open it."""
        super().__enter__()
        call = self.store._call_method

        def exchanging(method: str, request: Any, response: Any) -> None:
            sent = type(request)()
            sent.CopyFrom(request)
            exchange(sent, "\\", STAND_IN)
            call(method, sent, response)
            exchange(response, STAND_IN, "\\")

        self.store._call_method = exchanging
        return self


def exchange(message: Any, old: str, new: str) -> None:
    """Replace a character in every text of a protobuf message."""
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            for key in value:
                if field.message_type.fields_by_name["value"].message_type is not None:
                    exchange(value[key], old, new)
                elif isinstance(value[key], str):
                    value[key] = value[key].replace(old, new)
        elif field.message_type is not None:
            for each in [value] if hasattr(value, "ListFields") else value:
                exchange(each, old, new)
        elif isinstance(value, str):
            setattr(message, field.name, value.replace(old, new))
        elif field.type == field.TYPE_STRING:
            value[:] = [each.replace(old, new) for each in value]
