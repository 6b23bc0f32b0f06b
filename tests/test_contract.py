"""The rules that the whole tree keeps: layers, module size, light imports, documented errors."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import error_codes

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(
    path for folder in ("pipeline", "components", "bench", "tests") for path in (ROOT / folder).rglob("*.py")
)
HEAVY = (
    "tensorflow",
    "tfx",
    "apache_beam",
    "keras",
    "tf_keras",
    "pandas",
    "pyarrow",
    "numpy",
    "sklearn",
    "matplotlib",
    "grpc",
)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_is_longer_than_600_lines(path):
    assert len(path.read_text().splitlines()) <= 600


def test_no_module_imports_tfx_v1():
    names = {
        (path, alias)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in [getattr(node, "module", None) or node.names[0].name]
    }
    assert not [(str(path), name) for path, name in names if name == "tfx.v1" or name.startswith("tfx.v1.")]


def test_layers_hold():
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "command",
    [["--help"], ["run", "--help"], ["tasks"], ["config", "show", "flights"], ["runs", "flights"]],
    ids=" ".join,
)
def test_light_commands_import_nothing_heavy(command, tmp_path):
    code = (
        "import sys; from pipeline.cli import main; main(sys.argv[1:], standalone_mode=False); "
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.strip().splitlines()[-1] == "[]", done.stderr


def test_every_error_code_is_documented_and_every_documented_code_exists():
    assert (ROOT / "docs" / "errors.md").read_text() == error_codes.markdown()


def test_every_error_code_is_raised_somewhere():
    text = "\n".join(
        path.read_text() for path in SOURCES if path.name != "error_codes.py" and "tests" not in path.parts
    )
    text += "\n".join(path.read_text() for path in (ROOT / "tools").iterdir() if path.is_file())
    assert [code for code in error_codes.CODES if code not in text] == []
