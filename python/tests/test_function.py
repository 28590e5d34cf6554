import pickle

import numpy as np
import pytest

from hashbrook import HashFunction, Model


def test_codes_are_the_signs_of_projections(digits, function):
    X, _ = digits
    codes = function.encode(X)
    bits = np.unpackbits(codes, axis=1, bitorder="little", count=function.bits)
    assert (bits == (function.project(X) > 0)).all()
    assert function.prepared(X).shape == X.shape


@pytest.mark.parametrize("bits", [1, 7, 8, 65, 100])
def test_any_length(digits, bits):
    X, _ = digits
    function = Model("lsh", dim=64, bits=bits).hash_function()
    codes = function.encode(X)
    assert codes.shape == (1797, (bits + 7) // 8)
    assert (np.packbits(function.project(X) > 0, axis=1, bitorder="little") == codes).all()


def test_chunks_do_not_show():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40_000, 6)).astype(np.float32)
    function = Model("lsh", dim=6, bits=20).hash_function()
    codes = function.encode(X)
    assert codes.shape == (40_000, 3)
    assert (np.packbits(function.project(X) > 0, axis=1, bitorder="little") == codes).all()
    assert function.encode(X[:0]).shape == (0, 3)


def test_saved_and_pickled_functions_are_the_same(function, tmp_path, digits):
    function.save(tmp_path / "f")
    for other in [HashFunction.load(tmp_path / "f"), pickle.loads(pickle.dumps(function))]:
        assert other == function and hash(other) == hash(function)
        assert (other.encode(digits[0]) == function.encode(digits[0])).all()
    assert function.label_names == [str(digit) for digit in range(10)]
    assert function != Model("lsh", dim=64).hash_function()


def test_a_function_is_not_made_of_nothing():
    with pytest.raises(TypeError, match="comes from Model.hash_function"):
        HashFunction()
