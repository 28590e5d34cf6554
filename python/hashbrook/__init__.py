"""hashbrook learns compact binary codes from a stream of labelled vectors, and searches them exactly.

::

    Method  ->  Model  ->  HashFunction  ->  Codes  ->  Index
    recipe      running    frozen            packed     searchable
                learner    x -> bits         bits

* A method is a way of learning with its parameters, by its name: this library's own, ``"brook"``, or a published
  one (:func:`methods`).
* A :class:`Model` is a method at work: it learns batch after batch, and can be saved and taken up again.
* A :class:`HashFunction` is what a model has learned so far, frozen.
* Codes are what comes out: a numpy array of uint8, as ``numpy.packbits(bitorder="little")`` packs bits.
* An :class:`Index` holds ids with their codes, and finds the nearest: exactly, and very fast.
* A :class:`Store` ties them together in a folder: it keeps vectors, learns from them, renews their codes and is searched
  meanwhile; a :class:`Client` does the same with a store that ``hashbrook serve`` serves.

>>> import hashbrook
>>> X, y = hashbrook.datasets.digits()
>>> model = hashbrook.Model("brook", dim=64, bits=64, seed=1)
>>> model.learn(X[:1500], y[:1500])
>>> index = hashbrook.Index(model.hash_function())
>>> index.add(range(1500), X[:1500], y[:1500])
>>> ids, distances = index.search(X[1500:], 10)
>>> ids.shape
(297, 10)

Vectors are read where they are if they are a C-contiguous float32 array; lists, other types of numbers,
pandas and polars frames and columns, and Arrow arrays are converted to one. Labels are whole numbers or texts, one
or several for each row, or a matrix of zeros and ones.

What cannot be used raises :class:`ValueError` (or :class:`TypeError` if it is of the wrong kind altogether), a file
that is not what it should be :class:`FormatError`, what the operating system refuses :class:`OSError`, and what
needs more memory than can be had :class:`MemoryError`; texts say what was expected and what came. Long calls let
other threads run, and can be stopped with Ctrl-C.

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
