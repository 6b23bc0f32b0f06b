import json
import os
import signal
import time
from pathlib import Path

import pytest

from components import confine
from pipeline.kubeflow.simulate import PROFILES

RETRY = {"maxRetryCount": 2, "backoffDuration": "1s", "backoffFactor": 2.0, "backoffMaxDuration": "3600s"}
EXIT = {"strategy": "ALL_UPSTREAM_TASKS_COMPLETED"}
STATUS = "import sys, json; print(json.loads(sys.argv[1])['inputs']['parameterValues']['status']['state'])"
COUNT = """
import sys, os
path = os.path.join(sys.argv[1], "count")
n = int(open(path).read()) if os.path.exists(path) else 0
open(path, "w").write(str(n + 1))
print("attempt", n, os.listdir("."), os.environ.get("KFP_RETRY_INDEX"))
sys.exit(int(sys.argv[2]) if n < int(sys.argv[3]) else 0)
"""


def constant(value):
    return {"runtimeValue": {"constant": value}}


def output_of(task, key):
    return {"taskOutputParameter": {"producerTask": task, "outputParameterKey": key}}


@pytest.mark.parametrize("profile", PROFILES)
def test_a_value_travels_from_one_step_to_the_next_in_every_release(play, build, profile):
    write = "import sys; open(sys.argv[1], 'w').write('7')"
    tasks = {
        "a": build.step(write, "{{$.outputs.parameters['n'].output_file}}", outputs={"n": "NUMBER_INTEGER"}),
        "b": build.step(
            "import sys; print(sys.argv[1])",
            "--n={{$.inputs.parameters['n']}}",
            inputs={"n": ("NUMBER_INTEGER", output_of("a", "n"))},
        ),
    }
    result = play(tasks, profile=profile)
    assert result.state == "SUCCEEDED" and result.exit_code == 0
    assert list(result.steps) == ["a", "b"]
    assert result.steps["a"].parameters == {"n": 7.0}
    assert play.lines("b") == ["--n=7"]


def test_a_step_has_an_empty_folder_and_a_clean_environment(play, build, monkeypatch):
    monkeypatch.setenv("OF_THE_CALLER", "leaks")
    code = "import os, json; print(json.dumps([os.listdir('.'), dict(os.environ)]))"
    result = play({"a": build.step(code, env=[{"name": "OWN", "value": "x"}])}, env={"EXTRA": "y"})
    assert result.state == "SUCCEEDED"
    files, env = json.loads(play.lines("a")[0])
    assert files == []
    assert env["OWN"] == "x" and env["EXTRA"] == "y" and "OF_THE_CALLER" not in env
    work = str(play.folder)
    assert env["HOME"].startswith(work) and env["TMPDIR"].startswith(work)


def test_python_is_this_interpreter(play, build):
    play({"a": build.step("import sys; print(sys.executable)")})
    assert play.lines("a") == [build.python]


@pytest.mark.parametrize(("profile", "index"), [("2.16", ["None"] * 3), ("2.17", ["0", "1", "2"])])
def test_a_failed_step_is_tried_again_in_a_new_pod(play, build, tmp_path, profile, index):
    shared = tmp_path / "shared"
    shared.mkdir()
    tasks = {"a": build.step(COUNT, str(shared), "3", "2", task={"retryPolicy": RETRY})}
    result = play(tasks, writable=[shared], profile=profile)
    assert result.state == "SUCCEEDED"
    assert [attempt.exit_code for attempt in result.steps["a"].attempts] == [3, 3, 0]
    assert play.lines("a") == [f"attempt {n} [] {index[n]}" for n in range(3)]
    logs = [attempt.log.read_text().split()[1] for attempt in result.steps["a"].attempts]
    assert logs == ["0", "1", "2"]
    assert [event.text for event in play.events if event.kind == "retried"] == ["exit code 3"] * 2


def test_a_step_that_fails_too_often_fails_the_run_and_what_follows_is_omitted(play, build):
    tasks = {
        "a": build.step("import sys; sys.exit(5)", task={"retryPolicy": RETRY}),
        "b": build.step("print('never')", task={"dependentTasks": ["a"]}),
    }
    result = play(tasks)
    assert (result.state, result.exit_code) == ("FAILED", 5)
    assert [attempt.exit_code for attempt in result.steps["a"].attempts] == [5, 5, 5]
    assert result.steps["a"].message == "exit code 5; no more retries left"
    assert result.steps["b"].state == "OMITTED" and result.steps["b"].attempts == ()


def test_nothing_new_starts_after_a_failure(play, build):
    tasks = {
        "a": build.step("import sys; sys.exit(1)"),
        "b": build.step("import time; time.sleep(0.5)"),
        "c": build.step("print('never')", task={"dependentTasks": ["b"]}),
    }
    result = play(tasks, max_parallel=2)
    assert {name: step.state for name, step in result.steps.items()} == {
        "a": "FAILED",
        "b": "SUCCEEDED",
        "c": "OMITTED",
    }


def test_max_parallel_bounds_the_steps_that_run_at_once(play, build, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    code = """
import os, sys, time
mine = os.path.join(sys.argv[1], str(os.getpid()))
open(mine, "w").close(); time.sleep(0.3); print(len(os.listdir(sys.argv[1]))); os.unlink(mine)
"""
    tasks = {name: build.step(code, str(shared)) for name in "abcd"}
    assert play(tasks, writable=[shared]).state == "SUCCEEDED"
    assert [play.lines(name) for name in "abcd"] == [["1"]] * 4
    assert play(tasks, writable=[shared], max_parallel=2).state == "SUCCEEDED"
    seen = {play.lines(name)[0] for name in "abcd"}
    assert "2" in seen and seen <= {"1", "2"}


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGKILL, 137), (signal.SIGTERM, 143)])
def test_a_killed_step_is_tried_again_and_ends_the_same(play, build, number, exit_code):
    code = "import sys, time; print('begun'); time.sleep(0.6); open(sys.argv[1], 'w').write('done')"
    tasks = {
        "a": build.step(
            code,
            "{{$.outputs.parameters['status'].output_file}}",
            outputs={"status": "STRING"},
            task={"retryPolicy": RETRY},
        )
    }
    result = play(tasks, kill=lambda step, attempt: (0.2, number) if attempt == 0 else None)
    assert result.state == "SUCCEEDED"
    assert [attempt.exit_code for attempt in result.steps["a"].attempts] == [exit_code, 0]
    assert result.steps["a"].attempts[0].message == f"killed by {number.name}, exit code {exit_code}"
    assert result.steps["a"].parameters == {"status": "done"}


def test_a_step_that_handles_sigterm_chooses_its_exit_code(play, build):
    code = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
print("ready"); time.sleep(30)
"""
    result = play({"a": build.step(code)}, kill=lambda step, attempt: (0.5, signal.SIGTERM))
    assert [attempt.exit_code for attempt in result.steps["a"].attempts] == [5]


def test_a_deadline_ends_a_step_first_gently_then_for_good(play, build):
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(30)"
    began = time.monotonic()
    result = play({"a": build.step(stubborn)}, platform={"a": {"activeDeadlineSeconds": 1}}, grace_s=0.5)
    assert 1.5 <= time.monotonic() - began < 10
    assert result.steps["a"].attempts[0].exit_code == 137
    assert result.steps["a"].attempts[0].message == "ran longer than 1 s, exit code 137"


def test_what_a_step_started_dies_with_it(play, build):
    code = """
import subprocess, sys
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid)
"""
    play({"a": build.step(code)})
    pid = int(play.lines("a")[0])
    for _ in range(100):  # the group was ended; its members are reaped by the system soon after
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} is still there")


@pytest.mark.parametrize(("code", "state", "run"), [("pass", "COMPLETE", "SUCCEEDED"), ("1 / 0", "FAILED", "FAILED")])
def test_the_exit_task_runs_once_whatever_way_the_pipeline_ended(play, build, code, state, run):
    status = {"status": ("TASK_FINAL_STATUS", {"taskFinalStatus": {"producerTask": "work"}})}
    tasks = {
        "work": build.dag({"one": build.step(code)}),
        "tell": build.step(STATUS, "{{$}}", inputs=status, task={"dependentTasks": ["work"], "triggerPolicy": EXIT}),
    }
    result = play(tasks)
    assert result.state == run
    assert play.lines("tell") == [state]
    assert [event.step for event in play.events if event.kind == "started"] == ["work.one", "tell"]


def test_the_exit_task_is_told_that_a_pipeline_with_a_killed_pod_still_runs(play, build):
    status = {"status": ("TASK_FINAL_STATUS", {"taskFinalStatus": {"producerTask": "work"}})}
    tasks = {
        "work": build.dag({"one": build.step("import time; time.sleep(30)")}),
        "tell": build.step(STATUS, "{{$}}", inputs=status, task={"dependentTasks": ["work"], "triggerPolicy": EXIT}),
    }
    result = play(tasks, kill=lambda step, attempt: (0.1, signal.SIGKILL) if step == "work.one" else None)
    assert result.state == "FAILED"
    assert play.lines("tell") == ["RUNNING"]


def test_a_sub_dag_passes_parameters_in_and_out(play, build):
    write = "import sys; open(sys.argv[1], 'w').write(sys.argv[2] + '!')"
    inner = build.step(
        write,
        "{{$.outputs.parameters['said'].output_file}}",
        "{{$.inputs.parameters['word']}}",
        inputs={"word": ("STRING", {"componentInputParameter": "outer"})},
        outputs={"said": "STRING"},
    )
    group = build.dag(
        {"inner": inner},
        task={"inputs": {"parameters": {"outer": {"componentInputParameter": "word"}}}},
        inputDefinitions={"parameters": {"outer": {"parameterType": "STRING"}}},
        outputDefinitions={"parameters": {"result": {"parameterType": "STRING"}}},
        outputs={
            "parameters": {"result": {"valueFromParameter": {"producerSubtask": "inner", "outputParameterKey": "said"}}}
        },
    )
    last = build.step(
        "import sys; print(sys.argv[1])",
        "{{$.inputs.parameters['said']}}",
        inputs={"said": ("STRING", output_of("group", "result"))},
    )
    result = play({"group": group, "last": last}, {"word": {"parameterType": "STRING"}}, parameters={"word": "hi"})
    assert result.state == "SUCCEEDED"
    assert list(result.steps) == ["group.inner", "last"]
    assert play.lines("last") == ["hi!"]


@pytest.mark.parametrize(
    ("condition", "state"),
    [
        ("inputs.parameter_values['n'] == 2.0", "SUCCEEDED"),
        ("int(inputs.parameter_values['n']) > 2", "SKIPPED"),
        ("!(inputs.parameter_values['n'] < 2.0) && true", "SUCCEEDED"),
    ],
)
def test_a_condition_decides_whether_a_step_runs(play, build, condition, state):
    tasks = {
        "a": build.step(
            "pass", inputs={"n": ("NUMBER_DOUBLE", constant(2))}, task={"triggerPolicy": {"condition": condition}}
        ),
        "b": build.step("print('b')", task={"dependentTasks": ["a"]}),
    }
    result = play(tasks)
    assert result.state == "SUCCEEDED"
    assert result.steps["a"].state == state
    assert result.steps["b"].state == {"SUCCEEDED": "SUCCEEDED", "SKIPPED": "OMITTED"}[state]


def test_a_step_that_the_driver_refuses_fails_without_an_attempt(play, build):
    lies = """
import json, os, sys
path = json.loads(sys.argv[1])["outputs"]["outputFile"]
json.dump({"parameterValues": {"n": "seven"}}, open(path, "w"))
"""
    tasks = {
        "a": build.step(lies, "{{$}}", outputs={"n": "NUMBER_INTEGER"}),
        "b": build.step("pass", inputs={"n": ("NUMBER_INTEGER", output_of("a", "n"))}),
    }
    result = play(tasks)
    assert (result.state, result.exit_code) == ("FAILED", 1)
    assert result.steps["b"].attempts == ()
    assert result.steps["b"].message == 'input parameter "n" type mismatch: expect NUMBER_INTEGER, got string'


def test_code_is_read_only_and_a_step_writes_only_where_it_may(play, build, tmp_path):
    if confine.version() < 2:
        pytest.skip("this kernel does not confine writing")
    code_dir, shared = tmp_path / "code", tmp_path / "shared"
    code_dir.mkdir()
    shared.mkdir()
    (code_dir / "own_module.py").write_text("VALUE = 42\n")
    code = """
import os, sys, own_module
print(own_module.VALUE)
def attempt(path, mode):
    try:
        open(path, mode).close()
        return True
    except PermissionError:
        return False
print([attempt(own_module.__file__, mode) for mode in ("a", "w", "r+")], attempt(sys.argv[1] + "/new", "w"),
      attempt("here", "w"), attempt(os.path.join(os.environ["TMPDIR"], "x"), "w"), attempt("/dev/null", "w"))
os.rename("here", os.path.join(os.environ["HOME"], "there"))
"""
    result = play({"a": build.step(code, str(shared))}, code_dirs=[code_dir], writable=[shared])
    assert result.state == "SUCCEEDED", play.lines("a")
    assert play.lines("a") == ["42", "[False, False, False] True True True True"]
    assert (code_dir / "own_module.py").read_text() == "VALUE = 42\n"
    assert not any("confine" in note for note in result.notes)


def test_a_kernel_that_does_not_confine_is_noted(play, build, monkeypatch):
    monkeypatch.setattr(confine, "version", lambda: 0)
    result = play({"a": build.step("print('free')")})
    assert play.lines("a") == ["free"]
    assert [note for note in result.notes if "does not confine writing" in note]


def test_a_command_that_is_not_there_fails_as_in_a_shell(play, build):
    built = build.step("pass")
    built["container"]["command"] = ["no-such-command"]
    result = play({"a": built})
    assert result.exit_code == 127
    assert play.lines("a") == ["cannot start no-such-command: No such file or directory"]


def test_an_interrupt_ends_the_running_steps(play, build, tmp_path):
    code = "import os, time; print(os.getpid()); time.sleep(60)"

    def stop(event):
        play.events.append(event)
        if event.kind == "line":
            raise KeyboardInterrupt

    from pipeline.kubeflow.simulate import Options, simulate

    with pytest.raises(KeyboardInterrupt):
        simulate(build.package({"a": build.step(code)}), Options(tmp_path / "w", grace_s=2.0), stop)
    pid = int(play.lines("a")[0])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_log_is_not_held_in_memory_and_a_line_without_end_is_cut(play, build):
    code = "import sys; sys.stdout.write('x' * 1_000_000); print(); print('end')"
    result = play({"a": build.step(code)})
    assert result.steps["a"].attempts[0].log.stat().st_size == 1_000_005
    lines = play.lines("a")
    assert lines[-1] == "end" and max(map(len, lines)) <= 2 * (1 << 16)
    assert sum(map(len, lines)) == 1_000_003
