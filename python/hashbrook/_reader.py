"""Read access to an index: searches and its contents."""

from __future__ import annotations

from typing import Any, Optional, Union, overload

import numpy as np
import numpy.typing as npt

from . import _hashbrook as native
from ._convert import Path, codes, features, ids, path
from ._function import HashFunction
from ._labels import names
from ._progress import bar
from ._results import Hits, Ids, RankedHits, Within
from ._types import Bytes, Floats, How, Numbers, Progress, Weights


def as_given(now: native.Snapshot, found: Numbers) -> Ids:
    """Converts ids of the compiled part to the user's ids: numbers or strings."""
    return as_texts(now.texts_of(found.reshape(-1)), found.shape) if now.text_ids else found


def as_texts(texts: list[Optional[str]], shape: tuple[int, ...]) -> Ids:
    """Converts string ids to an array of objects; `None` is padding."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array.reshape(shape)


def dialled(label_weight: Optional[int], detail_weight: Optional[int], float_query: bool) -> Optional[Weights]:
    """Returns the weights of the bits; `None` if every bit has weight 1."""
    if label_weight is None and detail_weight is None and not float_query:
        return None
    one = (1 if weight is None else weight for weight in (label_weight, detail_weight))
    return next(one), next(one), bool(float_query)


def _within(
    now: native.Snapshot, queries: Union[Floats, Bytes], radius: int, how: How, told: Progress
) -> Within:
    offsets, found, distances, scores = now.within(queries, radius, how, told)
    return Within(offsets, as_given(now, found), distances, scores)


class _Filter:
    """Conditions on the items that a search may find."""

    __slots__ = ("ids", "labels", "without")

    def __init__(self, labels_: Any = None, without: Any = None, ids_: Any = None) -> None:
        self.labels = None if labels_ is None else names(labels_)
        self.without = None if without is None else names(without, "without_labels")
        self.ids = None if ids_ is None else ids(ids_)


_EVERYTHING = _Filter()


class _Reader:
    """Read access to an index, a snapshot or a view: the state is ``_now()``, searches apply ``_filter``."""

    __slots__ = ()
    _filter: Optional[_Filter] = None

    def _now(self) -> native.Snapshot:
        raise NotImplementedError

    def _how(
        self,
        rerank: Optional[int],
        label_weight: Optional[int],
        detail_weight: Optional[int],
        float_query: bool,
    ) -> How:
        only = self._filter or _EVERYTHING
        dial = dialled(label_weight, detail_weight, float_query)
        return only.labels, only.without, only.ids, rerank, dial

    @overload
    def search(
        self,
        X: Any,
        k: int = ...,
        *,
        rerank: None = ...,
        label_weight: Optional[int] = ...,
        detail_weight: Optional[int] = ...,
        float_query: bool = ...,
        progress: bool = ...,
    ) -> Hits: ...

    @overload
    def search(
        self,
        X: Any,
        k: int = ...,
        *,
        rerank: int,
        label_weight: Optional[int] = ...,
        detail_weight: Optional[int] = ...,
        float_query: bool = ...,
        progress: bool = ...,
    ) -> RankedHits: ...

    def search(
        self,
        X: Any,
        k: int = 10,
        *,
        rerank: Optional[int] = None,
        label_weight: Optional[int] = None,
        detail_weight: Optional[int] = None,
        float_query: bool = False,
        progress: bool = False,
    ) -> Union[Hits, RankedHits]:
        """Returns the ``k`` nearest items to each vector: ids and distances, rows x k.

        Results are exact and complete, in order of distance and id. A row with fewer than ``k`` hits ends with ids
        of 2^64 - 1 and distances of 2^32 - 1 (see :class:`Hits`). `MemoryError` if the results would have more than
        1 GiB of such padding, or do not fit into memory.

        ``rerank=1000`` re-ranks the 1,000 nearest codes by their vectors and the index's metric, and returns scores,
        too. The index must store vectors for this (``Index(h, vectors="f16")``). ``label_weight`` and
        ``detail_weight`` are the weights of a label bit and of a detail bit. With ``float_query`` each bit is
        weighted by the query's confidence in the bit, and distances are in steps of 1/64.
        """
        X, how = features(X), self._how(rerank, label_weight, detail_weight, float_query)
        with bar(progress, len(X), "searching") as told:
            now = self._now()
            found, distances, scores = now.search(X, k, how, told)
        given = as_given(now, found)
        return Hits(given, distances) if scores is None else RankedHits(given, distances, scores)

    def search_codes(
        self,
        packed: Any,
        k: int = 10,
        *,
        label_weight: Optional[int] = None,
        detail_weight: Optional[int] = None,
        progress: bool = False,
    ) -> Hits:
        """Like :meth:`search`, with codes as returned by :meth:`HashFunction.encode`."""
        packed, how = codes(packed), self._how(None, label_weight, detail_weight, False)
        with bar(progress, len(packed), "searching") as told:
            now = self._now()
            found, distances, _ = now.search(packed, k, how, told)
        return Hits(as_given(now, found), distances)

    def within(
        self,
        X: Any,
        radius: int,
        *,
        rerank: Optional[int] = None,
        label_weight: Optional[int] = None,
        detail_weight: Optional[int] = None,
        float_query: bool = False,
        progress: bool = False,
    ) -> Within:
        """Returns all items at a distance of at most ``radius`` from each vector.

        The other arguments are those of :meth:`search`.
        """
        X, how = features(X), self._how(rerank, label_weight, detail_weight, float_query)
        with bar(progress, len(X), "searching") as told:
            return _within(self._now(), X, radius, how, told)

    def within_codes(
        self,
        packed: Any,
        radius: int,
        *,
        label_weight: Optional[int] = None,
        detail_weight: Optional[int] = None,
        progress: bool = False,
    ) -> Within:
        """Like :meth:`within`, with codes as returned by :meth:`HashFunction.encode`."""
        packed, how = codes(packed), self._how(None, label_weight, detail_weight, False)
        with bar(progress, len(packed), "searching") as told:
            return _within(self._now(), packed, radius, how, told)


class View(_Reader):
    """An index restricted to some of its items, as returned by :meth:`Index.filtered`.

    A view follows the changes of its index.
    """

    __slots__ = ("_filter", "_of")

    def __init__(self, of: Holder, filter_: _Filter) -> None:
        self._of = of
        self._filter = filter_

    def _now(self) -> native.Snapshot:
        return self._of._now()

    def __repr__(self) -> str:
        said = {"labels": self._filter.labels, "without_labels": self._filter.without} if self._filter else {}
        told = [f"{name}={value!r}" for name, value in said.items() if value is not None]
        if self._filter is not None and self._filter.ids is not None:
            told.append(f"{len(self._filter.ids)} ids")
        return f"<View of {self._of!r}: {', '.join(told) or 'all'}>"


class Holder(_Reader):
    """Common base of an index and a snapshot: read access other than searches."""

    __slots__ = ()

    def filtered(self, *, labels: Any = None, without_labels: Any = None, ids: Any = None) -> View:
        """Returns a view in which searches find only items that meet all given conditions.

        * ``labels``: the item has one of these labels.
        * ``without_labels``: the item has none of these labels.
        * ``ids``: the item has one of these ids.

        A search in the view raises :class:`ValueError` if any of these labels does not exist in the index at that time;
        the message lists the labels of the index. Ids that do not exist are ignored.
        """
        return View(self, _Filter(labels, without_labels, ids))

    @property
    def bits(self) -> int:
        """Length of the codes in bits."""
        return self._now().bits

    @property
    def function(self) -> Optional[HashFunction]:
        """Function that makes the codes; `None` if the index has no function."""
        function = self._now().function
        return None if function is None else HashFunction._of(function)

    @property
    def vectors(self) -> Optional[str]:
        """Format of the stored vectors: "f16" or "i8"; `None` if vectors are not stored."""
        return self._now().vectors

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return self._now().label_names

    def ids(self) -> Ids:
        """Returns all ids: numbers in ascending order, strings in order of their first insertion."""
        now = self._now()
        return as_given(now, now.ids())

    def code(self, id: Union[int, str]) -> npt.NDArray[np.uint8]:
        """Returns the code of an item, in packed bytes; `KeyError` if the item does not exist."""
        item = self._now().get(id)
        if item is None:
            raise KeyError(id)
        return item[0]

    def vector(self, id: Union[int, str]) -> Optional[npt.NDArray[np.float32]]:
        """Returns the stored vector of an item, prepared and rounded; `None` if no vector is stored."""
        return self._now().vector(id)

    def labels_of(self, ids_: Any) -> list[list[str]]:
        """Returns the labels of items as strings; items that do not exist have no labels."""
        return self._now().labels_of(ids(ids_))

    def duplicates(self, radius: int) -> Union[list[list[int]], list[list[str]]]:
        """Returns groups of near-duplicates.

        Two items are in one group if a chain of items connects them, with each item of the chain within the radius of
        the next item.
        """
        now = self._now()
        groups = now.duplicates(radius)
        if not now.text_ids:
            return groups
        return [as_given(now, np.array(group, dtype=np.uint64)).tolist() for group in groups]

    def statistics(self) -> dict[str, int]:
        """Returns the number of items, the bytes of each kind of data, and the number of segments."""
        return self._now().statistics()

    def build_search_structures(self) -> None:
        """Builds the search structures now, so that no query has to wait for them."""
        self._now().build_search_structures()

    def verify(self) -> None:
        """Reads and checks all items of an opened file."""
        self._now().verify()

    def save(self, path_: Path) -> None:
        """Writes the index to a file atomically, replacing an existing file.

        String ids are stored in a file next to the index, with ``.ids`` appended to its name.
        """
        self._now().save(path(path_))

    def to_faiss(self) -> Any:
        """Returns the codes as a FAISS index with the same search results (``pip install hashbrook[faiss]``)."""
        from .interchange import to_faiss

        return to_faiss(self)

    def to_usearch(self) -> Any:
        """Returns the codes as a USearch index (``pip install hashbrook[usearch]``)."""
        from .interchange import to_usearch

        return to_usearch(self)

    def to_lance(self, path_: Path, table: str = "codes") -> int:
        """Writes the codes to a LanceDB table as a new version, tagged with their function.

        Returns the number of the version. Needs ``pip install hashbrook[lance]``.
        """
        from .interchange import to_lance

        return to_lance(self, path_, table)

    def __len__(self) -> int:
        return len(self._now())

    def __contains__(self, id: object) -> bool:
        now = self._now()
        if now.text_ids:
            return isinstance(id, str) and now.contains(id)
        return isinstance(id, (int, np.integer)) and 0 <= int(id) < 2**64 and now.contains(int(id))

    def _described(self) -> str:
        now = self._now()
        function = now.function
        said = [f"{len(now)} items", f"{now.bits} bits"]
        if function is not None:
            said.append(f"of vectors of {function.dim} dimensions")
        if now.vectors is not None:
            said.append(f"which are kept as {now.vectors}")
        return ", ".join(said)


class Snapshot(Holder):
    """Immutable state of an index at one time, searched like the index."""

    __slots__ = ("_native",)

    def __init__(self, _native: native.Snapshot) -> None:
        self._native = _native

    def _now(self) -> native.Snapshot:
        return self._native

    def __repr__(self) -> str:
        return f"<Snapshot: {self._described()}>"
