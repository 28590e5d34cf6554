"""Library, Python and command return the same codes and results for the same seed."""

import json

import numpy as np
import pytest

import hashbrook
from hashbrook import HashFunction, Index, Model


@pytest.mark.parametrize("method", ["brook", "bsodh", "mihash"])
def test_the_same_codes_and_results(command, method, digits, tmp_path):
    X, y = digits
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "q.npy", X[:100])
    at = {name: tmp_path / name for name in ("model", "codes.npy", "index", "hits.npz")}
    data = ("--data", tmp_path / "x.npy")
    labels = ("--labels", tmp_path / "y.npy")
    command("learn", "--method", method, "--bits", 64, "--batch", 250, *data, *labels, "--out", at["model"])
    command("encode", "--model", at["model"], *data, "--out", at["codes.npy"])
    command("index", "build", "--model", at["model"], *data, *labels, "--out", at["index"])
    command("search", "--index", at["index"], "--queries", tmp_path / "q.npy", "-k", 10, "--out", at["hits.npz"])
    measured = json.loads(command("eval", "--model", at["model"], *data, *labels, "--queries", tmp_path / "q.npy",
                                  "--query-labels", _first(tmp_path, y), "--json"))

    model = Model(method, dim=64, bits=64, seed=1, warmup=min(1797, Model(method, dim=64).warmup))
    model.learn(X, y, batch=250)
    function = model.hash_function()
    codes = function.encode(X)
    assert (codes == np.load(at["codes.npy"])).all()
    assert function == Model.load(at["model"]).hash_function()
    index = Index(function)
    index.add(range(1797), X, y)
    found = index.search(X[:100], 10)
    hits = np.load(at["hits.npz"])
    assert (hits["ids"].reshape(100, 10) == found.ids).all()
    assert (hits["distances"].reshape(100, 10) == found.distances).all()
    opened = Index.open(at["index"])
    assert (opened.search(X[:100], 10).ids == found.ids).all()
    assert opened.labels_of([0, 1, 2]) == index.labels_of([0, 1, 2]) == [["0"], ["1"], ["2"]]
    here = hashbrook.evaluate(function, X[:100], y[:100], X, y)
    for name, value in here.items():
        assert measured[name] == pytest.approx(value, abs=1e-12), name


def _first(directory, y):
    path = directory / "first.npy"
    np.save(path, y[:100])
    return path


def test_a_model_goes_on_here_and_there(command, digits, tmp_path):
    X, y = digits
    model = Model("bsodh", dim=64, bits=32, warmup=500)
    model.learn(X[:1000], y[:1000], batch=200)
    model.save(tmp_path / "here")
    np.save(tmp_path / "x.npy", X[1000:])
    np.save(tmp_path / "y.npy", y[1000:])
    command("learn", "--resume", tmp_path / "here", "--batch", 200, "--data", tmp_path / "x.npy",
            "--labels", tmp_path / "y.npy", "--out", tmp_path / "there")
    command("export", "--model", tmp_path / "there", "--out", tmp_path / "function")
    model.learn(X[1000:], y[1000:], batch=200)
    there = HashFunction.load(tmp_path / "function")
    assert (there.encode(X) == model.hash_function().encode(X)).all()
    assert there.label_names == model.label_names
