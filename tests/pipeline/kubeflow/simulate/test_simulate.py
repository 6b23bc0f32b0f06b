"""What is refused before anything is started."""

import os
import stat

import pytest

from pipeline.errors import HeadraceError


def refused(code, play, *given, **options):
    with pytest.raises(HeadraceError) as caught:
        play(*given, **options)
    assert caught.value.code == code, caught.value
    assert play.events == []
    return caught.value


def constant(value):
    return {"runtimeValue": {"constant": value}}


def secret_env(name="db", key="password", variable="PASSWORD"):
    return {
        "secretAsEnv": [{"secretNameParameter": constant(name), "keyToEnv": [{"secretKey": key, "envVar": variable}]}]
    }


def test_a_required_parameter_that_is_missing_is_refused_in_the_servers_words(play, build):
    error = refused("HR-KFP-091", play, {"a": build.step("pass")}, {"n": {"parameterType": "NUMBER_INTEGER"}})
    assert error.what == "parameter n is not optional, yet has neither default value nor user provided value"


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("NUMBER_INTEGER", "3", "requires type double or integer, but the parameter value is not of number value type"),
        ("NUMBER_DOUBLE", True, "requires type double or integer, but the parameter value is not of number value type"),
        ("STRING", 3, "requires type string, but the input parameter is not of string value type"),
        ("BOOLEAN", "true", "requires type bool, but the input parameter is not of bool value type"),
        ("LIST", {"a": 1}, "requires type list, but the input parameter is not of list value type"),
        ("STRUCT", [1], "requires type struct, but the input parameter is not of struct value type"),
        ("STRING", None, "requires type string, but the input parameter is not of string value type"),
    ],
)
def test_a_parameter_of_another_type_is_refused_in_the_servers_words(play, build, kind, value, words):
    error = refused(
        "HR-KFP-091", play, {"a": build.step("pass")}, {"n": {"parameterType": kind}}, parameters={"n": value}
    )
    assert error.what == f"input parameter n {words}"


def test_a_parameter_that_the_pipeline_does_not_have_is_refused(play, build):
    error = refused("HR-KFP-091", play, {"a": build.step("pass")}, parameters={"m": 1, "k": 2})
    assert error.what == "parameter(s) provided are not required by pipeline: m, k"


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        ("NUMBER_INTEGER", 3, "3"),
        ("NUMBER_INTEGER", 3.5, "3.5"),  # the server does not look closer
        ("NUMBER_DOUBLE", 3, "3"),
        ("NUMBER_DOUBLE", 1e-7, "0.0000001"),
        ("BOOLEAN", True, "true"),
        ("STRING", "x y", "x y"),
        ("LIST", [1, 2.5, "a"], '[1,2.5,"a"]'),
        ("STRUCT", {"a": [True, None]}, '{"a":[true,null]}'),
    ],
)
def test_a_parameter_reaches_the_step_in_its_type(play, build, kind, value, written):
    tasks = {
        "a": build.step(
            "import sys; print(sys.argv[1])",
            "{{$.inputs.parameters['n']}}",
            inputs={"n": (kind, {"componentInputParameter": "n"})},
        )
    }
    result = play(tasks, {"n": {"parameterType": kind}}, parameters={"n": value}, profile="2.16")
    assert result.state == "SUCCEEDED", result.steps["a"].message
    assert play.lines("a") == [written]


def test_a_default_is_taken_when_no_value_is_given(play, build):
    tasks = {
        "a": build.step(
            "import sys; print(sys.argv[1])",
            "{{$.inputs.parameters['n']}}",
            inputs={"n": ("NUMBER_INTEGER", {"componentInputParameter": "n"})},
        )
    }
    play(tasks, {"n": {"parameterType": "NUMBER_INTEGER", "defaultValue": 4}})
    assert play.lines("a") == ["4"]


def test_secrets_config_maps_and_the_pods_own_names_become_variables(play, build):
    config = {
        **secret_env(),
        "configMapAsEnv": [{"configMapName": "c", "keyToEnv": [{"configMapKey": "k", "envVar": "CONFIG"}]}],
        "fieldPathAsEnv": [
            {"name": "POD", "fieldPath": "metadata.name"},
            {"name": "UID", "fieldPath": "metadata.uid"},
            {"name": "NS", "fieldPath": "metadata.namespace"},
        ],
    }
    code = "from os import environ as e; print(e['PASSWORD'], e['CONFIG'], e['NS'], e['POD'] == e['KFP_POD_NAME'])"
    result = play(
        {"a": build.step(code)},
        platform={"a": config},
        secrets={"db": {"password": "s3cret"}},
        config_maps={"c": {"k": "v"}},
    )
    assert result.state == "SUCCEEDED"
    assert play.lines("a") == ["s3cret v kubeflow True"]


def test_every_missing_secret_is_named_before_anything_starts(play, build):
    tasks = {"a": build.step("print(1)"), "b": build.step("print(2)")}
    error = refused("HR-KFP-092", play, tasks, None, {"a": secret_env(), "b": secret_env("hook", "url", "URL")})
    assert error.seen == ["secret db, key password", "secret hook, key url"]


def test_a_missing_secret_that_is_optional_is_left_out(play, build):
    config = {"secretAsVolume": [{"secretName": "s", "mountPath": "/no/such/folder", "optional": True}]}
    assert play({"a": build.step("pass")}, platform={"a": config}).state == "SUCCEEDED"


def test_a_secret_becomes_files_for_the_time_of_the_run(play, build, tmp_path):
    mount = tmp_path / "shared" / "secret"
    mount.mkdir(parents=True)
    config = {"secretAsVolume": [{"secretName": "s", "mountPath": str(mount)}]}
    code = "import os, sys; p = sys.argv[1] + '/token'; print(open(p).read(), oct(os.stat(p).st_mode & 0o777))"
    result = play(
        {"a": build.step(code, str(mount))},
        platform={"a": config},
        secrets={"s": {"token": "t"}},
        writable=[tmp_path / "shared"],
    )
    assert result.state == "SUCCEEDED"
    assert play.lines("a") == ["t 0o600"]
    assert list(mount.iterdir()) == []


def test_a_file_in_the_place_of_a_secret_is_not_overwritten(play, build, tmp_path):
    (tmp_path / "token").write_text("mine")
    config = {"secretAsVolume": [{"secretName": "s", "mountPath": str(tmp_path)}]}
    refused(
        "HR-KFP-093",
        play,
        {"a": build.step("pass")},
        None,
        {"a": config},
        secrets={"s": {"token": "t"}},
        writable=[tmp_path],
    )
    assert (tmp_path / "token").read_text() == "mine"


def test_a_secret_is_mounted_only_inside_a_folder_that_may_be_written(play, build, tmp_path):
    config = {"secretAsVolume": [{"secretName": "s", "mountPath": str(tmp_path)}]}
    error = refused("HR-KFP-093", play, {"a": build.step("pass")}, None, {"a": config}, secrets={"s": {"token": "t"}})
    assert error.seen == [f"{tmp_path} is in no folder that --writable names"]


def test_a_volume_is_a_folder_of_this_machine(play, build, tmp_path):
    volume = tmp_path / "volume"
    config = {"pvcMount": [{"pvcNameParameter": constant("claim"), "mountPath": str(volume)}]}
    tasks = {"a": build.step("import sys; open(sys.argv[1] + '/out', 'w').write('x')", str(volume))}
    error = refused("HR-KFP-093", play, tasks, None, {"a": config})
    assert error.seen == [f"there is no folder {volume} on this machine"]
    assert any("--set kubernetes.pipeline_root=" in line for line in error.fix)
    volume.mkdir()
    assert play(tasks, None, {"a": config}).state == "SUCCEEDED"
    assert (volume / "out").read_text() == "x"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_volume_that_cannot_be_written_is_refused(play, build, tmp_path):
    volume = tmp_path / "volume"
    volume.mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    config = {"pvcMount": [{"pvcNameParameter": constant("claim"), "mountPath": str(volume)}]}
    error = refused("HR-KFP-093", play, {"a": build.step("pass")}, None, {"a": config})
    assert error.seen == [f"{volume} cannot be written to"]


def test_a_folder_to_write_to_that_holds_the_code_is_refused(play, build, tmp_path):
    code_dir = tmp_path / "root" / "code"
    code_dir.mkdir(parents=True)
    refused("HR-KFP-094", play, {"a": build.step("pass")}, code_dirs=[code_dir], writable=[tmp_path / "root"])


def test_a_work_folder_in_use_is_refused(play, build):
    (play.folder / "work-1").mkdir()
    (play.folder / "work-1" / "file").write_text("x")
    refused("HR-KFP-094", play, {"a": build.step("pass")})


def test_a_release_that_nobody_plays_is_refused(play, build):
    refused("HR-KFP-090", play, {"a": build.step("pass")}, profile="2.3")


def test_a_loop_is_refused(play, build):
    iterator = {"items": {"raw": "[1]"}, "itemInput": "n"}
    tasks = {
        "a": build.dag(
            {"b": build.step("pass", inputs={"n": ("NUMBER_DOUBLE", {"componentInputParameter": "n"})})},
            task={"parameterIterator": iterator},
            inputDefinitions={"parameters": {"n": {"parameterType": "NUMBER_DOUBLE"}}},
        )
    }
    error = refused("HR-KFP-090", play, tasks)
    assert error.seen == ["task a is a loop (parameter_iterator)"]


def test_an_importer_is_refused(play, build):
    package = build.package({"a": build.step("pass", artifacts={"model": "system.Model"})})
    executors = package.pipeline["deploymentSpec"]["executors"]
    executors["exec-a"] = {
        "importer": {"artifactUri": {"constant": "gs://b/m"}, "typeSchema": {"schemaTitle": "system.Model"}}
    }
    from pipeline.kubeflow.simulate import Options, simulate

    with pytest.raises(HeadraceError) as caught:
        simulate(package, Options(play.folder / "w"))
    assert caught.value.code == "HR-KFP-090" and caught.value.seen == ["task a is an importer"]


def test_a_condition_beyond_comparisons_is_refused(play, build):
    tasks = {
        "a": build.step(
            "pass",
            inputs={"n": ("STRING", constant("x"))},
            task={"triggerPolicy": {"condition": "size(inputs.parameter_values['n']) > 1"}},
        )
    }
    refused("HR-KFP-090", play, tasks)


def test_a_secret_whose_name_only_the_run_knows_is_refused(play, build):
    config = {
        "secretAsEnv": [
            {
                "secretNameParameter": {"componentInputParameter": "name"},
                "keyToEnv": [{"secretKey": "k", "envVar": "V"}],
            }
        ]
    }
    tasks = {"a": build.step("pass")}
    refused("HR-KFP-090", play, tasks, {"name": {"parameterType": "STRING", "defaultValue": "s"}}, {"a": config})


def test_a_package_that_kubeflow_refuses_is_refused_by_the_gate(play, build):
    tasks = {"a": build.step("pass", task={"dependentTasks": ["nobody"]})}
    with pytest.raises(HeadraceError) as caught:
        play(tasks)
    assert "HR-KFP-004" <= caught.value.code <= "HR-KFP-016"
