import numpy as np
import pytest

from pipeline.errors import HeadraceError
from pipeline.serving.client import Client
from pipeline.serving.ports import free_port

ROWS = [{"distance": 733.0, "month": 3, "carrier": "UA"}, {"distance": 1.0, "month": 1, "carrier": b"\xff"}]


@pytest.fixture
def client(running):
    with Client("tiny", port=running.server.rest_port) as client:
        yield client


def test_rows_of_plain_values_are_answered_in_order(client, oracle):
    answers = client.predict(ROWS)
    np.testing.assert_allclose(answers, [[oracle(733.0, 3, b"UA")], [oracle(1.0, 1, b"\xff")]], atol=1e-6)
    assert client.predict(ROWS[:1], version=1) == answers[:1]
    assert client.predict([]) == []
    np.testing.assert_allclose(client.predict([{**ROWS[0], "distance": None}]), [[oracle(0, 3, b"UA")]], atol=1e-6)


def test_the_status_and_the_metadata_are_read(client):
    assert [status["state"] for status in client.status()] == ["AVAILABLE"]
    assert client.metadata(1)["model_spec"]["version"] == "1"


def test_a_refusal_carries_the_words_of_the_server(client):
    with pytest.raises(HeadraceError) as error:
        client.predict([{"distance": 733.0, "month": 3, "career": "UA"}])
    assert error.value.code == "HR-SERVE-005"
    assert "does not have named input: career" in error.value.seen[0]


def test_a_server_that_is_not_there_is_a_transient_error():
    with Client("tiny", port=free_port("127.0.0.1")) as client, pytest.raises(HeadraceError) as error:
        client.status()
    assert (error.value.code, error.value.family) == ("HR-SERVE-004", "transient")
