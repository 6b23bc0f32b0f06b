"""A Kubeflow Pipelines API server in memory, on loopback, with faults on demand.

It answers as the real one does: names, filters, page tokens, duplicates, the strict check of a template, no change of a
recurring run. Every answer is read back through the models of kfp-server-api before it is sent.
Source: kubeflow/pipelines backend/src/apiserver (server, list, filter, storage, template).
"""

import base64
import contextlib
import json
import re
import threading
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit

GRPC = {400: 3, 401: 16, 403: 7, 404: 5, 405: 12, 409: 6, 500: 13, 503: 14}
OPERATIONS = {1: "EQUALS", 2: "NOT_EQUALS", 9: "IS_SUBSTRING"}
FILTERED = ("display_name", "created_at", "description")
PREFIX = "/apis/v2beta1/"


class Refused(Exception):
    """An answer that is not 200."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message


@dataclass
class Fault:
    """What happens to the next `count` requests that match: a status, `drop` after the work is done, or `slow`."""

    method: str
    path: str
    kind: object
    count: int = 1


@dataclass
class FakeKfp:
    """The server's state; `log` has each request as (method, path)."""

    multi_user: bool = False
    token: str = ""
    namespaces: tuple = ()
    faults: list = field(default_factory=list)
    log: list = field(default_factory=list)
    pipelines: dict = field(default_factory=dict)
    versions: dict = field(default_factory=dict)
    experiments: dict = field(default_factory=dict)
    runs: dict = field(default_factory=dict)
    recurring: dict = field(default_factory=dict)
    progress: list = field(default_factory=list)
    disable_new: bool = False
    after: object = None
    clock: object = time.time

    def __post_init__(self):
        self.lock = threading.RLock()
        self.released = threading.Event()

    @contextlib.contextmanager
    def serving(self):
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # an answer in one packet: two would wait for each other

            def log_message(self, *_):
                pass

            def handle_any(self):
                _serve(fake, self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        self.host = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield self
        finally:
            self.released.set()
            server.shutdown()
            server.server_close()

    def now(self):
        return datetime.fromtimestamp(int(self.clock()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def enabled(self):
        return [one for one in self.recurring.values() if one["status"] == "ENABLED"]

    # the services

    def answer(self, method, path, query, body):
        """Return the model's name and the answer."""
        parts = path.split("/")
        kind, rest = parts[0], parts[1:]
        if (method, path) == ("GET", "healthz"):
            return "V2beta1GetHealthzResponse", {"multi_user": True} if self.multi_user else {}
        service = getattr(self, f"{kind}_{method.lower()}", None)
        if service is None:
            raise Refused(405, "Method Not Allowed")
        return service(rest, query, body)

    def pipelines_get(self, rest, query, _):
        if not rest:
            inside = [one for one in self.pipelines.values() if one.get("namespace", "") == query.get("namespace", "")]
            return "V2beta1ListPipelinesResponse", page(inside, query, "pipelines", "pipeline_id")
        pipeline = found(self.pipelines, rest[0], "Pipeline")
        if len(rest) == 1:
            return "V2beta1Pipeline", pipeline
        if len(rest) == 2:
            own = [one for one in self.versions.values() if one["pipeline_id"] == rest[0]]
            return "V2beta1ListPipelineVersionsResponse", page(own, query, "pipeline_versions", "pipeline_version_id")
        return "V2beta1PipelineVersion", found(self.versions, rest[2], "PipelineVersion")

    def pipelines_post(self, rest, query, body):
        if not rest:
            return "V2beta1Pipeline", self.create_pipeline(body["display_name"], body.get("namespace", ""), body)
        if rest == ["upload"]:
            specs = template(body)
            pipeline = self.create_pipeline(query["name"], query.get("namespace", ""), {})
            self.create_version(pipeline["pipeline_id"], query["name"], query, specs)
            return "V2beta1Pipeline", pipeline
        if rest == ["upload_version"]:
            found(self.pipelines, query.get("pipelineid", ""), "Pipeline")
            version = self.create_version(query["pipelineid"], query["name"], query, template(body))
            return "V2beta1PipelineVersion", version
        raise Refused(405, "Method Not Allowed")

    def create_pipeline(self, name, namespace, more):
        if any((p["display_name"], p.get("namespace", "")) == (name, namespace) for p in self.pipelines.values()):
            raise Refused(
                409, f"Failed to create a new pipeline. The name {name} already exist. Please specify a new name"
            )
        one = {"pipeline_id": str(uuid.uuid4()), "display_name": name, "created_at": self.now()}
        one |= {"namespace": namespace} if namespace else {}
        one |= {"description": more["description"]} if more.get("description") else {}
        self.pipelines[one["pipeline_id"]] = one
        return one

    def create_version(self, pipeline_id, name, query, specs):
        if any((v["display_name"], v["pipeline_id"]) == (name, pipeline_id) for v in self.versions.values()):
            raise Refused(409, "Failed to create a pipeline version")
        one = {"pipeline_id": pipeline_id, "pipeline_version_id": str(uuid.uuid4()), "display_name": name}
        one |= {"created_at": self.now(), "pipeline_spec": specs, "description": query.get("description", "")}
        self.versions[one["pipeline_version_id"]] = one
        return one

    def experiments_get(self, rest, query, _):
        if rest:
            return "V2beta1Experiment", found(self.experiments, rest[0], "Experiment")
        return "V2beta1ListExperimentsResponse", page(
            self.inside(self.experiments, query), query, "experiments", "experiment_id"
        )

    def experiments_post(self, _, __, body):
        key = (body["display_name"], body.get("namespace", ""))
        if any((e["display_name"], e.get("namespace", "")) == key for e in self.experiments.values()):
            raise Refused(
                409, f"Failed to create a new experiment. The name {key[0]} already exists. Please specify a new name"
            )
        one = {"experiment_id": str(uuid.uuid4()), "created_at": self.now(), "storage_state": "AVAILABLE", **body}
        self.experiments[one["experiment_id"]] = one
        return "V2beta1Experiment", one

    def runs_get(self, rest, query, _):
        if not rest:
            return "V2beta1ListRunsResponse", page(self.inside(self.runs, query), query, "runs", "run_id")
        run = found(self.runs, rest[0], "Run")
        if self.progress:
            run |= snapshot(*(self.progress.pop(0) if len(self.progress) > 1 else self.progress[0]))
        return "V2beta1Run", run

    def runs_post(self, rest, _, body):
        if rest:
            raise Refused(405, "Method Not Allowed")
        self.check_source(body)
        one = {**body, "run_id": str(uuid.uuid4()), "created_at": self.now(), "state": "PENDING"}
        one |= {"finished_at": "1970-01-01T00:00:00Z", "storage_state": "AVAILABLE"}
        self.runs[one["run_id"]] = one
        return "V2beta1Run", one

    def recurringruns_get(self, rest, query, _):
        if rest:
            return "V2beta1RecurringRun", found(self.recurring, rest[0], "Job")
        listed = page(self.inside(self.recurring, query), query, "recurringRuns", "recurring_run_id")
        return "V2beta1ListRecurringRunsResponse", listed

    def recurringruns_post(self, rest, _, body):
        if rest:
            one_id, _, verb = rest[0].partition(":")
            found(self.recurring, one_id, "Job")["status"] = {"enable": "ENABLED", "disable": "DISABLED"}[verb]
            return None, {}
        self.check_source(body)
        if not 1 <= int(body.get("max_concurrency", 0)) <= 10:
            raise Refused(400, "Max concurrency of a recurring run must be at least 1 and at most 10")
        cron = body["trigger"].get("cron_schedule", {}).get("cron")
        if cron is not None and not re.fullmatch(r"([0-9*,/-]+ ){5}[0-9*,/-]+", cron):
            raise Refused(400, "Schedule cron is not a supported format(https://godoc.org/github.com/robfig/cron)")
        enabled = body.pop("mode", "") == "ENABLE" and not self.disable_new
        one = {**body, "recurring_run_id": str(uuid.uuid4()), "created_at": self.now(), "updated_at": self.now()}
        one["status"] = "ENABLED" if enabled else "DISABLED"
        self.recurring[one["recurring_run_id"]] = one
        return "V2beta1RecurringRun", one

    def recurringruns_delete(self, rest, _, __):
        found(self.recurring, rest[0], "Job")
        del self.recurring[rest[0]]
        return None, {}

    def inside(self, items, query):
        wanted = query.get("namespace", "")
        spaces = {one["experiment_id"]: one.get("namespace", "") for one in self.experiments.values()}
        return [one for one in items.values() if spaces.get(one["experiment_id"], "") == wanted]

    def check_source(self, body):
        found(self.experiments, body.get("experiment_id", ""), "Experiment")
        source = body["pipeline_version_reference"]
        found(self.pipelines, source["pipeline_id"], "Pipeline")
        own = [one for one in self.versions.values() if one["pipeline_id"] == source["pipeline_id"]]
        wanted = source.get("pipeline_version_id")
        version = found(self.versions, wanted, "PipelineVersion") if wanted else own[-1]
        spec = version["pipeline_spec"].get("pipeline_spec", version["pipeline_spec"])
        known = spec["root"].get("inputDefinitions", {}).get("parameters", {})
        for name in body.get("runtime_config", {}).get("parameters", {}):
            if name not in known:
                raise Refused(400, f"parameter {name} is not found in the pipeline's inputs")


def snapshot(state, steps):
    """Return the changing part of a run: each step has Kubeflow's driver and executor beside it."""
    names = [("root", state, ""), ("root-driver", "SUCCEEDED", "")]
    for name, (step_state, error) in steps.items():
        names += [(f"{name}-driver", "SUCCEEDED", ""), (name, step_state, error), ("executor", step_state, "")]
    details = [
        {"display_name": name, "state": one, "task_id": f"{index}", "create_time": f"2026-12-01T00:00:{index:02}Z"}
        | ({"error": {"code": 13, "message": error}} if error else {})
        for index, (name, one, error) in enumerate(names)
    ]
    return {"state": state, "run_details": {"task_details": details}}


def found(items, key, kind):
    if key not in items:
        raise Refused(404, f"{kind} {key} not found")
    return items[key]


def template(upload):
    """Read an upload as strictly as the server does and return the specs as it gives them back."""
    import yaml
    from google.protobuf import json_format
    from kfp.pipeline_spec import pipeline_spec_pb2

    documents = list(yaml.safe_load_all(upload))
    platforms = [one for one in documents if "platforms" in one]
    specs = [one for one in documents if "platforms" not in one]
    if len(specs) != 1 or len(platforms) > 1:
        raise Refused(400, "unknown template format: pipeline spec is invalid")
    try:
        spec = json_format.ParseDict(specs[0], pipeline_spec_pb2.PipelineSpec())
        platform = json_format.ParseDict(platforms[0] if platforms else {}, pipeline_spec_pb2.PlatformSpec())
    except json_format.ParseError as error:
        raise Refused(400, f"unknown template format: pipeline spec is invalid: {error}") from None
    if spec.schema_version != "2.1.0":
        raise Refused(400, f"KFP only supports schema version 2.1.0, but the pipeline spec has {spec.schema_version}")
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,127}", spec.pipeline_info.name):
        raise Refused(400, "invalid v2 pipeline spec: name should consist of lower case alphanumerics and '-'")
    plain = json_format.MessageToDict(spec)
    if not platforms:
        return plain
    return {"pipeline_spec": plain, "platform_spec": json_format.MessageToDict(platform)}


def page(items, query, name, key):
    """Return one page, sorted, filtered, with the token of the next: where it begins and what was asked for."""
    kept = [one for one in items if matches(one, query.get("filter"))]
    sort, _, direction = (query.get("sort_by") or "created_at").partition(" ")
    if sort not in FILTERED:
        raise Refused(400, f"Invalid sorting field: {sort!r}")
    down = direction == "desc"
    kept.sort(key=lambda one: (one[sort], one[key]), reverse=down)
    asked = {"filter": query.get("filter"), "sort_by": query.get("sort_by")}
    if query.get("page_token"):
        token = json.loads(base64.b64decode(query["page_token"]))
        if token["asked"] != asked:
            raise Refused(400, "page token does not match the filter or the sort order")
        begin = tuple(token["begin"])
        kept = [one for one in kept if ((one[sort], one[key]) <= begin if down else (one[sort], one[key]) >= begin)]
    size = min(int(query.get("page_size") or 20), 200)
    answer = {name: kept[:size]} if kept else {}
    if len(kept) > size:
        begin = [kept[size][sort], kept[size][key]]
        answer["next_page_token"] = base64.b64encode(json.dumps({"begin": begin, "asked": asked}).encode()).decode()
    return answer


def matches(one, text):
    """Apply the predicates; text is compared without regard to case, as the database does."""
    for predicate in json.loads(text)["predicates"] if text else []:
        operation = OPERATIONS.get(predicate["operation"], predicate["operation"])
        if predicate["key"] not in FILTERED:
            raise Refused(400, f"no support for filtering on unrecognized field {predicate['key']!r}")
        ours = str(one.get(predicate["key"], "")).lower()
        wanted = predicate.get("stringValue", predicate.get("string_value", "")).lower()
        fits = {"EQUALS": ours == wanted, "NOT_EQUALS": ours != wanted, "IS_SUBSTRING": wanted in ours}
        if operation not in fits:
            raise Refused(400, f"invalid predicate operation: {operation}")
        if not fits[operation]:
            return False
    return True


def _serve(fake, handler):
    url = urlsplit(handler.path)
    path = url.path.removeprefix(PREFIX)
    query = dict(parse_qsl(url.query))
    raw = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
    with fake.lock:
        fake.log.append((handler.command, path))
        fault = _next_fault(fake, handler.command, path)
    if fault and fault.kind == "slow":
        fake.released.wait(5)
    upload = path.startswith("pipelines/upload")
    try:
        if fault and isinstance(fault.kind, int):
            raise Refused(fault.kind, f"fault {fault.kind}")
        _authorise(fake, handler, query)
        with fake.lock:
            model, answer = fake.answer(handler.command, path, query, _body(handler, raw, upload))
            text = json.dumps(answer)
        status = 200
        if model:
            _require_model(model, text)
    except Refused as refused:
        status = refused.status
        if upload:
            text = json.dumps({"error_message": refused.message, "error_details": refused.message})
        else:
            code = GRPC.get(status, 2)
            text = json.dumps({"error": refused.message, "code": code, "message": refused.message, "details": []})
    if fault and fault.kind == "html":
        status, text = 200, "<html><title>Log in to Your Account</title></html>"
    if fake.after:
        fake.after(handler.command, path)
    if fault and fault.kind == "drop":
        handler.close_connection = True
        return
    payload = text.encode()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(payload)))
        handler.end_headers()
        handler.wfile.write(payload)


def _next_fault(fake, method, path):
    for fault in fake.faults:
        if fault.count and fault.method == method and re.fullmatch(fault.path, path):
            fault.count -= 1
            return fault
    return None


def _authorise(fake, handler, query):
    if fake.token and handler.headers.get("authorization") != f"Bearer {fake.token}":
        raise Refused(401, "Request header error: there is no user identity header.")
    if fake.namespaces and query.get("namespace", "") not in (*fake.namespaces, ""):
        raise Refused(403, f"User 'ann' is not authorized with reason: (namespace {query['namespace']})")


def _body(handler, raw, upload):
    if upload:
        kind = handler.headers["Content-Type"].encode()
        message = message_from_bytes(b"Content-Type: " + kind + b"\r\n\r\n" + raw)
        return message.get_payload()[0].get_payload(decode=True).decode()
    return json.loads(raw) if raw else {}


def _require_model(model, text):
    """Hold an answer against the client's model: nothing unknown, everything of the right type."""
    import kfp_server_api

    read = kfp_server_api.ApiClient().deserialize(SimpleNamespace(data=text), model)
    unknown = set(json.loads(text)) - set(type(read).attribute_map.values())
    assert not unknown, f"{model} has no {unknown}"
