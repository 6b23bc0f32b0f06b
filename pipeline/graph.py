"""THE one DAG. `build` returns it as a TFX pipeline; both runners execute what TFX's compiler makes of it.

ImportSchemaGen -> ExampleGen -> StatisticsGen -> ExampleValidator (gate)
                   ExampleGen -> Transform -> Trainer -> Evaluator (against LatestBlessedModel)
                                              Trainer -> Quantizer -> EdgeEvaluator (gate)
                                              Trainer -> InfraValidator
                                 Evaluator, EdgeEvaluator, InfraValidator -> Pusher
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import BaseModel

from pipeline.config.model import TaskConfig
from pipeline.config.paths import artifacts_dir, metadata_path, serving_dir

if TYPE_CHECKING:
    from tfx.orchestration.pipeline import Pipeline


def build(config: TaskConfig, task_dir: str, input_digest: str = "") -> Pipeline:
    """Return the TFX pipeline of a task.

    Args:
        config: the task's configuration; each node gets its own section of it, as canonical JSON.
        task_dir: folder of features.py and model.py.
        input_digest: digest of the source data, so that TFX's own cache also sees it change.
    """
    from tfx.dsl.components.common.resolver import Resolver
    from tfx.orchestration import metadata
    from tfx.orchestration.pipeline import Pipeline
    from tfx.types import standard_artifacts
    from tfx.types.channel import Channel

    from components.evaluator.baseline import LatestOtherBlessedModel
    from components.evaluator.component import Evaluator
    from components.evaluator.edge_component import EdgeEvaluator
    from components.infra_validator.component import InfraValidator
    from components.ingest.component import ExampleGen
    from components.pusher.component import Pusher
    from components.quantizer.component import Quantizer
    from components.trainer.component import Trainer
    from components.transform.component import Transform
    from components.validate.example_validator import ExampleValidator
    from components.validate.import_schema_gen import ImportSchemaGen
    from components.validate.statistics_gen import StatisticsGen

    beam = _json(config.beam)
    task = {"label": config.label, "problem": config.problem}

    schema = ImportSchemaGen(schema_path=config.schema_path).with_id("ImportSchemaGen")
    examples = ExampleGen(
        schema=schema.outputs["schema"],
        config=json.dumps({"data": _values(config.data), "split": _values(config.split), **task}, sort_keys=True),
        input_digest=input_digest,
    ).with_id("ExampleGen")
    statistics = StatisticsGen(
        examples=examples.outputs["examples"], schema=schema.outputs["schema"], beam=beam
    ).with_id("StatisticsGen")
    validator = ExampleValidator(
        statistics=statistics.outputs["statistics"],
        schema=schema.outputs["schema"],
        config=_json(config.validation),
        task=config.name,
        schema_path=config.schema_path,
    ).with_id("ExampleValidator")
    transform = Transform(
        examples=examples.outputs["examples"],
        schema=schema.outputs["schema"],
        config=_json(config.transform),
        beam=beam,
        task_dir=task_dir,
    ).with_id("Transform")
    transform.add_upstream_node(validator)  # nothing is computed on data that did not pass
    transformed = transform.outputs["transformed_examples"]
    trainer = Trainer(
        transformed_examples=transformed,
        transform_graph=transform.outputs["transform_graph"],
        config=_json(config.train),
        task_dir=task_dir,
        **task,
    ).with_id("Trainer")
    model = trainer.outputs["model"]
    baseline = Resolver(
        strategy_class=LatestOtherBlessedModel,
        config={"baseline": config.evaluate.baseline},
        candidate=model,
        baseline_model=Channel(type=standard_artifacts.Model),
        blessing=Channel(type=standard_artifacts.ModelBlessing),
    ).with_id("LatestBlessedModel")
    evaluator = Evaluator(
        examples=examples.outputs["examples"],
        transformed_examples=transformed,
        model=model,
        baseline_model=baseline.outputs["baseline_model"],
        config=_json(config.evaluate),
        **task,
    ).with_id("Evaluator")
    quantizer = Quantizer(
        model=model, transformed_examples=transformed, config=_json(config.quantize), label=config.label
    ).with_id("Quantizer")
    edge_evaluator = EdgeEvaluator(
        transformed_examples=transformed,
        evaluation=evaluator.outputs["evaluation"],
        quantized=quantizer.outputs["quantized"],
        config=json.dumps(
            {"edge_evaluate": _values(config.edge_evaluate), "evaluate": _values(config.evaluate), **task},
            sort_keys=True,
        ),
    ).with_id("EdgeEvaluator")
    infra_validator = InfraValidator(
        model=model, examples=examples.outputs["examples"], config=_json(config.infra_validate)
    ).with_id("InfraValidator")
    pusher = Pusher(
        model=model,
        model_blessing=evaluator.outputs["blessing"],
        infra_blessing=infra_validator.outputs["blessing"],
        edge_evaluation=edge_evaluator.outputs["edge_evaluation"],
        config=json.dumps({"base_dir": serving_dir(config)}),
    ).with_id("Pusher")

    return Pipeline(
        pipeline_name=config.name,
        pipeline_root=artifacts_dir(config),
        components=[
            schema,
            examples,
            statistics,
            validator,
            transform,
            trainer,
            baseline,
            evaluator,
            quantizer,
            edge_evaluator,
            infra_validator,
            pusher,
        ],
        enable_cache=False,  # the content key decides; TFX's key sees neither code nor what a file holds
        metadata_connection_config=metadata.sqlite_metadata_connection_config(metadata_path(config)),
    )


def _values(section: BaseModel) -> dict:
    return section.model_dump(mode="json")


def _json(section: BaseModel) -> str:
    return json.dumps(_values(section), sort_keys=True)
