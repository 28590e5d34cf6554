"""Hash functions as ONNX models."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ._function import HashFunction
from ._recipe import codes, constants

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    raise ImportError("to_onnx needs onnx: pip install onnx") from None

#: Old enough for existing runtimes, and new enough for sums whose axes are inputs.
OPSET, IR = 18, 9


class Value:
    """A named value in a graph, with array operators."""

    def __init__(self, graph: Graph, name: str, type_: Any) -> None:
        self.graph, self.name, self.type = graph, name, type_

    def _with(self, operator: str, other: Any, type_: Any = None) -> Value:
        if not isinstance(other, Value):
            other = self.graph.constant(np.array(other, dtype=self.type))
        return self.graph.node(operator, [self, other], type_)

    def __add__(self, other: Any) -> Value:
        return self._with("Add", other)

    def __sub__(self, other: Any) -> Value:
        return self._with("Sub", other)

    def __mul__(self, other: Any) -> Value:
        return self._with("Mul", other)

    def __truediv__(self, other: Any) -> Value:
        return self._with("Div", other)

    def __matmul__(self, other: Any) -> Value:
        return self._with("MatMul", other)

    def __gt__(self, other: Any) -> Value:
        return self._with("Greater", other, np.bool_)


class Graph:
    """A graph under construction: each call of an array function adds a node."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.arrays: list[Any] = []

    def node(self, operator: str, inputs: list[Value], type_: Any = None, **attributes: Any) -> Value:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, [value.name for value in inputs], [name], **attributes))
        return Value(self, name, inputs[0].type if type_ is None else type_)

    def constant(self, array: Any, name: Optional[str] = None) -> Value:
        name = name or f"c{len(self.arrays)}"
        self.arrays.append(numpy_helper.from_array(np.ascontiguousarray(array).reshape(np.shape(array)), name))
        return Value(self, name, array.dtype.type)

    def cast(self, value: Value, type_: Any) -> Value:
        to = helper.np_dtype_to_tensor_dtype(np.dtype(type_))
        return value if value.type is type_ else self.node("Cast", [value], type_, to=to)

    def single(self, value: Value) -> Value:
        return self.cast(value, np.float32)

    def double(self, value: Value) -> Value:
        return self.cast(value, np.float64)

    def bytes(self, value: Value) -> Value:
        return self.cast(value, np.uint8)

    def clip(self, value: Value, low: float, high: float) -> Value:
        limits = [self.constant(np.array(limit, dtype=value.type)) for limit in (low, high)]
        return self.node("Clip", [value, *limits])

    def _rows(self, operator: str, value: Value) -> Value:
        return self.node(operator, [value, self.constant(np.array([1], dtype=np.int64))], keepdims=1)

    def sum(self, value: Value) -> Value:
        return self._rows("ReduceSum", value)

    def max(self, value: Value) -> Value:
        return self._rows("ReduceMax", value)

    def where(self, condition: Value, one: Value, other: Value) -> Value:
        return self.node("Where", [condition, one, other], one.type)

    def exp2(self, value: Value) -> Value:
        return self.node("Pow", [self.constant(np.array(2, dtype=value.type)), value])

    def sqrt(self, value: Value) -> Value:
        return self.node("Sqrt", [value])

    def reciprocal(self, value: Value) -> Value:
        return self.constant(np.array(1, dtype=value.type)) / value

    def abs(self, value: Value) -> Value:
        return self.node("Abs", [value])

    def round(self, value: Value) -> Value:
        return self.node("Round", [value])

    def exp(self, value: Value) -> Value:
        return self.node("Exp", [value])


def export(function: HashFunction, path: str) -> None:
    """Writes a function as an ONNX model."""
    arrays, told = constants(function)
    graph = Graph()
    made = {name: graph.constant(array, name) for name, array in arrays.items()}
    out = codes(graph, Value(graph, "x", np.float32), made, told)
    graph.nodes.append(helper.make_node("Identity", [out.name], ["codes"]))
    width = arrays["packing"].shape[1]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "hashbrook",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", told["dim"]])],
            [helper.make_tensor_value_info("codes", TensorProto.UINT8, ["rows", width])],
            graph.arrays,
        ),
        producer_name="hashbrook",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR,
    )
    helper.set_model_props(model, {"bits": str(told["bits"]), "label_bits": str(function.label_bits)})
    onnx.checker.check_model(model)
    onnx.save(model, path)
