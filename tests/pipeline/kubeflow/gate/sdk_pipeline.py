"""A pipeline with most of what the kfp SDK can write for the open-source server; `python sdk_pipeline.py FILE`."""

import sys

from kfp import compiler, dsl, kubernetes


@dsl.component(base_image="python:3.12")
def number(n: int = 3) -> int:
    return n


@dsl.component(base_image="python:3.12")
def say(word: str, rate: float = 0.5, names: list = ["a"], options: dict = {"k": 1}) -> str:  # noqa: B006
    return word


@dsl.component(base_image="python:3.12")
def write(model: dsl.Output[dsl.Model], text: str = ""):
    pass


@dsl.component(base_image="python:3.12")
def read(model: dsl.Input[dsl.Model], schema: dsl.Input[dsl.Artifact]):
    pass


@dsl.component(base_image="python:3.12")
def tell(status: dsl.PipelineTaskFinalStatus):
    pass


@dsl.container_component
def shell(text: str, result: dsl.OutputPath(str)):
    return dsl.ContainerSpec(image="alpine:3", command=["sh", "-c"], args=[text, "--out", result])


@dsl.pipeline(name="from-the-sdk")
def pipeline(n: int = 4, word: str = "w", flag: bool = True):
    volume = kubernetes.CreatePVC(
        pvc_name="data", access_modes=["ReadWriteMany"], size="5Gi", storage_class_name="standard"
    )
    with dsl.ExitHandler(tell()):
        found = number(n=n).set_retry(2)
        with dsl.If(found.output > 2):
            say(word=f"{word}-{found.output}")
        with dsl.Elif(found.output == 2):
            say(word=word)
        with dsl.Else():
            shell(text=word)
        with dsl.ParallelFor([1, 2]) as item:
            number(n=item)
        schema = dsl.importer(artifact_uri="gs://b/schema", artifact_class=dsl.Artifact)
        written = write(text="x").set_cpu_limit("2").set_memory_limit("4Gi").set_accelerator_limit(1)
        written.set_accelerator_type("nvidia.com/gpu")
        kubernetes.mount_pvc(written, volume.outputs["name"], "/data")
        kubernetes.use_secret_as_env(written, "keys", {"token": "TOKEN"})
        kubernetes.use_config_map_as_volume(written, "settings", "/settings")
        kubernetes.add_toleration(written, key="nvidia.com/gpu", operator="Exists", effect="NoSchedule")
        kubernetes.add_node_selector(written, "pool", "gpu")
        read(model=written.outputs["model"], schema=schema.output)


if __name__ == "__main__":
    compiler.Compiler().compile(pipeline, sys.argv[1])
