"""hashbrook learns compact binary codes from a stream of labelled vectors, and searches the codes exactly.

::

    Method  ->  Model  ->  HashFunction  ->  Codes  ->  Index
    recipe      running    frozen            packed     searchable
                learner    x -> bits         bits

* A method is a learning algorithm with its parameters, selected by name: the built-in ``"brook"``, or a published
  method (:func:`methods`).
* A :class:`Model` is a running learner: it learns batch after batch, can be saved and loaded, and can then continue to
  learn.
* A :class:`HashFunction` is the function that a model has learned so far, frozen.
* Codes are the function's output: a numpy array of uint8, packed as by ``numpy.packbits(bitorder="little")``.
* An :class:`Index` holds ids with their codes, and finds the nearest items: exactly, and very fast.
* A :class:`Store` combines all of these in a directory: it stores vectors, learns from them, re-encodes them and can be
  searched at any time. A :class:`Client` has the same methods for a store served by ``hashbrook serve``.

>>> import hashbrook
>>> X, y = hashbrook.datasets.digits()
>>> model = hashbrook.Model("brook", dim=64, bits=64, seed=1)
>>> model.learn(X[:1500], y[:1500])
>>> index = hashbrook.Index(model.hash_function())
>>> index.add(range(1500), X[:1500], y[:1500])
>>> ids, distances = index.search(X[1500:], 10)
>>> ids.shape
(297, 10)

Vectors in a C-contiguous float32 array are used without a copy. Lists, other types of numbers, pandas and polars
frames and columns, and Arrow arrays are converted to such an array. Labels are integers or strings, one or several
for each row, or a matrix of zeros and ones.

Errors, whose messages name the expected and the found value:

* :class:`ValueError` for an invalid argument, or :class:`TypeError` if its type is wrong,
* :class:`FormatError` for an invalid file,
* :class:`OSError` for an error of the operating system,
* :class:`MemoryError` if an allocation fails or would fail.

Long calls let other threads run, and can be stopped with Ctrl-C.

``hashbrook.sklearn`` has estimators for scikit-learn.
"""

from . import datasets
from ._client import Client
from ._collection import Acknowledged, Item, Removed, StoreHits, StoreRankedHits, StoreWithin
from ._evaluate import Comparison, compare, evaluate
from ._function import HashFunction
from ._hashbrook import FormatError, __version__, methods, presets
from ._index import Index
from ._model import Model
from ._reader import Snapshot, View
from ._results import NO_DISTANCE, NO_ID, Hits, RankedHits, Within
from ._store import Store

__all__ = [
    "NO_DISTANCE",
    "NO_ID",
    "Acknowledged",
    "Client",
    "Comparison",
    "FormatError",
    "HashFunction",
    "Hits",
    "Index",
    "Item",
    "Model",
    "RankedHits",
    "Removed",
    "Snapshot",
    "Store",
    "StoreHits",
    "StoreRankedHits",
    "StoreWithin",
    "View",
    "Within",
    "__version__",
    "compare",
    "datasets",
    "evaluate",
    "methods",
    "presets",
]
