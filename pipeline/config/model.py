"""The typed configuration of a task. Frozen and strict; every key has a unit or a documented meaning."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pipeline.config.kubernetes import KubernetesConfig


class Strict(BaseModel):
    """Base of every section: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class DataConfig(Strict):
    """Where the examples come from."""

    path: str = Field(
        description="CSV or Parquet file, a folder of such files, or a folder with one sub-folder of images per class"
    )
    format: Literal["csv", "parquet", "images"] = "csv"
    delimiter: str = Field(",", min_length=1, max_length=1, description="CSV field delimiter")
    span: str = Field(
        "",
        description="which part of the data: a whole number for {SPAN} in `path`, or a time such as 2026-11-30 or"
        " 20261130023000 for {YYYY}, {MM}, {DD} and {HH}",
    )


class SplitConfig(Strict):
    """How rows go to `train` and `eval`."""

    by: Literal["hash", "time"] = "hash"
    eval_fraction: float = Field(0.2, gt=0, lt=1, description="share of rows in eval when split by hash of the row")
    column: str = Field(
        "", description="column that orders rows in time when split by time (ISO 8601 strings or numbers)"
    )
    eval_from: str = Field("", description="first value of `column` that goes to eval when split by time")

    @model_validator(mode="after")
    def _time_needs_a_column(self) -> SplitConfig:
        if self.by == "time" and not (self.column and self.eval_from):
            raise ValueError("split.by=time needs split.column and split.eval_from")
        return self


class ValidateConfig(Strict):
    """What the data gate stops on."""

    max_examples: int = Field(5, ge=1, le=20, description="offending values shown per anomaly")
    stop_on: Literal["error", "warning", "never"] = Field(
        "error", description="lowest severity of an anomaly that stops the run"
    )


class TransformConfig(Strict):
    """How the preprocessing is analysed and applied."""

    batch_rows: int = Field(16_384, ge=1, description="rows in one Arrow batch")


class TrainConfig(Strict):
    """How the model is trained."""

    epochs: int = Field(3, ge=1)
    num_steps: int | None = Field(None, ge=1, description="steps in all; overrides epochs")
    batch_size: int = Field(512, ge=1, description="examples in one step, over all replicas")
    base_learning_rate: float = Field(1e-3, gt=0)
    seed: int = Field(17, ge=0)
    hparams: dict[str, Any] = Field(default_factory=dict, description="free values that build_model reads")


class Bound(Strict):
    """A threshold on one metric."""

    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _one_side_at_least(self) -> Bound:
        if self.min is None and self.max is None:
            raise ValueError("a threshold needs min, max or both")
        return self

    def holds(self, value: float) -> bool:
        """Say whether `value` lies within the bound; NaN never does."""
        return value == value and (self.min is None or value >= self.min) and (self.max is None or value <= self.max)


MetricName = Literal["auc", "accuracy", "precision", "recall", "log_loss", "calibration", "example_count"]


class EvaluateConfig(Strict):
    """What a model has to reach before it is blessed."""

    metrics: list[MetricName] = Field(["accuracy", "log_loss"], min_length=1)
    slices: list[list[str]] = Field(
        default_factory=list, description="raw columns to slice by, such as [[carrier], [origin, month]]"
    )
    thresholds: dict[MetricName, Bound] = Field(default_factory=dict, description="bounds on the overall metrics")
    slice_thresholds: dict[MetricName, Bound] = Field(
        default_factory=dict, description="bounds on each slice large enough to judge"
    )
    change: dict[MetricName, Bound] = Field(
        default_factory=dict, description="bounds on candidate minus latest blessed model"
    )
    min_slice_examples: int = Field(200, ge=1, description="smaller slices are shown, not gated")
    baseline: Literal["latest_blessed", "none"] = "latest_blessed"


Scheme = Literal["float32", "dynamic_range", "float16", "int8"]


class QuantizeConfig(Strict):
    """Which TFLite models are made. float32 is always made: it is what the others are compared with."""

    schemes: list[Scheme] = Field(["dynamic_range", "float16", "int8"], min_length=1)
    calibration_examples: int = Field(
        300, ge=1, description="transformed training examples of the representative dataset"
    )


class EdgeEvaluateConfig(Strict):
    """How much a quantized model may lose against the float model."""

    metric: MetricName = "accuracy"
    max_drop: float = Field(0.005, ge=0, description="largest drop of `metric`, overall, float model minus quantized")
    max_slice_drop: float = Field(0.05, ge=0, description="largest drop of `metric` in a slice large enough to judge")
    max_size_ratio: float | None = Field(
        None, gt=0, description="largest size of the int8 file over the float32 TFLite file"
    )
    gate: list[Scheme] = Field(
        ["int8"], description="schemes that stop the run when they lose too much; others are only reported"
    )


class InfraValidateConfig(Strict):
    """How the model is tried before it is pushed."""

    requests: int = Field(20, ge=1)
    timeout_s: float = Field(120.0, gt=0)


class PushConfig(Strict):
    """Where the blessed model goes."""

    base_dir: str = Field("", description="folder of numbered versions; default <root>/<task>/serving")


class BeamConfig(Strict):
    """Where Beam runs. `direct` is Beam's in-process FnApiRunner, by name."""

    runner: Literal["direct", "dataflow", "flink"] = "direct"
    options: list[str] = Field(default_factory=list, description="further Beam flags; never part of a cache key")


class TaskConfig(Strict):
    """Everything a run of one task needs."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")
    description: str = ""
    root: str = Field("runs", description="folder that holds runs, artifacts and metadata")
    problem: Literal["binary", "multiclass"]
    label: str
    schema_path: str = Field("", description="curated schema; default schemas/<task>/schema.pbtxt")
    data: DataConfig
    split: SplitConfig = SplitConfig()
    validation: ValidateConfig = ValidateConfig()
    transform: TransformConfig = TransformConfig()
    train: TrainConfig = TrainConfig()
    evaluate: EvaluateConfig = EvaluateConfig()
    quantize: QuantizeConfig = QuantizeConfig()
    edge_evaluate: EdgeEvaluateConfig = EdgeEvaluateConfig()
    infra_validate: InfraValidateConfig = InfraValidateConfig()
    push: PushConfig = PushConfig()
    beam: BeamConfig = BeamConfig()
    kubernetes: KubernetesConfig = KubernetesConfig()
