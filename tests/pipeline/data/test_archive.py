"""Archives through the real pip against a package index on the loopback interface."""

import hashlib
import http.server
import threading

import pytest

from pipeline.data.archive import Archive, obtain, python_with_pip
from pipeline.errors import HeadraceError

CONTENT = bytes(range(256)) * 2_000
FILE = "sample_data-1.0.tar.gz"


def archive(content=CONTENT, filename=FILE):
    return Archive("sample-data", "1.0", filename, hashlib.sha256(content).hexdigest(), len(content))


class _Index(http.server.BaseHTTPRequestHandler):
    """A simple index of one file; `declared` may promise more bytes than come."""

    declared = len(CONTENT)

    def do_GET(self):
        self.server.paths.append(self.path)
        if self.path == "/simple/sample-data/":
            return self._send(f'<a href="/files/{FILE}">{FILE}</a>'.encode(), "text/html")
        if self.path == f"/files/{FILE}":
            return self._send(CONTENT, "application/gzip", self.declared)
        self.send_error(404)

    def _send(self, body, kind, length=None):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def index(monkeypatch):
    """Serve the index and point pip, and nothing else, to it."""
    try:
        python_with_pip()
    except HeadraceError:
        pytest.skip("no Python with pip here: `make` builds .tools/venv, which has one")
    handler = type("Index", (_Index,), {})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.paths = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "HTTP_PROXY", "http_proxy", "PIP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def refused(tmp_path, wanted):
    with pytest.raises(HeadraceError) as caught:
        obtain(wanted, tmp_path, lambda share, note: None)
    assert not list(tmp_path.iterdir())
    return caught.value


def test_a_file_is_downloaded_once_with_progress_and_nothing_of_it_is_run(index, tmp_path):
    seen = []
    path = obtain(archive(), tmp_path, lambda share, note: seen.append((share, note)))
    assert path.read_bytes() == CONTENT
    assert [share for share, _ in seen] == sorted(share for share, _ in seen)
    assert seen[-1] == (1.0, "sample-data  0.5 of 0.5 MB")
    asked = list(index.paths)
    assert obtain(archive(), tmp_path, lambda share, note: None) == path
    assert index.paths == asked
    assert [file.name for file in tmp_path.iterdir()] == [FILE]


def test_a_damaged_file_in_the_cache_is_downloaded_again(index, tmp_path):
    (tmp_path / FILE).write_bytes(b"half")
    assert obtain(archive(), tmp_path, lambda share, note: None).read_bytes() == CONTENT


def test_a_wrong_hash_is_refused_and_the_file_deleted(index, tmp_path):
    error = refused(tmp_path, archive(b"other"))
    assert (error.code, error.exit_code) == ("HR-DATA-102", 3)
    assert hashlib.sha256(CONTENT).hexdigest() in error.seen[0]


def test_a_file_that_the_index_lacks_is_named_with_those_it_has(index, tmp_path):
    error = refused(tmp_path, archive(filename="sample_data-2.0.tar.gz"))
    assert error.code == "HR-DATA-105"
    assert error.seen == [FILE]


def test_a_connection_that_breaks_off_is_transient(index, tmp_path):
    index.RequestHandlerClass.declared = len(CONTENT) + 1
    error = refused(tmp_path, archive())
    assert (error.code, error.exit_code) == ("HR-DATA-101", 5)


def test_an_index_that_cannot_be_reached_is_transient(index, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    error = refused(tmp_path, archive())
    assert (error.code, error.exit_code) == ("HR-DATA-101", 5)
    assert "127.0.0.1" in error.seen[0]
    assert str(tmp_path / FILE) in error.fix[-1]


def test_a_file_put_in_place_by_hand_needs_no_network(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    (tmp_path / FILE).write_bytes(CONTENT)
    assert obtain(archive(), tmp_path, lambda share, note: None) == tmp_path / FILE


def test_without_pip_the_places_that_were_tried_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr("pipeline.data.archive.sys.executable", "/none/python")
    monkeypatch.setattr("pipeline.data.archive.REPOSITORY", tmp_path)
    monkeypatch.setattr("pipeline.data.archive.subprocess.run", _missing)
    with pytest.raises(HeadraceError, match="HR-DATA-104") as caught:
        python_with_pip()
    assert caught.value.seen[0] == "/none/python: no pip"


def _missing(*_, **__):
    raise FileNotFoundError
