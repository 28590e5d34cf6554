"""What is read of an index: searches, and what it holds."""

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
    """Ids as they were given: numbers, or the texts that they stand for."""
    return as_texts(now.texts_of(found.reshape(-1)), found.shape) if now.text_ids else found


def as_texts(texts: list[Optional[str]], shape: tuple[int, ...]) -> Ids:
    """Ids that are texts, as an array; `None` where there is none."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array.reshape(shape)


def dialled(label_weight: Optional[int], detail_weight: Optional[int], float_query: bool) -> Optional[Weights]:
    """What bits count, if not each 1."""
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
    """Which items a search may find."""

    __slots__ = ("ids", "labels", "without")

    def __init__(self, labels_: Any = None, without: Any = None, ids_: Any = None) -> None:
        self.labels = None if labels_ is None else names(labels_)
        self.without = None if without is None else names(without, "without_labels")
        self.ids = None if ids_ is None else ids(ids_)


_EVERYTHING = _Filter()


class _Reader:
    """All that is read of an index, a snapshot or a view: of ``_now()``, through ``_filter``."""

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
        """The ``k`` nearest items to each vector: ids and distances, rows x k.

        Results are exact and complete, in order of distance and id. Where there are fewer than ``k``, the row
        ends with ids of 2^64 - 1 and distances of 2^32 - 1 (see :class:`Hits`). `MemoryError` if that would be more
        than 1 GiB of such padding, or the results do not fit into memory.

        ``rerank=1000`` re-ranks the first 1,000 by code by their vectors and the index's metric, which the index
        must keep (``Index(h, vectors="f16")``), and gives scores, too. ``label_weight`` and
        ``detail_weight`` say what a label bit and a detail bit count; ``float_query`` lets each count as much
        as the query is sure of it, and gives distances in steps of 1/64.
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
        """Like :meth:`search`, with codes as :meth:`HashFunction.encode` gives them."""
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
        """All items up to a distance from each vector, which is included; other arguments as of :meth:`search`."""
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
        """Like :meth:`within`, with codes as :meth:`HashFunction.encode` gives them."""
        packed, how = codes(packed), self._how(None, label_weight, detail_weight, False)
        with bar(progress, len(packed), "searching") as told:
            return _within(self._now(), packed, radius, how, told)


class View(_Reader):
    """An index of which only some items are searched: what :meth:`Index.filtered` gives.

    It follows the index that it is of.
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
    """What an index and a snapshot have in common beside searches."""

    __slots__ = ()

    def filtered(self, *, labels: Any = None, without_labels: Any = None, ids: Any = None) -> View:
        """A view in which searches find only items with one of the ``labels``, with none of the labels in
        ``without_labels``, and with one of the ``ids``.

        A search in the view raises :class:`ValueError` if the index has no such label at that time, and names those that
        there are. Ids that are not there do no harm.
        """
        return View(self, _Filter(labels, without_labels, ids))

    @property
    def bits(self) -> int:
        """The length of its codes."""
        return self._now().bits

    @property
    def function(self) -> Optional[HashFunction]:
        """The function that makes its codes, if it has one."""
        function = self._now().function
        return None if function is None else HashFunction._of(function)

    @property
    def vectors(self) -> Optional[str]:
        """How it keeps vectors: "f16", "i8", or not."""
        return self._now().vectors

    @property
    def label_names(self) -> list[str]:
        """What the labels are called."""
        return self._now().label_names

    def ids(self) -> Ids:
        """All ids, ascending; texts in the order in which they came."""
        now = self._now()
        return as_given(now, now.ids())

    def code(self, id: Union[int, str]) -> npt.NDArray[np.uint8]:
        """The code of an item, in packed bytes; `KeyError` if it is not there."""
        item = self._now().get(id)
        if item is None:
            raise KeyError(id)
        return item[0]

    def vector(self, id: Union[int, str]) -> Optional[npt.NDArray[np.float32]]:
        """The vector of an item as it is kept, prepared and rounded; `None` if it is not."""
        return self._now().vector(id)

    def labels_of(self, ids_: Any) -> list[list[str]]:
        """The labels of items, as texts; none of those that are not there."""
        return self._now().labels_of(ids(ids_))

    def duplicates(self, radius: int) -> Union[list[list[int]], list[list[str]]]:
        """Groups of near-duplicates: items of which a chain leads from one to the other in steps of the radius."""
        now = self._now()
        groups = now.duplicates(radius)
        if not now.text_ids:
            return groups
        return [as_given(now, np.array(group, dtype=np.uint64)).tolist() for group in groups]

    def statistics(self) -> dict[str, int]:
        """What it holds, in numbers: items, bytes of each kind, segments."""
        return self._now().statistics()

    def build_search_structures(self) -> None:
        """Builds now what makes searches faster, so that no query has to wait for it."""
        self._now().build_search_structures()

    def verify(self) -> None:
        """Reads all items of an opened file and checks them."""
        self._now().verify()

    def save(self, path_: Path) -> None:
        """Writes it to a file, whole or not at all, replacing what stood there. Ids that are texts are kept beside
        it, in a file with ``.ids`` after its name."""
        self._now().save(path(path_))

    def to_faiss(self) -> Any:
        """The codes as an index of FAISS that finds the same (``pip install hashbrook[faiss]``)."""
        from .interchange import to_faiss

        return to_faiss(self)

    def to_usearch(self) -> Any:
        """The codes as an index of USearch (``pip install hashbrook[usearch]``)."""
        from .interchange import to_usearch

        return to_usearch(self)

    def to_lance(self, path_: Path, table: str = "codes") -> int:
        """Writes the codes to a table of LanceDB, as a version of their function; its number
        (``pip install hashbrook[lance]``)."""
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
    """What an index held at one moment: searched like the index, and never changed."""

    __slots__ = ("_native",)

    def __init__(self, _native: native.Snapshot) -> None:
        self._native = _native

    def _now(self) -> native.Snapshot:
        return self._native

    def __repr__(self) -> str:
        return f"<Snapshot: {self._described()}>"
