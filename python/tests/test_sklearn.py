import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import hashbrook
from hashbrook.sklearn import UNSUPERVISED, HammingNeighbors, OnlineHasher

#: Checks that an estimator cannot pass, each with its reason; empty so far.
EXCEPTIONS = {}


@parametrize_with_checks(
    [OnlineHasher(), OnlineHasher("bsodh", bits=16), OnlineHasher("lsh", bits=9, packed=True),
     OnlineHasher("itq", bits=2), HammingNeighbors(), HammingNeighbors(OnlineHasher("lsh", bits=16))],
    expected_failed_checks=lambda estimator: EXCEPTIONS.get(type(estimator).__name__, {}),
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_methods_without_labels_are_known(digits):
    X, _ = digits
    for method in hashbrook.methods():
        model = hashbrook.Model(method, dim=64, bits=8)
        if method in UNSUPERVISED:
            model.learn(X[:50])
        else:
            with pytest.raises(ValueError, match="needs labels"):
                model.learn(X[:50])


def test_fit_is_as_the_library(digits):
    X, y = digits
    hasher = OnlineHasher(bits=32, params={"anchors": 100}).fit(X, y)
    model = hashbrook.Model(dim=64, bits=32, anchors=100, warmup=hasher.model_.warmup)
    model.learn(X, y, batch=180)
    assert hasher.function_ == model.hash_function() and hasher.model_.batches == 10
    bits = hasher.transform(X)
    assert (np.packbits(bits, axis=1, bitorder="little") == model.hash_function().encode(X)).all()
    packed = OnlineHasher(bits=32, params={"anchors": 100}, packed=True).fit(X, y)
    assert (packed.transform(X) == model.hash_function().encode(X)).all()
    assert packed.get_feature_names_out().tolist() == [f"onlinehasher{i}" for i in range(4)]
    assert len(hasher.get_feature_names_out()) == 32
    assert 0.5 < hasher.score(X, y) <= 1
    assert pickle.loads(pickle.dumps(hasher)).function_ == hasher.function_


def test_partial_fit_goes_on(digits):
    X, y = digits
    hasher = OnlineHasher("bsodh", bits=32)
    for start in range(0, 1797, 300):
        hasher.partial_fit(X[start : start + 300], y[start : start + 300], classes=range(10))
    model = hashbrook.Model("bsodh", dim=64, bits=32)
    model.learn(X, y, batch=300)
    assert hasher.function_ == model.hash_function()
    with pytest.raises(ValueError, match="requires y"):
        hasher.partial_fit(X)


def test_labels_of_other_kinds(digits):
    X, y = digits
    single = OnlineHasher("bsodh", bits=16).fit(X, y).transform(X)
    texts = OnlineHasher("bsodh", bits=16).fit(X, [str(label) for label in y]).transform(X)
    matrix = OnlineHasher("bsodh", bits=16).fit(X, np.eye(10)[y]).transform(X)
    assert (single == texts).all() and (single == matrix).all()


def test_in_a_pipeline_and_a_grid_search(digits):
    X, y = digits
    pipeline = make_pipeline(OnlineHasher(bits=64, params={"anchors": 200}), LogisticRegression(max_iter=500))
    assert pipeline.fit(X[:1400], y[:1400]).score(X[1400:], y[1400:]) > 0.9
    grid = GridSearchCV(OnlineHasher("bsodh"), {"bits": [4, 32], "params": [{}, {"ridge": 0.3}]}, cv=3)
    grid.fit(X, y)
    assert grid.best_params_["bits"] == 32
    searched = make_pipeline(OnlineHasher("lsh", bits=64), HammingNeighbors(n_neighbors=3)).fit(X)
    assert len(searched[-1].index_) == 1797
    assert clone(grid.best_estimator_).bits == 32
    frame = OnlineHasher("lsh", bits=3).set_output(transform="pandas").fit(X).transform(X)
    assert frame.columns.tolist() == ["onlinehasher0", "onlinehasher1", "onlinehasher2"]


@pytest.mark.parametrize("given", [True, False])
def test_neighbours_are_those_of_scikit_learn(digits, given):
    X, y = digits
    hasher = OnlineHasher("lsh", bits=32).fit(X)
    bits = hasher.transform(X)
    twin = NearestNeighbors(metric="manhattan", algorithm="brute").fit(bits.astype(np.float64))
    ours = HammingNeighbors(hasher.function_, n_neighbors=7, radius=3).fit(X)
    queries, asked = (X[:200], bits[:200].astype(np.float64)) if given else (None, None)
    distances, rows = ours.kneighbors(queries)
    assert (distances == twin.kneighbors(asked, 7)[0]).all()
    assert rows.shape == distances.shape and rows.dtype == np.int64
    if not given:
        assert (rows != np.arange(1797)[:, None]).all()
    far, near = ours.radius_neighbors(queries)
    expected = twin.radius_neighbors(asked, 3, return_distance=False)
    for query in range(len(near)):
        assert sorted(near[query]) == sorted(expected[query])
        assert (far[query] <= 3).all() and (np.diff(far[query]) >= 0).all()
    with pytest.raises(ValueError, match="n_neighbors"):
        ours.kneighbors(queries, 5000)
    assert (ours.kneighbors(queries, return_distance=False) == rows).all()
    assert len(ours.radius_neighbors(queries, return_distance=False)) == len(near)


def test_a_row_among_many_equal_ones_is_not_its_own_neighbour():
    bits = np.zeros((9, 8))
    bits[8, 0] = 1
    distances, rows = HammingNeighbors().fit(bits).kneighbors(n_neighbors=3)
    assert (rows != np.arange(9)[:, None]).all() and (np.diff(np.sort(rows)) > 0).all()
    assert rows[7].tolist() == rows[8].tolist() == [0, 1, 2] and rows[0].tolist() == [1, 2, 3]
    assert (distances[:8] == 0).all() and (distances[8] == 1).all()


def test_masked_values_are_refused(digits):
    X, y = digits
    masked = np.ma.array(X, mask=np.zeros_like(X, dtype=bool))
    OnlineHasher("lsh").fit(masked)
    masked[3, 1] = np.ma.masked
    labels = np.ma.array(y, mask=y == 4)
    for call in (lambda: OnlineHasher("lsh").fit(masked), lambda: OnlineHasher("lsh").fit(X).transform(masked),
                 lambda: OnlineHasher().fit(X, labels), lambda: HammingNeighbors().fit(masked)):
        with pytest.raises(ValueError, match=r"masked value.* in row [34].*filled"):
            call()
