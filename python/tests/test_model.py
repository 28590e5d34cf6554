import copy
import pickle
import warnings

import numpy as np
import pytest

import hashbrook
from hashbrook import Model


def test_every_method_learns_and_encodes(digits):
    X, y = digits
    assert hashbrook.methods()[0] == "brook" and len(hashbrook.methods()) == 12
    for method in hashbrook.methods():
        small = {"hmoh": {"anchors": 50}, "okh": {"anchors": 50}}.get(method, {})
        model = Model(method, dim=64, bits=16, **small)
        model.learn(X, y, batch=300)
        assert (model.method, model.seen, model.batches) == (method, 1797, 6)
        codes = model.hash_function().encode(X)
        assert codes.dtype == np.uint8 and codes.shape == (1797, 2)


def test_defaults_are_those_of_the_library():
    model = Model(dim=5)
    assert (model.method, model.bits, model.seed, model.warmup) == ("brook", 64, 1, 3000)
    assert Model("bsodh", dim=5, bits=8).warmup == 1000
    assert Model("bsodh", dim=5, bits=8, ridge=np.float32(0.5)).parameters["ridge"] == 0.5


def test_setup_has_its_effect(digits):
    X, y = digits

    def codes(**setup):
        model = Model("bsodh", dim=64, bits=32, **{"warmup": 300, **setup})
        model.learn(X, y, batch=600)
        return model.hash_function(), model.hash_function().encode(X)

    as_they_are, base = codes()
    assert np.allclose(as_they_are.parts()["center"], X[:300].mean(axis=0), atol=1e-5)
    assert codes(center=None)[0].parts()["center"] is None
    assert codes(center="none")[0].parts()["center"] is None
    given, _ = codes(center=np.arange(64.0))
    assert (given.parts()["center"] == np.arange(64)).all()
    assert codes(unit=False)[0].parts()["unit"] is False
    assert codes(scale="standard")[0].parts()["scale"] is not None
    assert (codes(seed=2)[1] != base).any()
    start = np.random.default_rng(1).normal(size=(64, 32))
    lsh = Model("lsh", dim=64, bits=32, init=start)
    assert np.allclose(lsh.hash_function().parts()["weights"], start)
    assert Model("bsodh", dim=64, bits=32, preset="cifar10").parameters != Model("bsodh", dim=64).parameters


def test_batches_are_as_calls(digits):
    X, y = digits
    by_calls, by_batch = Model("bsodh", dim=64, bits=32), Model("bsodh", dim=64, bits=32)
    for start in range(0, 1797, 400):
        by_calls.learn(X[start : start + 400], y[start : start + 400])
    by_batch.learn(X, y, batch=400)
    assert by_calls.to_bytes() == by_batch.to_bytes()


def test_one_large_batch_is_one_batch():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(9000, 8)).astype(np.float32), rng.integers(0, 5, 9000)
    whole, parts = (Model(dim=8, bits=16, warmup=100, anchors=30) for _ in range(2))
    whole.learn(X, y)
    for start in range(0, 9000, 700):
        parts.learn(X[start : start + 700], y[start : start + 700])
    assert whole.batches == 1 and parts.batches == 13
    assert whole.hash_function() == parts.hash_function()


def test_saved_pickled_and_copied_models_go_on(digits, tmp_path):
    X, y = digits
    model = Model(dim=64, bits=32, warmup=400, anchors=100)
    model.learn(X[:900], y[:900])
    model.save(tmp_path / "m")
    others = [
        Model.load(str(tmp_path / "m")),
        pickle.loads(pickle.dumps(model)),
        Model.from_bytes(model.to_bytes()),
        copy.copy(model),
        copy.deepcopy(model),
        model.copy(),
    ]
    model.learn(X[900:], y[900:])
    for other in others:
        assert other.seen == 900
        other.learn(X[900:], y[900:])
        assert other.hash_function() == model.hash_function()


def test_parts_of_a_stream_merge(digits):
    X, y = digits
    here = Model(dim=64, bits=32, anchors=100, warmup=3000)
    here.learn(X[:500], y[:500])
    with pytest.raises(ValueError, match="has not warmed up"):
        here.sibling()
    here.end_warmup()
    there, whole = here.sibling(), here.copy()
    here.learn(X[500:1000], y[500:1000])
    there.learn(X[1000:], y[1000:])
    here.merge(there)
    whole.learn(X[500:], y[500:])
    assert here.hash_function() == whole.hash_function()
    with pytest.raises(ValueError, match="cannot be merged"):
        here.merge(here)


def test_relabelled_rows_are_as_if_learned_so(digits):
    X, y = digits
    wrong = np.where(np.arange(1797) >= 1700, (y + 1) % 10, y)
    model, right = (Model(dim=64, bits=32, warmup=400, anchors=100) for _ in range(2))
    model.learn(X, wrong)
    model.relabel(X[1700:], wrong[1700:], y[1700:])
    right.learn(X, y)
    assert model.hash_function() == right.hash_function()


def test_a_batch_that_fails_changes_nothing(digits):
    X, y = digits
    model = Model(dim=64, bits=32)
    model.learn(X[:100], y[:100])
    before = model.to_bytes()
    bad = X.copy()
    bad[7, 3] = np.nan
    for rows, labels, problem in [
        (bad, y, "row 7, column 3 is NaN"),
        (X, None, "needs labels"),
        (X, ["new"] * 3, "3 labels for 1797 rows"),
        (X[:, :5], y, "expected vectors of 64 dimensions, these have 5"),
    ]:
        with pytest.raises(ValueError, match=problem):
            model.learn(rows, labels)
        assert model.to_bytes() == before
    with pytest.raises(ValueError, match="batch must be 1 or more"):
        model.learn(X, y, batch=0)


def test_labels_go_by_their_texts(digits):
    X, y = digits
    one, other = Model(dim=64, bits=32), Model(dim=64, bits=32)
    one.learn(X, y)
    other.learn(X, [str(label) for label in y])
    assert one.to_bytes() == other.to_bytes()
    assert one.label_names == [str(digit) for digit in range(10)]


def test_reprs_tell(model, function):
    assert repr(model) == "Model('brook', dim=64, bits=64, seed=1, seen=1797, warm=True)"
    assert repr(function).startswith("HashFunction(dim=64, bits=64")


@pytest.mark.parametrize(
    "given, error, problem",
    [
        ({"method": "brok"}, ValueError, "there is no method .brok.; the methods are: brook"),
        ({"bits": 0}, ValueError, "bits must be from 1 to 1024, not 0"),
        ({"anchrs": 3}, ValueError, "brook has no parameter .anchrs."),
        ({"lift": "high"}, ValueError, "is no value for lift"),
        ({"center": "last"}, ValueError, "center is .first., None or a vector"),
        ({"center": [1.0]}, ValueError, "1 values do not make rows of 6 dimensions"),
        ({"scale": "big"}, ValueError, "scale is .standard. or None"),
        ({"warmup": 0}, ValueError, "warmup must be 1 or more"),
        ({"init": [[1.0]]}, ValueError, "init must be a projection of 6 x 64, not 1 x 1"),
        ({"preset": "faces"}, ValueError, "there is no preset"),
        ({"anchors": object()}, TypeError, "a parameter is a number"),
        ({"dim": -1}, OverflowError, "negative"),
    ],
)
def test_what_is_wrong_is_told(given, error, problem):
    with pytest.raises(error, match=problem):
        Model(**{"dim": 6, **given})


def test_more_bits_than_directions_with_variance_are_warned_of(digits):
    X, _ = digits
    model = Model("itq", dim=64, bits=64)
    model.learn(X[:30])
    with pytest.warns(UserWarning, match="itq found 29 directions with variance for 64 bits") as told:
        model.hash_function()
    assert told[0].filename == __file__
    model = Model("itq", dim=64, bits=32)
    model.learn(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.hash_function()
