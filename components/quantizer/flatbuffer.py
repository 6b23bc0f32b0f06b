"""What is inside a TFLite file, read from its FlatBuffer: the interpreter hides shapes, subgraphs and custom operators.

Source: tensorflow/compiler/mlir/lite/schema/schema.fbs; TensorFlow ships the Python reader generated from it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

FLOATS = {"FLOAT16", "FLOAT32", "FLOAT64", "BFLOAT16"}


@dataclass(frozen=True)
class Tensor:
    """One tensor of the first subgraph.

    Args:
        dtype: the schema's name, such as `INT8`.
        shape: as the file has it; the batch is 1.
        scale: one number for the tensor, or one a channel; empty when not quantized.
        zero_point: as many as `scale`.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    scale: tuple[float, ...] = ()
    zero_point: tuple[int, ...] = ()
    dynamic: bool = False


@dataclass(frozen=True)
class Graph:
    """A TFLite model.

    Args:
        inputs: by signature name.
        outputs: by signature name.
        tensors: every tensor that an operator of the first subgraph reads or writes.
        operators: how often each operator occurs; custom ones as `custom:<name>`.
        dense_scales: number of weight scales of each FULLY_CONNECTED.
    """

    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    tensors: list[Tensor]
    operators: dict[str, int]
    subgraphs: int
    dense_scales: list[int] = field(default_factory=list)

    @property
    def float_tensors(self) -> list[str]:
        """Names of the tensors that hold floats."""
        return [tensor.name for tensor in self.tensors if tensor.dtype in FLOATS]

    @property
    def dynamic_tensors(self) -> list[str]:
        """Names of the tensors whose shape is not known before the model runs."""
        return [tensor.name for tensor in self.tensors if tensor.dynamic]

    @property
    def foreign_operators(self) -> list[str]:
        """Operators that are not TFLite's own: custom ones, TensorFlow's (Flex) among them."""
        return [name for name in self.operators if name.startswith("custom:")]


def read(content: bytes) -> Graph:
    """Return what the file holds."""
    from tensorflow.lite.python import schema_py_generated as schema

    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    types = {value: name for name, value in vars(schema.TensorType).items() if not name.startswith("_")}
    codes = {value: name for name, value in vars(schema.BuiltinOperator).items() if not name.startswith("_")}
    graph = model.subgraphs[0]
    tensors = [_tensor(tensor, types) for tensor in graph.tensors]
    used = {i for operator in graph.operators for i in [*operator.inputs, *operator.outputs] if i >= 0}
    names = [_operator_name(model.operatorCodes[operator.opcodeIndex], codes) for operator in graph.operators]
    dense = [op.inputs[1] for op, name in zip(graph.operators, names, strict=True) if name == "FULLY_CONNECTED"]
    signature = model.signatureDefs[0]
    return Graph(
        inputs={_text(entry.name): tensors[entry.tensorIndex] for entry in signature.inputs},
        outputs={_text(entry.name): tensors[entry.tensorIndex] for entry in signature.outputs},
        tensors=[tensors[i] for i in sorted(used)],
        operators=dict(Counter(names)),
        subgraphs=len(model.subgraphs),
        dense_scales=[len(tensors[i].scale) for i in dense],
    )


def _tensor(tensor, types: dict[int, str]) -> Tensor:
    quantization = tensor.quantization
    scale = () if quantization is None or quantization.scale is None else tuple(map(float, quantization.scale))
    zero = () if not scale or quantization.zeroPoint is None else tuple(map(int, quantization.zeroPoint))
    shape = () if tensor.shape is None else tuple(map(int, tensor.shape))
    signature = () if tensor.shapeSignature is None else tuple(map(int, tensor.shapeSignature))
    return Tensor(_text(tensor.name), types[tensor.type], shape, scale, zero, dynamic=-1 in (*shape, *signature))


def _operator_name(code, codes: dict[int, str]) -> str:
    # files for old runtimes keep small codes in the deprecated field only
    name = codes[max(code.builtinCode, code.deprecatedBuiltinCode)]
    return f"custom:{_text(code.customCode)}" if name == "CUSTOM" else name


def _text(value: bytes | str | None) -> str:
    return value.decode() if isinstance(value, bytes) else value or ""
