"""The step entry point: what it takes from Kubernetes, repeats, refuses and shows. Whole runs are in tests/e2e."""

import json
import os
import signal
import subprocess
import sys

import pytest

from components.reporting import Outcome
from pipeline.errors import HeadraceError
from pipeline.kubeflow import notify, pages, prepare
from pipeline.kubeflow.executor_input import ExecutorInput
from pipeline.nodes import BY_ID


def executor_input(tmp_path, **parameters):
    return ExecutorInput.parse(
        json.dumps(
            {
                "inputs": {"parameterValues": {"run-id": "a-run", **parameters}},
                "outputs": {
                    "parameters": {"status": {"outputFile": str(tmp_path / "out" / "status")}},
                    "artifacts": {"metrics": {"artifacts": [{"name": "7", "uri": "minio://m/7", "type": {}}]}},
                    "outputFile": str(tmp_path / "out" / "output_metadata.json"),
                },
            }
        )
    )


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"inputs": {"parameterValues": {"run-id": 3}}}', '{"outputs": []}'])
def test_what_is_no_executor_input_is_refused(text):
    with pytest.raises(HeadraceError, match="HR-KFP-031"):
        ExecutorInput.parse(text)


def test_the_attempt_is_the_launchers_count():
    assert [ExecutorInput.attempt({"KFP_RETRY_INDEX": text}) for text in ("", "0", "2", "x")] == [0, 0, 2, 0]


def test_pages_hold_status_metrics_and_where_the_artifacts_are(tmp_path):
    from google.protobuf import json_format

    from pipeline.kubeflow.gate.schema import messages

    found = executor_input(tmp_path)
    summary = {"metrics": {"overall": {"auc": 0.7, "calibration": float("nan")}}, "blessed": True}
    paths = {name: str(tmp_path / "pages" / name) for name in ("lineage", "metrics", "page")}
    outputs = {"evaluation": {"type": "ModelEvaluation", "uri": "/e", "mlmd_id": 4, "digest": "d"}}
    pages.write("flights", BY_ID["Evaluator"], found, "CACHED", outputs, Outcome(summary), paths)
    assert (tmp_path / "out" / "status").read_text() == "CACHED"
    told = json.loads((tmp_path / "out" / "output_metadata.json").read_text())
    message = json_format.ParseDict(told, messages()[0].ExecutorOutput())  # as strictly as the launcher
    assert dict(message.artifacts["metrics"].artifacts[0].metadata) == {"auc": 0.7}
    assert message.parameter_values["status"].string_value == "CACHED"
    lineage = json.loads((tmp_path / "pages" / "lineage").read_text())
    assert (lineage["run_id"], lineage["outputs"]["evaluation"]["mlmd_id"]) == ("a-run", 4)
    html = (tmp_path / "pages" / "page").read_text()
    assert html.startswith("<!doctype html>") and "http://" not in html and "0.7" in html


def test_the_preparing_step_leaves_nothing_behind_and_says_what_it_lacks(tmp_path):
    with pytest.raises(HeadraceError, match="HR-KFP-021"):
        prepare.prepare(str(tmp_path / "root"), {})
    assert list((tmp_path / "root").iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(HeadraceError, match="HR-SYS"):
        prepare.prepare(str(tmp_path / "file"), {})


@pytest.mark.parametrize(("state", "said"), [("COMPLETE", "succeeded"), ("FAILED", "failed"), ("RUNNING", "failed")])
def test_the_notice_says_how_the_run_ended(tmp_path, state, said):
    found = executor_input(tmp_path, status={"state": state, "pipelineJobResourceName": "x/flights-abc"})
    assert notify.body(found) == {
        "text": f"headrace: flights-abc {said}, run a-run",
        "pipeline": "flights-abc",
        "run_id": "a-run",
        "state": said,
    }


def test_a_webhook_is_posted_to_and_its_address_kept_secret(tmp_path):
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    got = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self):
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.handle_request).start()
    address = f"http://127.0.0.1:{server.server_port}/secret-part"
    found = executor_input(tmp_path, status={"state": "COMPLETE"})
    notify.notify(found, {"HEADRACE_NOTIFY_URL": address})
    server.server_close()
    assert got[0]["state"] == "succeeded"
    for environ in ({"HEADRACE_NOTIFY_URL": address}, {}):
        with pytest.raises(HeadraceError, match="HR-KFP-032") as caught:
            notify.notify(found, environ)
        assert "secret-part" not in str(caught.value)


@pytest.mark.parametrize(
    ("raised", "code"),
    [("HeadraceError('HR-KFP-022', 'x')", 5), ("HeadraceError('HR-DATA-200', 'x')", 3), ("ValueError()", 4)],
)
def test_a_pod_ends_with_the_code_of_the_family(raised, code):
    script = (
        "from pipeline.errors import HeadraceError\nfrom pipeline.kubeflow.step import exit_with\n"
        f"def work():\n    raise {raised}\nexit_with(work)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True).returncode == code


def test_a_pod_that_is_asked_to_end_says_so_and_can_be_tried_again():
    script = (
        "import sys, time\nfrom pipeline.kubeflow.step import exit_with\n"
        "def work():\n    print('ready', flush=True)\n    time.sleep(30)\nexit_with(work)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    os.kill(process.pid, signal.SIGTERM)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 5 and "HR-KFP-030" in errors
