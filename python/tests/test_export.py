"""Exported functions: bits are the same, except where a projection is within rounding of 0."""

import subprocess
import sys

import numpy as np
import pytest

from hashbrook import Model
from hashbrook._recipe import codes, constants

#: Parameters of the models, dimension, and the lift of the resulting function.
FUNCTIONS = {
    "compact": ({"anchors": 300, "precision": "compact"}, 64, "compact"),
    "compact_reduced": ({"anchors": 300, "precision": "compact", "detail": 0.5}, 300, "compact"),
    "compact_deep": ({"anchors": 200, "precision": "compact", "scale": "standard"}, 1200, "compact"),
    "full": ({"anchors": 200, "precision": "full"}, 64, "rbf"),
    "scaled": ({"anchors": 100, "scale": "standard"}, 64, "rbf"),
    "linear": ({"lift": "none"}, 64, "identity"),
    "as_they_are": ({"method": "bsodh", "center": None, "unit": False}, 64, "identity"),
    "rbf": ({"method": "hmoh", "anchors": 60, "lift": "rbf"}, 64, "rbf"),
    "okh": ({"method": "okh", "anchors": 60}, 64, "rbf"),
    "offset": ({"method": "itq"}, 64, "identity"),
    "odd": ({"bits": 21, "anchors": 50}, 64, "rbf"),
}


@pytest.fixture(scope="module", params=FUNCTIONS)
def made(request, digits):
    X, y = digits
    how, dim, lift = FUNCTIONS[request.param]
    rng = np.random.default_rng(1)
    if dim > 1000:
        # A few directions cannot represent these vectors.
        X = rng.normal(size=(1797, dim)) + 2.0 * rng.normal(size=(10, dim))[y]
    elif dim > 64:
        X = X @ rng.normal(size=(64, dim)) + rng.normal(size=(1797, dim))
    X = X.astype(np.float32)
    model = Model(**{"dim": dim, "bits": 64, "warmup": 1000, **how})
    model.learn(X, y, batch=300)
    function = model.hash_function()
    parts = function.parts()
    assert parts["lift"] == lift
    assert ("directions" in parts and len(parts["directions"]) > 0) == (request.param == "compact_reduced")
    rows = np.vstack([X, np.zeros((1, dim)), X[:300] * 1.37 - 2.5, X[:1] * 1e-20])
    return function, np.ascontiguousarray(rows, dtype=np.float32)


def count_differences(function, rows, found):
    """Returns the number of bits that differ. Fails if a projection of such a bit is not near 0."""
    expected = function.encode(rows)
    assert found.dtype == np.uint8 and found.shape == expected.shape
    differ = np.unpackbits(found ^ expected, axis=1, bitorder="little", count=function.bits) == 1
    projections = function.project(rows)
    near = np.abs(projections) <= 2e-4 * np.abs(projections).max(axis=0)
    assert not (differ & ~near).any()
    return int(differ.sum())


class Numpy:
    sqrt, abs, round, exp, exp2 = np.sqrt, np.abs, np.rint, np.exp, np.exp2
    clip, where = np.clip, np.where
    reciprocal = staticmethod(lambda value: np.divide(value.dtype.type(1), value, where=value > 0, out=np.zeros_like(value)))
    single = staticmethod(lambda value: value.astype(np.float32))
    double = staticmethod(lambda value: value.astype(np.float64))
    bytes = staticmethod(lambda value: value.astype(np.uint8))
    sum = staticmethod(lambda value: value.sum(axis=1, keepdims=True))
    max = staticmethod(lambda value: value.max(axis=1, keepdims=True))


def test_the_recipe_in_numpy(made):
    function, rows = made
    arrays, told = constants(function)
    differ = count_differences(function, rows, codes(Numpy, rows, arrays, told))
    assert differ <= rows.shape[0] * function.bits // 10_000


def test_onnx(made, tmp_path, record_property):
    runtime = pytest.importorskip("onnxruntime")
    function, rows = made
    function.to_onnx(tmp_path / "f.onnx")
    session = runtime.InferenceSession(tmp_path / "f.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"x": rows})
    differ = count_differences(function, rows, found)
    print(f"{differ} of {rows.shape[0] * function.bits} bits differ")
    assert differ <= rows.shape[0] * function.bits // 10_000
    (one,) = session.run(None, {"x": rows[:1]})
    assert count_differences(function, rows[:1], one) <= differ
    assert session.get_modelmeta().custom_metadata_map["bits"] == str(function.bits)


def test_torch(made):
    torch = pytest.importorskip("torch", reason="left out: torch is not installed")
    function, rows = made
    module = function.to_torch()
    with torch.no_grad():
        found = module(torch.from_numpy(rows)).numpy()
    assert count_differences(function, rows, found) <= rows.shape[0] * function.bits // 10_000
    assert set(module.state_dict()) >= {"weights", "packing"}


def test_what_is_missing_is_named(function, tmp_path):
    script = """
import sys
sys.modules["onnx"] = sys.modules["torch"] = None
from hashbrook import Model
function = Model("lsh", dim=2).hash_function()
for call in (lambda: function.to_onnx("f"), function.to_torch):
    try:
        call()
    except ImportError as error:
        print(error)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert run.stdout.splitlines() == [
        "to_onnx needs onnx: pip install onnx", "to_torch needs PyTorch: https://pytorch.org",
    ], run
