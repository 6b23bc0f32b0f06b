"""Each broken pipeline is refused for its own reason, at its own place, and for no other."""

from pathlib import Path

import pytest

from pipeline.errors import HeadraceError
from pipeline.kubeflow.gate import check
from pipeline.kubeflow.gate.finding import RULES
from pipeline.kubeflow.package import Package, read_package

CORPUS = Path(__file__).parent / "corpus"
EXECUTORS = "deploymentSpec.executors"
TASKS = "components.comp-pipeline.dag.tasks"
PLATFORM = "platforms.kubernetes.deploymentSpec.executors"
CASES = []


class Broken:
    """A good package with short names for the places that the cases change."""

    def __init__(self, package: Package):
        self.package = package
        self.pipeline = package.pipeline
        self.root = package.pipeline["root"]
        self.components = package.pipeline["components"]
        self.tasks = self.components["comp-pipeline"]["dag"]["tasks"]
        self.executors = package.pipeline["deploymentSpec"]["executors"]
        self.platform = package.platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]

    def container(self, step: str) -> dict:
        return self.executors[f"exec-{step}"]["container"]

    def add_task(self, name: str, **task) -> None:
        """Add a task in the manner of the others, with a container of its own."""
        self.tasks[name] = {"componentRef": {"name": f"comp-{name}"}, **task}
        self.components.setdefault(f"comp-{name}", {"executorLabel": f"exec-{name}"})
        container = {**self.container("trainer"), "args": [name]}
        self.executors.setdefault(f"exec-{name}", {"container": container})


def broken(rule: str, where: str):
    """Register a case: the rule that must find it, and the place."""

    def register(change):
        CASES.append(pytest.param(rule, where, change, id=change.__name__))
        return change

    return register


def error_rules(package: Package, production: bool = False) -> set[str]:
    return {finding.rule for finding in check(package, production) if finding.severity == "error"}


# documents


@broken("pipeline-schema", "pipeline")
def an_unknown_field_of_a_task(b):
    b.tasks["trainer"]["retries"] = 3


@broken("pipeline-schema", "pipeline")
def a_duration_that_is_none(b):
    b.tasks["trainer"]["retryPolicy"]["backoffDuration"] = "half a minute"


@broken("deployment-schema", EXECUTORS)
def an_unknown_field_of_a_container(b):
    b.container("trainer")["imagePullPolicy"] = "Always"


@broken("plain-values", "pipelineInfo.description")
def infinity(b):
    b.pipeline["pipelineInfo"]["description"] = float("inf")


@broken("plain-values", "components")
def a_key_that_is_a_number(b):
    b.components[1] = {}


@broken("schema-version", "schemaVersion")
def the_schema_version_of_tfx(b):
    b.pipeline["schemaVersion"] = "2.0.0"


@broken("root", "root")
def a_root_without_tasks(b):
    b.pipeline["root"] = {"executorLabel": "exec-prepare"}


# references


@broken("component-ref", f"{TASKS}.trainer.componentRef")
def a_component_that_is_not_there(b):
    b.tasks["trainer"]["componentRef"]["name"] = "comp-trainer-2"


@broken("component-ref", f"{TASKS}.trainer.componentRef")
def a_task_without_a_component(b):
    del b.tasks["trainer"]["componentRef"]


@broken("executor-label", "components.comp-trainer.executorLabel")
def an_executor_that_is_not_there(b):
    b.components["comp-trainer"]["executorLabel"] = "exec-gpu"


@broken("implementation", "components.comp-trainer")
def a_component_that_runs_nothing(b):
    del b.components["comp-trainer"]["executorLabel"]


@broken("dependent-task", f"{TASKS}.trainer.dependentTasks")
def a_task_that_waits_for_nothing_known(b):
    b.tasks["trainer"]["dependentTasks"] = ["Transform"]


@broken("task-cycle", f"{TASKS}.evaluator")
def two_tasks_that_wait_for_each_other(b):
    b.tasks["trainer"]["dependentTasks"].append("evaluator")


@broken("task-cycle", f"{TASKS}.prepare")
def a_task_that_waits_for_itself(b):
    b.tasks["prepare"]["dependentTasks"] = ["prepare"]


@broken("component-cycle", "components.comp-pipeline")
def a_component_within_itself(b):
    inputs = {name: {"componentInputParameter": name} for name in b.root["inputDefinitions"]["parameters"]}
    b.tasks["again"] = {"componentRef": {"name": "comp-pipeline"}, "inputs": {"parameters": inputs}}


# names


@broken("pipeline-name", "pipelineInfo.name")
def a_pipeline_name_with_capitals(b):
    b.pipeline["pipelineInfo"]["name"] = "Flights"


@broken("pipeline-name", "pipelineInfo.name")
def a_pipeline_without_a_name(b):
    del b.pipeline["pipelineInfo"]["name"]


@broken("pipeline-name", "pipelineInfo.name")
def a_pipeline_name_longer_than_the_servers_column(b):
    b.pipeline["pipelineInfo"]["name"] = "f" * 129


@broken("task-name", f"{TASKS}.edge_evaluator")
def a_task_name_with_an_underscore(b):
    b.add_task("edge_evaluator")


@broken("task-name", f"{TASKS}.{'t' * 122}")
def a_task_name_too_long_with_its_driver(b):
    b.add_task("t" * 122)


@broken("task-name", f"{TASKS}.trainer")
def a_task_named_as_the_driver_of_another(b):
    b.add_task("trainer-driver")


@broken("task-name", f"root.dag.tasks.{'n' * 115}")
def an_exit_task_whose_template_has_too_long_a_name(b):
    b.root["dag"]["tasks"]["n" * 115] = b.root["dag"]["tasks"].pop("notify")


@broken("component-name", "components.comp.trainer")
def a_component_name_with_a_dot(b):
    b.components["comp.trainer"] = b.components.pop("comp-trainer")
    b.tasks["trainer"]["componentRef"]["name"] = "comp.trainer"


@broken("component-name", "components.root")
def a_component_named_root(b):
    b.components["root"] = b.components.pop("comp-trainer")
    b.tasks["trainer"]["componentRef"]["name"] = "root"


@broken("component-name", "components.comp_p")
def a_dag_whose_name_no_template_can_have(b):
    b.components["comp_p"] = b.components.pop("comp-pipeline")
    b.root["dag"]["tasks"]["pipeline"]["componentRef"]["name"] = "comp_p"


# what open-source Kubeflow does not run


@broken("implementation", f"{EXECUTORS}.exec-latestblessedmodel")
def a_resolver(b):
    b.executors["exec-latestblessedmodel"] = {"resolver": {"outputArtifactQueries": {}}}
    b.components["comp-latestblessedmodel"]["outputDefinitions"] = {}
    del b.platform["exec-latestblessedmodel"]


@broken("implementation", f"{EXECUTORS}.exec-trainer")
def a_custom_job_of_vertex(b):
    b.executors["exec-trainer"] = {"customJob": {"customJob": {}}}
    del b.platform["exec-trainer"]


@broken("artifact-iterator", f"{TASKS}.trainer.artifactIterator")
def a_loop_over_artifacts(b):
    b.tasks["trainer"]["artifactIterator"] = {"items": {"inputArtifact": "models"}, "itemInput": "model"}


@broken("iterator-items", f"{TASKS}.trainer.parameterIterator.items")
def a_loop_over_no_list(b):
    b.tasks["trainer"]["parameterIterator"] = {"items": {"raw": "1, 2"}, "itemInput": "run-id"}


@broken("iterator-items", f"{TASKS}.trainer.parameterIterator.items")
def a_loop_over_an_input_that_is_not_there(b):
    b.tasks["trainer"]["parameterIterator"] = {"items": {"inputParameter": "rates"}, "itemInput": "run-id"}


@broken("input-unknown", f"{TASKS}.trainer.parameterIterator.itemInput")
def a_loop_whose_item_nobody_takes(b):
    b.tasks["trainer"]["parameterIterator"] = {"items": {"raw": "[1, 2]"}, "itemInput": "rate"}


@broken("importer-condition", f"{TASKS}.schema.triggerPolicy.condition")
def a_condition_on_an_importer(b):
    b.add_task("schema", triggerPolicy={"condition": "true"})
    b.executors["exec-schema"] = {"importer": {"artifactUri": {"constant": "gs://b/schema"}}}


@broken("shared-container", "components.comp-same")
def equal_containers_of_components_that_differ(b):
    b.add_task("same")
    b.executors["exec-same"] = {"container": b.container("prepare")}


@broken("retry-policy", f"{TASKS}.trainer.retryPolicy")
def a_fractional_back_off(b):
    b.tasks["trainer"]["retryPolicy"]["backoffFactor"] = 1.5


@broken("retry-policy", f"{TASKS}.trainer.retryPolicy")
def a_fraction_of_a_second(b):
    b.tasks["trainer"]["retryPolicy"]["backoffDuration"] = "0.5s"


@broken("retry-policy", f"{TASKS}.trainer.retryPolicy")
def retries_that_end_before_the_first(b):
    del b.tasks["trainer"]["retryPolicy"]["backoffMaxDuration"]


@broken("runtime-value", f"{TASKS}.trainer.inputs.parameters.run-id.runtimeValue")
def a_constant_of_schema_2_0(b):
    b.tasks["trainer"]["inputs"]["parameters"]["run-id"] = {"runtimeValue": {"constantValue": {"stringValue": "x"}}}


# inputs and outputs


@broken("default-missing", "root.inputDefinitions.parameters.data-span")
def a_pipeline_parameter_without_a_default(b):
    del b.root["inputDefinitions"]["parameters"]["data-span"]["defaultValue"]


@broken("default-type", "root.inputDefinitions.parameters.train-epochs.defaultValue")
def a_default_of_another_type(b):
    b.root["inputDefinitions"]["parameters"]["train-epochs"]["defaultValue"] = "3"


@broken("default-type", "root.inputDefinitions.parameters.train-epochs.defaultValue")
def a_whole_number_with_a_fraction(b):
    b.root["inputDefinitions"]["parameters"]["train-epochs"]["defaultValue"] = 2.5


@broken("default-type", "root.inputDefinitions.parameters.train-epochs.defaultValue")
def a_whole_number_that_json_changes(b):
    b.root["inputDefinitions"]["parameters"]["train-epochs"]["defaultValue"] = 2**53 + 2


@broken("parameter-type", "components.comp-prepare.inputDefinitions.parameters.run-id")
def a_parameter_without_a_type(b):
    b.components["comp-prepare"]["inputDefinitions"]["parameters"]["run-id"] = {}


@broken("input-unknown", f"{TASKS}.trainer.inputs.parameters.epochs")
def an_input_that_the_component_does_not_have(b):
    b.tasks["trainer"]["inputs"]["parameters"]["epochs"] = {"runtimeValue": {"constant": 3}}


@broken("input-missing", f"{TASKS}.trainer.inputs.parameters.train-epochs")
def an_input_that_nobody_gives(b):
    del b.tasks["trainer"]["inputs"]["parameters"]["train-epochs"]


@broken("input-missing", f"{TASKS}.trainer.inputs.artifacts.model")
def an_artifact_that_nobody_gives(b):
    artifact = {"artifactType": {"schemaTitle": "system.Model", "schemaVersion": "0.0.1"}}
    b.components["comp-trainer"]["inputDefinitions"]["artifacts"] = {"model": artifact}


@broken("input-source", f"{TASKS}.evaluator.inputs.artifacts.model")
def an_artifact_that_the_producer_does_not_have(b):
    artifact = {"artifactType": {"schemaTitle": "system.Model", "schemaVersion": "0.0.1"}}
    b.components["comp-evaluator"]["inputDefinitions"]["artifacts"] = {"model": artifact}
    output = {"producerTask": "trainer", "outputArtifactKey": "model"}
    b.tasks["evaluator"]["inputs"]["artifacts"] = {"model": {"taskOutputArtifact": output}}


@broken("input-source", f"{TASKS}.evaluator.inputs.artifacts.model")
def an_artifact_that_the_dag_does_not_have(b):
    artifact = {"artifactType": {"schemaTitle": "system.Model", "schemaVersion": "0.0.1"}}
    b.components["comp-evaluator"]["inputDefinitions"]["artifacts"] = {"model": artifact}
    b.tasks["evaluator"]["inputs"]["artifacts"] = {"model": {"componentInputArtifact": "model"}}


@broken("input-unknown", f"{TASKS}.evaluator.inputs.artifacts.model")
def an_artifact_that_the_component_does_not_take(b):
    output = {"producerTask": "trainer", "outputArtifactKey": "lineage"}
    b.tasks["evaluator"]["inputs"]["artifacts"] = {"model": {"taskOutputArtifact": output}}


@broken("input-source", f"{TASKS}.trainer.inputs.parameters.train-epochs")
def a_parameter_that_the_dag_does_not_have(b):
    b.tasks["trainer"]["inputs"]["parameters"]["train-epochs"] = {"componentInputParameter": "epochs"}


@broken("input-source", f"{TASKS}.evaluator.inputs.parameters.run-id")
def an_output_that_the_producer_does_not_have(b):
    output = {"producerTask": "trainer", "outputParameterKey": "loss"}
    b.tasks["evaluator"]["inputs"]["parameters"]["run-id"] = {"taskOutputParameter": output}


@broken("input-source", f"{TASKS}.prepare.inputs.parameters.run-id")
def a_producer_in_another_dag(b):
    output = {"producerTask": "notify", "outputParameterKey": "status"}
    b.tasks["prepare"]["inputs"]["parameters"]["run-id"] = {"taskOutputParameter": output}


@broken("input-type", f"{TASKS}.trainer.inputs.parameters.train-epochs")
def a_text_for_a_number(b):
    b.tasks["trainer"]["inputs"]["parameters"]["train-epochs"] = {"componentInputParameter": "data-span"}


@broken("input-type", f"{TASKS}.trainer.inputs.parameters.train-epochs.runtimeValue.constant")
def a_constant_of_another_type(b):
    b.tasks["trainer"]["inputs"]["parameters"]["train-epochs"] = {"runtimeValue": {"constant": True}}


@broken("input-null", f"{TASKS}.trainer.inputs.parameters.train-epochs")
def a_value_that_may_be_missing_for_an_input_that_may_not(b):
    for component in (b.root, b.components["comp-pipeline"]):
        component["inputDefinitions"]["parameters"]["train-epochs"] = {
            "parameterType": "NUMBER_INTEGER",
            "isOptional": True,
        }


@broken("dag-output", "components.comp-pipeline.dag.outputs.parameters.model")
def an_output_of_a_dag_that_no_task_gives(b):
    selector = {"producerSubtask": "trainer", "outputParameterKey": "model"}
    b.components["comp-pipeline"]["dag"]["outputs"] = {"parameters": {"model": {"valueFromParameter": selector}}}


@broken("dag-output", "components.comp-pipeline.dag.outputs.parameters.state")
def an_output_of_a_dag_from_one_of_several_tasks_of_which_one_is_missing(b):
    selectors = [{"producerSubtask": task, "outputParameterKey": "status"} for task in ("trainer", "tuner")]
    outputs = {"state": {"valueFromOneof": {"parameterSelectors": selectors}}}
    b.components["comp-pipeline"]["dag"]["outputs"] = {"parameters": outputs}


@broken("dag-output", "components.comp-pipeline.dag.outputs.artifacts.model")
def an_artifact_of_a_dag_that_no_task_gives(b):
    selectors = [{"producerSubtask": "trainer", "outputArtifactKey": "model"}]
    b.components["comp-pipeline"]["dag"]["outputs"] = {"artifacts": {"model": {"artifactSelectors": selectors}}}


# exit tasks


@broken("exit-task", "root.dag.tasks.notify.dependentTasks")
def an_exit_task_of_two_tasks(b):
    b.root["dag"]["tasks"]["prepare"] = b.tasks["prepare"]
    b.root["dag"]["tasks"]["notify"]["dependentTasks"].append("prepare")
    del b.root["dag"]["tasks"]["notify"]["inputs"]["parameters"]["status"]
    del b.components["comp-notify"]["inputDefinitions"]["parameters"]["status"]


@broken("exit-task", "root.dag.tasks.notify")
def two_exit_tasks_of_one_task(b):
    b.root["dag"]["tasks"]["tell"] = b.root["dag"]["tasks"]["notify"]


@broken("exit-task", "root.dag.tasks.notify.dependentTasks")
def an_exit_task_of_a_loop(b):
    b.root["dag"]["tasks"]["pipeline"]["parameterIterator"] = {"items": {"raw": "[1, 2]"}, "itemInput": "train-epochs"}


@broken("exit-task", "components.comp-pipeline.dag.tasks")
def nothing_but_exit_tasks(b):
    b.components["comp-pipeline"]["dag"]["tasks"] = {}


@broken("exit-task", f"{TASKS}.evaluator.dependentTasks")
def a_task_that_waits_for_an_exit_task(b):
    b.tasks["infravalidator"]["triggerPolicy"] = {"strategy": "ALL_UPSTREAM_TASKS_COMPLETED"}
    b.tasks["infravalidator"]["dependentTasks"] = ["trainer"]
    b.tasks["pusher"]["dependentTasks"].remove("infravalidator")
    b.tasks["evaluator"]["dependentTasks"].append("infravalidator")


@broken("final-status", "root.dag.tasks.notify.inputs.parameters.status")
def the_status_of_a_task_that_is_not_guarded(b):
    status = b.root["dag"]["tasks"]["notify"]["inputs"]["parameters"]["status"]
    status["taskFinalStatus"]["producerTask"] = "trainer"


@broken("final-status", "root.dag.tasks.notify.inputs.parameters.status")
def the_status_for_an_input_of_another_type(b):
    b.components["comp-notify"]["inputDefinitions"]["parameters"]["status"]["parameterType"] = "STRING"


# placeholders and conditions


@broken("placeholder", f"{EXECUTORS}.exec-trainer.container.args[0]")
def a_placeholder_that_the_launcher_does_not_know(b):
    b.container("trainer")["args"][0] = "{{$.inputs.artifacts['model'].value}}"


@broken("placeholder", f"{EXECUTORS}.exec-trainer.container.args[0]")
def a_placeholder_for_no_input(b):
    b.container("trainer")["args"][0] = "--epochs={{$.inputs.parameters['epochs']}}"


@broken("placeholder", f"{EXECUTORS}.exec-trainer.container.args[0]")
def a_placeholder_for_no_output(b):
    b.container("trainer")["args"][0] = "{{$.outputs.parameters['loss'].output_file}}"


@broken("placeholder", f"{EXECUTORS}.exec-trainer.container.args[0]")
def a_placeholder_that_is_never_closed(b):
    b.container("trainer")["args"][0] = "{{$.inputs.parameters['train-epochs']"


@broken("placeholder", f"{EXECUTORS}.exec-trainer.container.args[0]")
def a_concatenation(b):
    b.container("trainer")["args"][0] = '{"Concat": ["a", "b"]}'


@broken("placeholder", f"{EXECUTORS}.exec-trainer.container.command[0]")
def a_placeholder_in_the_first_word(b):
    b.container("trainer")["command"][0] = "{{$.inputs.parameters['run-id']}}"


@broken("placeholder", f"{EXECUTORS}.exec-trainer.container.env")
def a_placeholder_in_a_variable(b):
    b.container("trainer")["env"][0]["value"] = "{{$.inputs.parameters['run-id']}}"


@broken("placeholder", f"{EXECUTORS}.exec-trainer.container: resourceCpuLimit")
def a_resource_by_an_input_that_is_not_there(b):
    b.container("trainer")["resources"]["resourceCpuLimit"] = "{{$.inputs.parameters['cpu']}}"


@broken("placeholder", f"{TASKS}.trainer.inputs.parameters.run-id.runtimeValue.constant")
def a_constant_that_the_driver_does_not_know(b):
    b.tasks["trainer"]["inputs"]["parameters"]["run-id"]["runtimeValue"]["constant"] = "{{$.pipeline_run_id}}"


@broken("condition", f"{TASKS}.trainer.triggerPolicy.condition")
def a_condition_on_no_input(b):
    b.tasks["trainer"]["triggerPolicy"] = {"condition": "inputs.parameter_values['blessed'] == 'true'"}


@broken("condition", f"{TASKS}.trainer.triggerPolicy.condition")
def a_condition_with_an_open_bracket(b):
    b.tasks["trainer"]["triggerPolicy"] = {"condition": "(int(inputs.parameter_values['train-epochs']) > 1"}


@broken("condition", f"{TASKS}.trainer.triggerPolicy.condition")
def a_condition_in_python(b):
    b.tasks["trainer"]["triggerPolicy"] = {"condition": "not inputs.parameter_values['train-epochs'] > 1"}


# sizes


@broken("argument-size", f"{EXECUTORS}.exec-trainer.container.args[5]")
def an_argument_that_linux_does_not_take(b):
    b.container("trainer")["args"][5] = "A" * 131_072


@broken("argument-size", f"{EXECUTORS}.exec-trainer.container")
def a_container_that_the_driver_cannot_be_given(b):
    b.container("trainer")["args"] += ["A" * 50_000] * 3


@broken("workflow-size", "pipeline")
def a_workflow_that_cannot_be_stored(b):
    for step in b.tasks:
        b.container(step)["args"].append("A" * 90_000)


# containers


@broken("image", f"{EXECUTORS}.exec-trainer.container.image")
def an_image_name_with_capitals(b):
    b.container("trainer")["image"] = "registry.example/Headrace:1"


@broken("image", f"{EXECUTORS}.exec-trainer.container.image")
def a_container_without_an_image(b):
    del b.container("trainer")["image"]


@broken("image", f"{EXECUTORS}.exec-trainer.container.image")
def a_digest_that_is_cut_off(b):
    b.container("trainer")["image"] = "registry.example/headrace@sha256:abc"


@broken("command", f"{EXECUTORS}.exec-trainer.container.command")
def a_container_without_a_command(b):
    b.container("trainer")["command"] = []


@broken("env", f"{EXECUTORS}.exec-trainer.container.env")
def a_variable_whose_name_has_a_space(b):
    b.container("trainer")["env"].append({"name": "LOG LEVEL", "value": "1"})


@broken("env", f"{EXECUTORS}.exec-trainer.container.env")
def a_variable_in_both_documents(b):
    b.container("trainer")["env"].append({"name": "LEVEL", "value": "1"})


@broken("env", f"{PLATFORM}.exec-trainer")
def a_variable_of_a_secret_whose_name_starts_with_a_number(b):
    b.platform["exec-trainer"]["secretAsEnv"][0]["keyToEnv"][0]["envVar"] = "1PASSWORD"


@broken("quantity", f"{EXECUTORS}.exec-trainer.container.resources")
def memory_in_another_grammar(b):
    b.container("trainer")["resources"] |= {"resourceMemoryLimit": "32GB"}


@broken("request-over-limit", f"{EXECUTORS}.exec-trainer.container.resources")
def a_request_above_the_limit(b):
    b.container("trainer")["resources"]["resourceMemoryLimit"] = "8G"  # the request is 8Gi


@broken("accelerator", f"{EXECUTORS}.exec-trainer.container.resources.accelerator")
def an_accelerator_as_vertex_names_it(b):
    b.container("trainer")["resources"]["accelerator"]["resourceType"] = "NVIDIA_TESLA_T4"


@broken("accelerator", f"{EXECUTORS}.exec-trainer.container.resources.accelerator")
def half_an_accelerator(b):
    b.container("trainer")["resources"]["accelerator"]["resourceCount"] = "500m"


@broken("accelerator", f"{EXECUTORS}.exec-trainer.container.resources.accelerator")
def an_accelerator_without_a_count(b):
    del b.container("trainer")["resources"]["accelerator"]["resourceCount"]


# the platform document


@broken("platform-schema", f"{PLATFORM}.exec-trainer")
def an_unknown_field_of_the_platform(b):
    b.platform["exec-trainer"]["hostNetwork"] = True


@broken("platform-schema", "platforms")
def a_platform_that_nobody_reads(b):
    b.package.platform["platforms"]["docker"] = b.package.platform["platforms"].pop("kubernetes")


@broken("platform-label", f"{PLATFORM}.exec-train")
def settings_of_an_executor_that_is_not_there(b):
    b.platform["exec-train"] = b.platform.pop("exec-trainer")


@broken("platform-value", f"{PLATFORM}.exec-trainer.secretAsEnv[0]")
def a_secret_without_a_name(b):
    del b.platform["exec-trainer"]["secretAsEnv"][0]["secretName"]
    del b.platform["exec-trainer"]["secretAsEnv"][0]["secretNameParameter"]


@broken("platform-value", f"{PLATFORM}.exec-trainer.tolerations[0].operator")
def an_operator_that_tolerations_do_not_have(b):
    b.platform["exec-trainer"]["tolerations"][0]["operator"] = "In"


@broken("platform-value", f"{PLATFORM}.exec-trainer.tolerations[0].value")
def a_value_for_exists(b):
    b.platform["exec-trainer"]["tolerations"][0]["value"] = "present"


@broken("platform-value", f"{PLATFORM}.exec-trainer.tolerations[0].effect")
def an_effect_that_taints_do_not_have(b):
    b.platform["exec-trainer"]["tolerations"][0]["effect"] = "NoRun"


@broken("platform-value", f"{PLATFORM}.exec-trainer.nodeSelector.labels")
def a_label_value_with_a_space(b):
    b.platform["exec-trainer"]["nodeSelector"]["labels"]["pool"] = "gpu nodes"


@broken("platform-value", f"{PLATFORM}.exec-trainer.nodeAffinity[0].matchExpressions")
def an_affinity_without_values(b):
    b.platform["exec-trainer"]["nodeAffinity"][0]["matchExpressions"][0]["values"] = []


@broken("platform-value", f"{PLATFORM}.exec-trainer.imagePullPolicy")
def a_pull_policy_that_is_none(b):
    b.platform["exec-trainer"]["imagePullPolicy"] = "Sometimes"


@broken("platform-value", f"{PLATFORM}.exec-trainer.activeDeadlineSeconds")
def a_deadline_in_the_past(b):
    b.platform["exec-trainer"]["activeDeadlineSeconds"] = -1


@broken("platform-value", f"{PLATFORM}.exec-trainer.fieldPathAsEnv[0].fieldPath")
def a_variable_from_no_field(b):
    b.platform["exec-trainer"]["fieldPathAsEnv"] = [{"name": "POD"}]


@broken("platform-value", f"{PLATFORM}.exec-trainer.nodeAffinity[0].matchExpressions")
def an_operator_that_affinity_does_not_have(b):
    b.platform["exec-trainer"]["nodeAffinity"][0]["matchExpressions"][0]["operator"] = "Equal"


@broken("platform-value", f"{PLATFORM}.exec-trainer.nodeAffinity[0].matchExpressions")
def an_affinity_without_a_label(b):
    b.platform["exec-trainer"]["nodeAffinity"][0]["matchExpressions"][0]["key"] = ""


@broken("platform-value", f"{PLATFORM}.exec-trainer.tolerations[0].key")
def a_toleration_of_nothing(b):
    b.platform["exec-trainer"]["tolerations"][0] = {"operator": "Equal", "value": "x"}


@broken("platform-value", f"{PLATFORM}.exec-trainer.enabledSharedMemory.size")
def shared_memory_in_another_grammar(b):
    b.platform["exec-trainer"]["enabledSharedMemory"]["size"] = "2 GB"


@broken("mount", f"{PLATFORM}.exec-trainer.pvcMount")
def a_mount_path_that_is_relative(b):
    b.platform["exec-trainer"]["pvcMount"][0]["mountPath"] = "pipeline"


@broken("mount", f"{PLATFORM}.exec-trainer.pvcMount")
def a_mount_over_a_folder_of_the_launcher(b):
    b.platform["exec-trainer"]["pvcMount"][0]["mountPath"] = "/minio/"


@broken("mount", f"{PLATFORM}.exec-trainer")
def two_mounts_at_one_path(b):
    b.platform["exec-trainer"]["secretAsVolume"][0]["mountPath"] = "/pipeline/"


@broken("mount", f"{PLATFORM}.exec-trainer")
def one_claim_mounted_twice(b):
    mounts = b.platform["exec-trainer"]["pvcMount"]
    mounts.append({**mounts[0], "mountPath": "/again"})


@broken("mount", f"{PLATFORM}.exec-trainer.secretAsVolume")
def a_secret_whose_name_no_volume_can_have(b):
    b.platform["exec-trainer"]["secretAsVolume"] = [{"secretName": "keys.v1", "mountPath": "/keys"}]


@pytest.mark.parametrize(("rule", "where", "change"), CASES)
def test_a_broken_pipeline_is_refused_for_its_own_reason_only(package, rule, where, change):
    change(Broken(package))
    errors = [finding for finding in check(package) if finding.severity == "error"]
    assert {error.rule for error in errors} == {rule}, errors
    assert where in {error.where for error in errors}
    assert all(error.what and error.fix for error in errors)


def test_the_corpus_has_a_case_for_each_rule_that_is_an_error():
    warnings, other_tests = {"unused", "image-digest"}, {"quota"}
    assert {case.values[0] for case in CASES} == set(RULES) - warnings - other_tests


@pytest.mark.parametrize(("file", "seen"), [("two_pipelines", "2 pipeline specs"), ("tabs", "cannot start any token")])
def test_a_file_that_is_not_two_documents_is_refused_when_it_is_read(file, seen):
    with pytest.raises(HeadraceError) as caught:
        read_package(CORPUS / f"{file}.yaml")
    assert caught.value.code == "HR-KFP-001"
    assert seen in caught.value.seen[0]


@pytest.mark.parametrize(
    ("file", "rule", "where", "word"),
    [
        ("pipeline_job", "pipeline-schema", "pipeline", "displayName"),
        ("a_date", "plain-values", "pipelineInfo.description", "quote it"),
        ("inside_itself", "plain-values", "", "deeper than"),
        ("tfx_resolver", "implementation", "deploymentSpec.executors.LatestModel_executor", "resolver"),
    ],
)
def test_a_file_that_another_tool_wrote_is_refused(file, rule, where, word):
    errors = [finding for finding in check(read_package(CORPUS / f"{file}.yaml")) if finding.severity == "error"]
    assert any(e.rule == rule and e.where.startswith(where) and word in e.what for e in errors), errors


def test_what_tfx_writes_is_refused_for_every_reason_at_once():
    """KubeflowV2DagRunner's own output, without its wrapper."""
    assert error_rules(read_package(CORPUS / "tfx_resolver.yaml")) == {
        "schema-version",
        "implementation",
        "default-missing",
        "runtime-value",
        "accelerator",
        "task-name",
    }
