"""Estimators for scikit-learn: :class:`OnlineHasher` makes codes, :class:`HammingNeighbors` searches codes.

>>> from sklearn.pipeline import make_pipeline
>>> from hashbrook import datasets
>>> from hashbrook.sklearn import HammingNeighbors, OnlineHasher
>>> X, y = datasets.digits()
>>> hasher = OnlineHasher(bits=32).fit(X[:1500], y[:1500])
>>> hasher.transform(X[1500:]).shape
(297, 32)
>>> neighbors = HammingNeighbors(hasher.function_).fit(X[:1500])
>>> distances, rows = neighbors.kneighbors(X[1500:], 5)
>>> bool((y[rows[:, 0]] == y[1500:]).mean() > 0.9)
True
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

import numpy as np
import numpy.typing as npt

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data
except ImportError:
    raise ImportError("hashbrook.sklearn needs scikit-learn 1.6 or newer: pip install scikit-learn") from None

from ._convert import refuse_masked
from ._evaluate import evaluate
from ._function import HashFunction
from ._hashbrook import methods
from ._index import Index
from ._model import Model

#: Methods that learn from vectors alone.
UNSUPERVISED = ("sketchhash", "frosh", "itq", "lsh")


def _validated(estimator: Any, X: Any, **how: Any) -> npt.NDArray[np.float32]:
    """Validates vectors by scikit-learn. Masked arrays are refused before, because scikit-learn drops masks."""
    refuse_masked(X, "X")
    rows: npt.NDArray[np.float32] = validate_data(estimator, X, dtype=np.float32, order="C", **how)
    return rows


class OnlineHasher(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learns binary codes from a stream, and encodes vectors.

    ``fit`` learns all rows as one stream, ``batch`` rows at a time. The default is 2,000 rows, or a tenth of the rows
    if that is less, as in the command. ``partial_fit`` learns the next batch of a stream.

    Parameters
    ----------
    method, bits, seed, center, scale, unit, warmup, preset
        Parameters of :class:`hashbrook.Model`. The warm-up of ``fit`` never needs more rows than ``X`` has.
    params
        Parameters of the method, as a dictionary.
    batch
        Number of rows that are learned at a time.
    packed
        Whether ``transform`` returns packed bytes (uint8, rows x ceil(bits / 8)) instead of a column of zeros and
        ones for each bit.

    Attributes
    ----------
    model_
        The model, which continues to learn with ``partial_fit``.
    function_
        The hash function learned so far.
    """

    def __init__(
        self,
        method: str = "brook",
        *,
        bits: int = 64,
        seed: int = 1,
        center: Any = "first",
        scale: Optional[str] = None,
        unit: bool = True,
        warmup: Optional[int] = None,
        preset: Optional[str] = None,
        params: Optional[Mapping[str, Any]] = None,
        batch: Optional[int] = None,
        packed: bool = False,
    ) -> None:
        self.method = method
        self.bits = bits
        self.seed = seed
        self.center = center
        self.scale = scale
        self.unit = unit
        self.warmup = warmup
        self.preset = preset
        self.params = params
        self.batch = batch
        self.packed = packed

    def _start(self, rows: Optional[int]) -> Model:
        def model(warmup: Optional[int]) -> Model:
            return Model(
                self.method, dim=self.n_features_in_, bits=self.bits, seed=self.seed, center=self.center,
                scale=self.scale, unit=self.unit, warmup=warmup, preset=self.preset, **dict(self.params or {}),
            )

        if self.warmup is not None or rows is None:
            return model(self.warmup)
        return model(max(1, min(rows, model(None).warmup)))

    def _checked(self, X: Any, y: Any, reset: bool) -> npt.NDArray[np.float32]:
        rows = _validated(self, X, reset=reset)
        if y is None and self.method in methods() and self.method not in UNSUPERVISED:
            raise ValueError(f"{self.method} requires y to be passed, but the target y is None")
        refuse_masked(y, "y")
        if y is not None:
            check_consistent_length(X, y)
        return rows

    def fit(self, X: Any, y: Any = None) -> OnlineHasher:
        """Learns all rows and forgets everything learned before."""
        X = self._checked(X, y, reset=True)
        model = self._start(len(X))
        batch = self.batch or min(max(-(-len(X) // 10), 1), 2000)
        model.learn(X, None if self.method in UNSUPERVISED else y, batch=batch)
        return self._learned(model)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> OnlineHasher:
        """Learns the next batch of a stream. ``classes`` is ignored: new classes may appear at any time."""
        first = not hasattr(self, "model_")
        X = self._checked(X, y, reset=first)
        model = self._start(None) if first else self.model_
        model.learn(X, None if self.method in UNSUPERVISED else y, batch=self.batch)
        return self._learned(model)

    def _learned(self, model: Model) -> OnlineHasher:
        self.model_ = model
        self._n_features_out = (self.bits + 7) // 8 if self.packed else self.bits
        # The function is solved for later and stored in a list, so that `transform` changes no attribute.
        self._solved: list[HashFunction] = []
        return self

    @property
    def function_(self) -> HashFunction:
        """Hash function learned so far: computed on first access, and cached until more is learned."""
        check_is_fitted(self, "model_")
        if not self._solved:
            self._solved.append(self.model_.hash_function())
        return self._solved[0]

    def transform(self, X: Any) -> npt.NDArray[np.uint8]:
        """Returns the codes of vectors: a column for each bit, or packed bytes."""
        check_is_fitted(self, "model_")
        X = _validated(self, X, reset=False)
        codes = self.function_.encode(X)
        if self.packed:
            return codes
        return np.unpackbits(codes, axis=1, bitorder="little", count=self.bits)

    def score(self, X: Any, y: Any) -> float:
        """Returns the mean average precision (mAP) by labels, with each row as a query among all rows."""
        check_is_fitted(self, "model_")
        X = _validated(self, X, reset=False)
        return float(evaluate(self.function_, X, y, X, y, metrics=["mAP"])["mAP"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.method not in UNSUPERVISED
        # Codes are integers for vectors of any type.
        tags.transformer_tags.preserves_dtype = []
        return tags


class HammingNeighbors(BaseEstimator):  # type: ignore[misc]
    """Exact neighbours by Hamming distance, with the interface of scikit-learn's ``NearestNeighbors``.

    Parameters
    ----------
    hasher
        Encoder of the vectors: a :class:`hashbrook.HashFunction`, or an :class:`OnlineHasher`, which ``fit`` copies and
        fits. ``None`` if the columns are already bits, as returned by ``OnlineHasher.transform``; a bit is set where
        its column is above 0.
    n_neighbors, radius
        Defaults of ``kneighbors`` and ``radius_neighbors``. Rows at a distance equal to the radius are included.

    Attributes
    ----------
    index_
        The :class:`hashbrook.Index`, whose ids are row numbers.
    """

    def __init__(self, hasher: Any = None, *, n_neighbors: int = 5, radius: int = 2) -> None:
        self.hasher = hasher
        self.n_neighbors = n_neighbors
        self.radius = radius

    def _codes(self, X: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
        if self._function is None:
            return np.packbits(X > 0, axis=1, bitorder="little")
        return self._function.encode(X)

    def fit(self, X: Any, y: Any = None) -> HammingNeighbors:
        """Builds a new index of all rows."""
        X = _validated(self, X, reset=True)
        self._function: Optional[HashFunction] = None
        if isinstance(self.hasher, HashFunction):
            self._function = self.hasher
        elif self.hasher is not None:
            self._function = clone(self.hasher).fit(X, y).function_
        self.index_ = Index.of_codes(X.shape[1] if self._function is None else self._function.bits)
        self._fitted_codes = self._codes(X)
        self.index_.add_codes(range(len(X)), self._fitted_codes)
        return self

    def _queries(self, X: Any) -> npt.NDArray[np.uint8]:
        check_is_fitted(self, "index_")
        if X is None:
            return self._fitted_codes
        return self._codes(_validated(self, X, reset=False))

    def kneighbors(self, X: Any = None, n_neighbors: Optional[int] = None, return_distance: bool = True) -> Any:
        """Returns distances and row numbers of the nearest rows, in order of distance, then row number.

        Without ``X`` the queries are the fitted rows, and each row's own hit is omitted.
        """
        queries = self._queries(X)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        there = len(self.index_) - (X is None)
        if not 1 <= k <= there:
            raise ValueError(f"expected 1 <= n_neighbors <= {there}, the rows there are, but n_neighbors = {k}")
        found = self.index_.search_codes(queries, k + (X is None))
        ids, distances = found.ids.astype(np.int64), found.distances.astype(np.int64)
        if X is None:
            ids, distances = _without_self(ids, distances)
        return (distances, ids) if return_distance else ids

    def radius_neighbors(
        self, X: Any = None, radius: Optional[int] = None, return_distance: bool = True
    ) -> Any:
        """Returns distances and row numbers of all rows within the radius, each as an array of arrays.

        Without ``X`` the queries are the fitted rows, and each row's own hit is omitted.
        """
        queries = self._queries(X)
        found = self.index_.within_codes(queries, self.radius if radius is None else radius)
        ids = np.empty(len(found), dtype=object)
        distances = np.empty(len(found), dtype=object)
        for query, hits in enumerate(found):
            others = hits.ids != query if X is None else slice(None)
            ids[query] = hits.ids[others].astype(np.int64)
            distances[query] = hits.distances[others].astype(np.int64)
        return (distances, ids) if return_distance else ids


def _without_self(
    ids: npt.NDArray[np.int64], distances: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Drops each row's own hit, or the last hit if rows with equal codes have displaced the row itself."""
    rows = np.arange(len(ids))[:, None]
    drop = ids == rows
    drop[~drop.any(axis=1), -1] = True
    shape = (len(ids), ids.shape[1] - 1)
    return ids[~drop].reshape(shape), distances[~drop].reshape(shape)
