"""What the documents say can be typed: commands exist, the guide's task is a valid one, links lead somewhere."""

import re
from pathlib import Path

import click
import pytest

from pipeline.cli import main
from pipeline.config.load import load_task

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "docs/guide.md", "docs/kubernetes.md", "k8s/README.md"]


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / document).read_text(), re.S)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_headrace_command_exists(document):
    text = (ROOT / document).read_text()
    for words in re.findall(r"(?:^|`)headrace ([a-z]+)(?: ([a-z]+))?", text, re.M):
        command = main.commands[words[0]]
        if isinstance(command, click.Group) and words[1]:
            assert words[1] in command.commands


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_target_exists(document):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / document).read_text(), re.M)) <= targets


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_leads_somewhere(document):
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / document).read_text()):
        assert (ROOT / document).parent.joinpath(target).exists(), target


def test_the_guides_task_is_a_valid_one(tmp_path, monkeypatch, capsys):
    task = tmp_path / "churn"
    task.mkdir()
    (task / "task.yaml").write_text(blocks("docs/guide.md", "yaml")[0])
    features, model = blocks("docs/guide.md", "python")
    (task / "features.py").write_text(features)
    (task / "model.py").write_text(model)
    (task / "schema.pbtxt").write_text('feature { name: "churned" type: INT }')
    monkeypatch.chdir(tmp_path)
    main(["config", "validate", str(task)], standalone_mode=False)
    assert "churn is valid" in capsys.readouterr().out
    assert load_task(str(task)).config.evaluate.thresholds["auc"].min == 0.7


@pytest.mark.tf
def test_the_guides_model_can_be_built():
    from components.trainer.context import ModelContext

    namespace: dict = {}
    exec(blocks("docs/guide.md", "python")[1], namespace)
    model = namespace["build_model"](
        ModelContext({"numeric": ((1,), "float32"), "country": ((), "int64")}, {"country": 3}, 2)
    )
    assert model.output_shape == (None, 1)
