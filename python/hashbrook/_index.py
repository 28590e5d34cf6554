"""Index: ids with their codes, searched by Hamming distance."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Literal, Optional

from . import _hashbrook as native
from ._convert import Path, codes, features, ids, path
from ._frame import items
from ._function import HashFunction
from ._labels import labels, new_labels
from ._reader import Holder, Snapshot


class Index(Holder):
    """Items searched by the Hamming distance of their codes: results are exact, complete, and in a fixed order.

    >>> import hashbrook
    >>> X, y = hashbrook.datasets.digits()
    >>> model = hashbrook.Model("brook", dim=64)
    >>> model.learn(X, y)
    >>> index = hashbrook.Index(model.hash_function(), vectors="f16")
    >>> index.add(range(len(X)), X, y)
    >>> index
    <Index: 1797 items, 64 bits, of vectors of 64 dimensions, which are kept as f16>
    >>> ids, distances = index.search(X[:3], 5)
    >>> ids.shape, distances.dtype
    ((3, 5), dtype('uint32'))
    >>> sevens = index.filtered(labels=[7]).search(X[:1], 5)
    >>> index.labels_of(sevens.ids[0])
    [['7'], ['7'], ['7'], ['7'], ['7']]
    >>> index.search(X[:1], 1, rerank=100).ids
    array([[0]], dtype=uint64)

    ``Index(h)`` stores codes in memory. ``Index(h, vectors="f16")`` also stores vectors ("i8": in half the space),
    by which ``rerank`` re-ranks hits: by cosine, or by the inner product or the Euclidean distance with
    ``metric="inner_product"`` or ``"l2"``. :meth:`of_codes` takes codes of any origin.

    Ids are integers or strings; the first item decides which. String ids are stored in a separate file, which has
    ``.ids`` appended to the name of the index and must be moved together with the index. :meth:`open` searches in
    a file, :meth:`edit` changes a file, :meth:`load` copies a file into memory.

    Searches see the latest completed change and never wait for a running change, so threads may search while
    another thread adds items. A :meth:`snapshot` never changes.
    """

    __slots__ = ("_native", "_path")

    def __init__(
        self,
        function: HashFunction,
        *,
        vectors: Optional[Literal["f16", "i8"]] = None,
        metric: Literal["cosine", "inner_product", "l2"] = "cosine",
    ) -> None:
        self._native = native.Index(function._native, vectors, metric)
        self._path: Optional[str] = None

    @classmethod
    def _of(cls, index: native.Index, path_: Optional[str] = None) -> Index:
        made = cls.__new__(cls)
        made._native = index
        made._path = path_
        return made

    @classmethod
    def of_codes(cls, bits: int) -> Index:
        """Creates an index in memory for codes of ``bits`` bits.

        >>> import numpy, hashbrook
        >>> index = hashbrook.Index.of_codes(8)
        >>> index.add_codes([10, 20, 30], numpy.array([[0b0000], [0b0001], [0b0111]], dtype="uint8"))
        >>> found = index.search_codes(numpy.array([[0b0011]], dtype="uint8"), 2)
        >>> found.ids, found.distances
        (array([[20, 30]], dtype=uint64), array([[1, 1]], dtype=uint32))
        """
        return cls._of(native.Index.of_codes(bits))

    @classmethod
    def open(cls, path_: Path) -> Index:
        """Opens a file to search in it. Any number of processes can have the file open.

        The file is mapped: replace the file with ``mv``, never with ``cp``. A search fails with ``OSError`` if
        another program truncated or overwrote the file before the search. If the file changes during a search, or the
        disk fails, the operating system ends Python with a bus error (SIGBUS), which no ``except`` catches. Where
        this cannot be ruled out, use :meth:`load`.
        """
        return cls._of(native.Index.open(path(path_)), path(path_))

    @classmethod
    def edit(cls, path_: Path) -> Index:
        """Opens a file to change it. One process at a time can do so.

        A change is in the file when the call returns. The file is mapped, as by :meth:`open`.
        """
        return cls._of(native.Index.edit(path(path_)), path(path_))

    @classmethod
    def load(cls, path_: Path) -> Index:
        """Copies a file into memory. Later changes of the file do not affect the index."""
        return cls._of(native.Index.load(path(path_)))

    @classmethod
    def from_faiss(cls, index: Any, function: Optional[HashFunction] = None, X: Any = None) -> Index:
        """Creates an index in memory with the ids and codes of a FAISS binary index.

        Needs ``pip install hashbrook[faiss]``. If the function that computed the codes is given, vectors can be added
        and searched, too. If the vectors of the first rows are given as well, the method checks that the function
        encodes them to the codes of the FAISS index, with bits in the same order.
        """
        from .interchange import check_codes, from_faiss

        ids_, packed = from_faiss(index)
        bits = index.d if function is None else function.bits
        packed = check_codes(packed, bits, function, X)
        made = cls.of_codes(bits) if function is None else cls(function)
        made.add_codes(ids_, packed)
        return made

    @classmethod
    def from_lance(cls, path_: Path, table: str = "codes", function: Optional[HashFunction] = None) -> Index:
        """Creates an index in memory with the codes that :meth:`to_lance` wrote for a function."""
        from .interchange import from_lance

        bits, ids_, packed = from_lance(path_, table, function)
        made = cls.of_codes(bits) if function is None else cls(function)
        made.add_codes(ids_, packed)
        return made

    def _now(self) -> native.Snapshot:
        return self._native.snapshot()

    def snapshot(self) -> Snapshot:
        """Returns the current state of the index, which later changes do not affect."""
        return Snapshot(self._native.snapshot())

    def refresh(self) -> bool:
        """Reads new changes of the file that the index was opened from. Returns whether there were any."""
        return self._native.refresh()

    def add(self, ids_: Any, X: Any, y: Any = None) -> None:
        """Adds items with new ids and optional labels: all of them or none.

        If ``X`` is a frame (pandas, polars, Arrow), ids and labels may be the names of its columns, which are then
        not features: ``index.add("id", frame, "target")``.
        """
        self._native.put_vectors(*items(ids_, X, y), False)

    def add_codes(self, ids_: Any, packed: Any, y: Any = None) -> None:
        """Like :meth:`add`, for items that are already encoded."""
        self._native.put_codes(ids(ids_), codes(packed), labels(y), False)

    def upsert(self, ids_: Any, X: Any, y: Any = None) -> None:
        """Adds items, and replaces items with the same ids: all of them or none."""
        self._native.put_vectors(*items(ids_, X, y), True)

    def upsert_codes(self, ids_: Any, packed: Any, y: Any = None) -> None:
        """Like :meth:`upsert`, for items that are already encoded."""
        self._native.put_codes(ids(ids_), codes(packed), labels(y), True)

    def set_labels(self, ids_: Any, y: Any) -> None:
        """Replaces the labels of all given items or of none. Codes and vectors do not change.

        An item with ``[]`` has no labels afterwards. `KeyError` if an item does not exist; nothing is changed then.

        >>> import numpy, hashbrook
        >>> index = hashbrook.Index.of_codes(8)
        >>> index.add_codes([10, 20], numpy.array([[0], [1]], dtype="uint8"), ["cat", "cat"])
        >>> index.set_labels([20], ["dog"])
        >>> index.labels_of([10, 20])
        [['cat'], ['dog']]
        """
        self._native.set_labels(ids(ids_), new_labels(y))

    def remove(self, ids_: Any) -> int:
        """Removes items and returns the number of items that existed."""
        return self._native.remove(ids(ids_))

    def compact(self) -> None:
        """Merges all segments into one and drops removed items."""
        self._native.compact()

    def renew(self, function: HashFunction, ids_: Any = None, X: Any = None) -> None:
        """Re-encodes all items with a newer function.

        The given vectors must be those of all items. If no vectors are given, the index uses its stored vectors.
        """
        if (ids_ is None) != (X is None):
            raise ValueError("renew takes ids and their vectors, or neither")
        if ids_ is None:
            self._native.renew_kept(function._native)
        else:
            self._native.renew(function._native, ids(ids_), features(X))

    def set_search_structure(self, structure: Literal["none", "small", "full"]) -> None:
        """Chooses the search structure that searches build and use. The results do not depend on it.

        With ``"none"`` a search compares every code. ``"small"`` takes a third of the bytes of ``"full"``.
        """
        self._native.set_search_structure(structure)

    def __repr__(self) -> str:
        place = "" if self._path is None else f" in {self._path!r}"
        return f"<Index{place}: {self._described()}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._path is not None:
            raise TypeError(f"an index in a file is not pickled: open {self._path!r} where it is needed")
        with tempfile.TemporaryDirectory() as directory:
            file = os.path.join(directory, "index")
            self.save(file)
            parts = {}
            for name in os.listdir(directory):
                with open(os.path.join(directory, name), "rb") as saved:
                    parts[name] = saved.read()
            return _unpickled, (parts,)


def _unpickled(parts: dict[str, bytes]) -> Index:
    with tempfile.TemporaryDirectory() as directory:
        for name, data in parts.items():
            with open(os.path.join(directory, name), "wb") as saved:
                saved.write(data)
        return Index.load(os.path.join(directory, "index"))
