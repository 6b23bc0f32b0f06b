"""What k8s/README.md says can be typed: commands, folders and objects are there."""

import re

import click

from pipeline.cli import main
from tests.k8s.built import K8S, ROOT, named, of_kind

README = (K8S / "README.md").read_text()
BLOCKS = "\n".join(re.findall(r"^ *```\n(.*?)^ *```", README, re.M | re.S))


def test_every_headrace_command_and_option_exists():
    found = re.findall(r"(?:^|`)\s*headrace ((?:[a-z]+ ?)+)(.*)", README, re.M)
    assert len(found) >= 8
    for words, rest in found:
        command: click.Command = main
        for word in words.split():
            if isinstance(command, click.Group):
                command = command.commands[word]
        options = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"(?<= )--[a-z-]+", rest.split("`")[0])) <= options, words


def test_every_path_of_the_repository_exists():
    for path in re.findall(r"(?<![/\w])((?:k8s|pipeline)/[\w./-]+)", README):
        assert (ROOT / path.rstrip(".")).exists(), path


def test_every_folder_that_is_applied_is_checked_first():
    applied = set(re.findall(r"kubectl apply (?:-n \S+ )?-k (\S+)", BLOCKS))
    assert applied == {"k8s/overlays/dev", "k8s/data", "k8s/overlays/prod", "k8s/training"}
    for folder in applied:
        assert BLOCKS.index(f"k8s/check {folder}") < BLOCKS.index(f"-k {folder}")


def test_every_object_that_commands_name_is_in_its_overlay():
    kinds = {"statefulset": "StatefulSet", "job": "Job", "jobset": "JobSet"}
    folders = {"statefulset": "overlays/dev", "job": "data", "jobset": "training"}
    objects = set(re.findall(r"\b(statefulset|job|jobset)/(headrace-[a-z-]+)", BLOCKS))
    assert len(objects) == 3
    for kind, name in objects:
        named(folders[kind], kinds[kind], name)
    for claim in re.findall(r"delete pvc (\S+)", BLOCKS):
        (database,) = of_kind("overlays/dev", "StatefulSet")
        (template,) = database["spec"]["volumeClaimTemplates"]
        assert claim == f"{template['metadata']['name']}-{database['metadata']['name']}-0"
    for budget in re.findall(r"delete pdb ([a-z-]+)", README):
        named("overlays/dev", "PodDisruptionBudget", budget)
    assert "create token headrace-publisher" in BLOCKS
    named("overlays/prod", "ServiceAccount", "headrace-publisher")


def test_the_targets_that_it_builds_are_stages_of_the_dockerfile():
    dockerfile = (ROOT / "Dockerfile").read_text()
    for target in re.findall(r"--target ([a-z]+)", README):
        assert re.search(rf"^FROM \S+ AS {target}$", dockerfile, re.M), target
