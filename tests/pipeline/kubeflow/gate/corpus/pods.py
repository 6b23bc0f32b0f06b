"""What no pod can be: sizes, containers, the platform document."""

from tests.pipeline.kubeflow.gate.corpus.broken import EXECUTORS, PLATFORM, Cases

broken = Cases()


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
