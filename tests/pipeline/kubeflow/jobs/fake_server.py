"""The HTTP side of the fake Kubernetes API: addresses to verbs, chunked streams, faults on demand."""

import copy
import json
import re
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

PODS = "pods"
PATH = re.compile(
    r"^/(?P<group>api/v1|apis/[^/]+/[^/]+)/namespaces/(?P<namespace>[^/]+)/(?P<plural>[^/]+)(/(?P<name>[^/]+))?(?P<log>/log)?$"
)


class Refused(Exception):
    """An answer that is not 200."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code, self.message = code, message


class Server(ThreadingHTTPServer):
    """A server whose clients may leave at any time."""

    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def status_of(code, message):
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message}


def handler_of(cluster):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer in one packet: two would wait for each other

        def log_message(self, *_):
            pass

        def answer(self, code, body):
            data = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()

        def stream(self, lines, fault):
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.flush()
            for sent, line in enumerate(lines):
                if fault and sent >= fault.after:
                    half = line.encode()[: len(line) // 2]  # a line cut short, and no last chunk
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(half), half))
                    self.wfile.flush()
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                data = line.encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
            self.wfile.flush()

        def handle_any(self):
            try:
                self.handle_request()
            except Refused as error:
                self.answer(error.code, status_of(error.code, error.message))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def handle_request(self):
            url = urlsplit(self.path)
            query = dict(parse_qsl(url.query))
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else {}
            found = PATH.match(url.path)
            if not found:
                raise Refused(404, "the server could not find the requested resource")
            plural, namespace, name = found["plural"], found["namespace"], found["name"]
            verb = {"POST": "create", "PATCH": "patch", "DELETE": "delete"}.get(self.command)
            verb = verb or ("log" if found["log"] else "get" if name else "watch" if "watch" in query else "list")
            cluster.log.append((verb, plural, name, query))
            cluster.authorization.append(self.headers["Authorization"])
            fault = self.fault(verb, plural)
            if fault and fault.kind != "drop":
                raise Refused(fault.kind, fault.message)
            if verb == "watch":
                stop_at = time.monotonic() + float(query.get("timeoutSeconds", 60))
                events = cluster.events_after(plural, namespace, query, stop_at)
                return self.stream((json.dumps(event) for event in events), fault)
            if verb == "log":
                with cluster.changed:
                    cluster.get(PODS, namespace, name)
                return self.stream(cluster.log_after(namespace, name, query), fault)
            with cluster.changed:
                answer = copy.deepcopy(self.do(verb, plural, namespace, name, query, body))
            return self.answer(201 if verb == "create" else 200, answer)

        def do(self, verb, plural, namespace, name, query, body):
            if verb == "list":
                return cluster.listed(plural, namespace, query)
            if verb == "create":
                return cluster.create(plural, namespace, body)
            if verb == "patch" and self.headers["Content-Type"] != "application/merge-patch+json":
                raise Refused(415, "the body of the request was in an unknown format")
            return getattr(cluster, verb)(plural, namespace, name, *([body] if verb in ("patch", "delete") else []))

        def fault(self, verb, plural):
            with cluster.changed:
                for fault in cluster.faults:
                    if fault.count > 0 and (fault.verb, fault.plural) == (verb, plural):
                        fault.count -= 1
                        return fault
            return None

        do_GET = do_POST = do_PATCH = do_DELETE = handle_any

    return Handler
