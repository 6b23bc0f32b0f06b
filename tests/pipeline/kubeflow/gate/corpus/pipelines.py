"""Broken pipeline documents: names, references, order, inputs, expressions."""

from tests.pipeline.kubeflow.gate.corpus.broken import EXECUTORS, TASKS, Cases

broken = Cases()


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
