import os
import subprocess
import sys

import numpy as np
import pytest

import hashbrook
from hashbrook import FormatError, HashFunction, Index, Model


def test_files_that_are_not_there(tmp_path):
    for load in (Model.load, HashFunction.load, Index.open, Index.edit, Index.load):
        with pytest.raises(FileNotFoundError) as raised:
            load(tmp_path / "none")
        assert raised.value.errno == 2 and raised.value.filename == str(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        Model("lsh", dim=2).save(tmp_path / "no directory" / "m")


def test_files_of_another_kind_and_damaged_ones(tmp_path, function):
    assert issubclass(FormatError, ValueError) and FormatError.__module__ == "hashbrook"
    path = tmp_path / "f"
    function.save(path)
    with pytest.raises(FormatError, match="f: "):
        Model.load(path)
    with pytest.raises(FormatError):
        Index.open(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(FormatError, match="f: "):
        HashFunction.load(path)
    path.write_bytes(b"")
    with pytest.raises(FormatError):
        HashFunction.load(path)
    with pytest.raises(FormatError):
        Model.from_bytes(b"nonsense")


def test_memory_that_cannot_be_had():
    script = """
import resource
import numpy as np
from hashbrook import Model
model = Model(dim=4, anchors=16384, warmup=20_000)
rows = np.random.default_rng(1).normal(size=(30_000, 4)).astype(np.float32)
resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000, resource.RLIM_INFINITY))
try:
    model.learn(rows, np.arange(30_000) % 3)
except MemoryError as error:
    print("MemoryError:", error)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.stdout.startswith("MemoryError: ") and "bytes of memory" in run.stdout, run


def test_a_path_is_whatever_python_takes(tmp_path):
    model = Model("lsh", dim=2)
    for path in (tmp_path / "a", str(tmp_path / "b")):
        model.save(path)
        assert Model.load(path).dim == 2
    with pytest.raises(TypeError):
        Model.load(3)
    assert os.path.exists(tmp_path / "a")


def test_evaluation_says_what_it_needs(digits, function):
    X, y = digits
    with pytest.raises(ValueError, match="needs labels"):
        hashbrook.evaluate(function, X, None, X, y)
    with pytest.raises(ValueError, match="a metric must be"):
        hashbrook.evaluate(function, X, y, X, y, metrics=["map"])
    codes = function.encode(X)
    by_codes = hashbrook.evaluate(64, codes, y, codes, y, metrics=["mAP", "precision@10"])
    assert by_codes == hashbrook.evaluate(function, X, y, X, y, metrics=["mAP", "precision@10"])
    assert by_codes["queries"] == by_codes["database"] == 1797


def test_comparisons(digits):
    X, y = digits
    found = hashbrook.compare(["lsh", ("bsodh", {"ridge": 0.3})], X, y, bits=[16, 32], seeds=2, rows=1000,
                              queries_per_class=10, every=5, metrics=["mAP"])
    assert len(found) == 2 * 2 * 2 * 2 and found[0]["rows"] == 500 and found[1]["rows"] == 1000
    assert "method" in repr(found).splitlines()[0] and len(repr(found).splitlines()) == 17
    with pytest.raises(ValueError, match="center is"):
        hashbrook.compare(["lsh"], X, y, center="none at all")
    with pytest.raises(ValueError, match="needs labels"):
        hashbrook.compare(["lsh"], X, None)
    assert repr(hashbrook.compare([], X, y)) == "<Comparison of nothing>"
