"""`headrace kubeflow simulate`: from its options to a run and its printout."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pipeline
from pipeline.kubeflow.package import read_package
from pipeline.kubeflow.simulate import Options, Result, simulate
from pipeline.kubeflow.simulate.given import read_given
from pipeline.kubeflow.simulate.parameters import parse_parameters
from pipeline.kubeflow.simulate.view import View, closing

WORK = ".headrace-simulate"


@dataclass(frozen=True)
class Request:
    """The options as they were written."""

    package_file: str
    params: tuple[str, ...] = ()
    profile: str = "2.17"
    secrets: tuple[str, ...] = ()
    secret_file: str | None = None
    work: str | None = None
    writable: tuple[str, ...] = ()


def run(request: Request, write: Callable[[str], None]) -> Result:
    """Play a package file and write what happens; the code of the steps is this installation's.

    Raises:
        HeadraceError: HR-KFP-001, HR-KFP-095, or what `simulate` raises.
    """
    package = read_package(request.package_file)
    parameters = parse_parameters(package, request.params)
    secrets, config_maps = read_given(request.secrets, request.secret_file)
    run_id = str(uuid.uuid4())
    name = package.pipeline.get("pipelineInfo", {}).get("name", "pipeline")
    work_dir = Path(request.work or Path(WORK, name, run_id)).absolute()
    options = Options(
        work_dir,
        parameters,
        request.profile,
        secrets,
        config_maps,
        code_dirs=[Path(pipeline.__file__).parents[1]],
        writable=[Path(folder).absolute() for folder in request.writable],
        run_id=run_id,
    )
    result = simulate(package, options, View(write).on_event)
    for line in closing(result, work_dir):
        write(line)
    return result
