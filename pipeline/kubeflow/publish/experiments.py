"""Experiments: the folders in which Kubeflow keeps runs."""

from __future__ import annotations

from typing import Any

from pipeline.kubeflow.publish.client import Api, named


def experiment_id(api: Api, name: str) -> str:
    """Return the id of an experiment, created when there is none of that name.

    Raises:
        HeadraceError: as `Api.write`.
    """
    import kfp_server_api

    def find() -> Any:
        found = api.pages(
            "list experiments",
            api.services.experiments.experiment_service_list_experiments,
            "experiments",
            namespace=api.namespace,
            filter=named(name),
        )
        return next((experiment for experiment in found if experiment.display_name == name), None)

    experiment = find() or api.write(
        f"create the experiment {name}",
        api.services.experiments.experiment_service_create_experiment,
        find,
        body=kfp_server_api.V2beta1Experiment(display_name=name, namespace=api.namespace),
    )
    return experiment.experiment_id
