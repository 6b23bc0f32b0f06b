"""THE one DAG. `build` returns it as a TFX pipeline; both runners execute what TFX's compiler makes of it.

ImportSchemaGen -> ExampleGen -> StatisticsGen -> ExampleValidator (gate)
                   ExampleGen -> Transform -> Trainer -> Evaluator (against LatestBlessedModel)
                                              Trainer -> Quantizer -> EdgeEvaluator (gate)
                                              Trainer -> InfraValidator
                                 Evaluator, EdgeEvaluator, InfraValidator -> Pusher
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline.config.model import TaskConfig
from pipeline.config.paths import artifacts_dir, serving_dir
from pipeline.nodes import BY_ID

if TYPE_CHECKING:
    from tfx.orchestration.pipeline import Pipeline


def build(config: TaskConfig, task_dir: str) -> Pipeline:
    """Return the TFX pipeline of a task.

    Args:
        config: the task's configuration; each node gets its own part of it, as canonical JSON.
        task_dir: folder of features.py and model.py.
    """
    from tfx.dsl.components.common.resolver import Resolver
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

    values = {**config.model_dump(mode="json"), "push": {"base_dir": serving_dir(config)}}

    def given(node_id: str) -> str:
        return json.dumps(part(values, BY_ID[node_id].receives), sort_keys=True)

    schema = ImportSchemaGen(config=given("ImportSchemaGen")).with_id("ImportSchemaGen")
    examples = ExampleGen(schema=schema.outputs["schema"], config=given("ExampleGen")).with_id("ExampleGen")
    statistics = StatisticsGen(
        examples=examples.outputs["examples"], schema=schema.outputs["schema"], config=given("StatisticsGen")
    ).with_id("StatisticsGen")
    validator = ExampleValidator(
        statistics=statistics.outputs["statistics"],
        schema=schema.outputs["schema"],
        config=given("ExampleValidator"),
    ).with_id("ExampleValidator")
    transform = Transform(
        examples=examples.outputs["examples"],
        schema=schema.outputs["schema"],
        config=given("Transform"),
        task_dir=task_dir,
    ).with_id("Transform")
    transform.add_upstream_node(validator)  # nothing is computed on data that did not pass
    transformed = transform.outputs["transformed_examples"]
    trainer = Trainer(
        transformed_examples=transformed,
        transform_graph=transform.outputs["transform_graph"],
        config=given("Trainer"),
        task_dir=task_dir,
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
        config=given("Evaluator"),
    ).with_id("Evaluator")
    quantizer = Quantizer(
        model=model, transformed_examples=transformed, config=given("Quantizer")
    ).with_id("Quantizer")
    edge_evaluator = EdgeEvaluator(
        transformed_examples=transformed,
        evaluation=evaluator.outputs["evaluation"],
        quantized=quantizer.outputs["quantized"],
        config=given("EdgeEvaluator"),
    ).with_id("EdgeEvaluator")
    infra_validator = InfraValidator(
        model=model, examples=examples.outputs["examples"], config=given("InfraValidator")
    ).with_id("InfraValidator")
    pusher = Pusher(
        model=model,
        model_blessing=evaluator.outputs["blessing"],
        infra_blessing=infra_validator.outputs["blessing"],
        edge_evaluation=edge_evaluator.outputs["edge_evaluation"],
        config=given("Pusher"),
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
        # no metadata_connection_config: the store belongs to whoever runs the pipeline
    )


def part(values: dict, keys: Sequence[str]) -> dict:
    """Return the part of nested values that dotted keys name, nested as before."""
    found: dict = {}
    for key in keys:
        *sections, last = key.split(".")
        source, target = values, found
        for section in sections:
            source, target = source[section], target.setdefault(section, {})
        target[last] = source[last]
    return found
