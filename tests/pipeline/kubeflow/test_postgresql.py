"""Backslashes on their way to and from ML Metadata's PostgreSQL."""

import pytest

pytestmark = pytest.mark.tf

TEXTS = ["\\", "C:\\data\\", '{"a": "say \\"no\\""}', "it's", "plain", ""]


def test_every_text_of_a_message_is_exchanged_and_comes_back():
    from ml_metadata.proto import metadata_store_pb2 as protos
    from ml_metadata.proto import metadata_store_service_pb2 as service

    from pipeline.kubeflow.postgresql import STAND_IN, exchange

    request = service.PutArtifactsRequest()
    for text in TEXTS:
        artifact = request.artifacts.add(uri=text, name=text, type_id=3)
        artifact.custom_properties["said"].string_value = text
        artifact.properties["count"].int_value = 7
    named = service.GetContextByTypeAndNameRequest(type_name="a\\b")
    types = protos.ArtifactType(name="\\", properties={"plain": protos.STRING})
    several = service.GetArtifactsByURIRequest(uris=TEXTS)
    for message in (request, named, types, several):
        before = type(message).FromString(message.SerializeToString())
        exchange(message, "\\", STAND_IN)
        assert "\\" not in "".join(_texts(message))
        exchange(message, STAND_IN, "\\")
        assert message == before


def _texts(message):
    for field, value in message.ListFields():
        if isinstance(value, str):
            yield value
        elif field.message_type is None and field.type == field.TYPE_STRING:
            yield from value
        elif field.message_type is not None and field.message_type.GetOptions().map_entry:
            yield from (found.string_value for found in value.values() if hasattr(found, "string_value"))
        elif field.message_type is not None:
            for each in value:
                yield from _texts(each)
