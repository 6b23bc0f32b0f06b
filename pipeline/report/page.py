"""The HTML report of a run: one self-contained file, from run.json and the artifacts that it names.

Works for runs that failed, that still go on, and whose artifacts are gone. Names and values from data are hostile:
Jinja escapes them, and the page's own policy forbids any script but the one that the report carries.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

from pipeline import __version__
from pipeline.console import figures
from pipeline.errors import HeadraceError
from pipeline.report.sections import contents
from pipeline.system_errors import coded_os_errors

TEMPLATES = Path(__file__).parent / "templates"
SECTIONS = ("nodes", "quality", "models", "training", "data", "lineage", "config")


def write_report(run_dir: Path) -> Path:
    """Write `report.html` into the folder of a run and return its path; an earlier report is replaced at once.

    Raises:
        HeadraceError: HR-REPORT-001 no readable run.json, HR-SYS-001 to HR-SYS-005 the file cannot be written.
    """
    run_dir = Path(run_dir)
    text, target = render(read_run(run_dir), run_dir), run_dir / "report.html"
    partial = run_dir / f".report.{os.getpid()}.html"
    with coded_os_errors(target):
        try:
            partial.write_text(text, encoding="utf-8", errors="replace")
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    return target


def _compiled_templates(task_dir: Path) -> Path | None:
    """Return the folder of compiled templates beside the runs, most of the time of a report; None if it cannot be."""
    folder = task_dir / ".templates"
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def read_run(run_dir: Path) -> dict:
    """Return the run record of a run folder. Raises: HR-REPORT-001."""
    path = run_dir / "run.json"
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(run, dict):
            raise ValueError(f"a {type(run).__name__} instead of an object")
    except (OSError, ValueError) as error:
        raise HeadraceError(
            "HR-REPORT-001",
            f"the run record {path} cannot be read",
            seen=[error.strerror if isinstance(error, OSError) else str(error)],
            expected="the run.json that headrace run writes",
            fix=["headrace runs   lists the runs", "headrace run TASK   makes a new one; what is cached is kept"],
        ) from error
    return run


def render(run: dict, run_dir: Path, sections: Sequence[str] = SECTIONS, source: str = "run.json") -> str:
    """Return the report of a run record as HTML, or some sections of it.

    Args:
        source: what the record was made from, for the page's foot.
    """
    from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    compiled = _compiled_templates(run_dir.parent)
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        bytecode_cache=FileSystemBytecodeCache(str(compiled)) if compiled else None,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in (
        "count",
        "compact",
        "counted",
        "seconds",
        "microseconds",
        "size",
        "ratio",
        "percent",
        "signed",
        "general",
        "bound",
        "value",
    ):
        environment.filters[name] = getattr(figures, name)
    environment.filters["signs"] = lambda text: text.replace(">=", "≥").replace("<=", "≤")
    environment.filters["metric_of"] = lambda value, name: figures.metric(name, value)
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8").strip()
    page = {
        "style": Markup((TEMPLATES / "report.css").read_text(encoding="utf-8").strip()),  # noqa: S704 our own file
        "script": Markup(script),  # noqa: S704 our own file
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "version": __version__,
    }
    shown = {"run": run, "sections": sections, "source": source, **page, **contents(run, run_dir)}
    return environment.get_template("report.html.j2").render(shown)
