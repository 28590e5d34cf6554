"""What a store and the service of one have in common: what they take, and what they answer."""

from __future__ import annotations

import json
from operator import index
from typing import Any, NamedTuple, Optional, TypeVar, Union

import numpy as np
import numpy.typing as npt

from ._convert import codes, features, ids
from ._labels import names
from ._reader import dialled
from ._results import Distances, Hits, Ids, RankedHits, Scores, Within
from ._types import Bytes, Floats, StoreHow
from ._types import Ids as GivenIds

#: The labels of each hit of each query.
HitLabels = list[list[list[str]]]


#: Vectors, codes, or ids of items.
Queries = Union[Floats, Bytes, GivenIds]
#: Ids, distances and scores of the nearest of each query; before them, of a radius, where each query begins.
Nearest = tuple[Ids, Distances, Optional[Scores]]
Near = tuple[npt.NDArray[np.int64], Ids, Distances, Optional[Scores]]
Self = TypeVar("Self", bound="Collection")


class Acknowledged(NamedTuple):
    """What was put in or labelled, once it is on the disk."""

    #: How many items there were.
    items: int
    #: How many of them took the place of others.
    replaced: int
    #: Whether what was learned of those is taken back.
    unlearned: bool
    #: End of the journal, for ``wait``.
    position: int


class Removed(NamedTuple):
    """What was removed, once that is on the disk."""

    #: How many items were there, and are not any more.
    removed: int
    #: Whether what was learned of them is taken back.
    unlearned: bool
    #: End of the journal, for ``wait``.
    position: int


class Item(NamedTuple):
    """An item as a store holds it."""

    id: Union[int, str]
    #: As it was put in; rounded if the store keeps half precision.
    vector: npt.NDArray[np.float32]
    labels: list[str]
    #: What was put in with it: JSON by its value, other bytes as they are, `None` if there is nothing.
    payload: Any
    #: Packed, as :meth:`HashFunction.encode` gives it.
    code: npt.NDArray[np.uint8]
    #: The version of the function that made the code.
    version: int


class StoreHits(Hits):
    """:class:`Hits`, with the version of the function that made all codes, and the labels of each hit."""

    version: int
    labels: HitLabels


class StoreRankedHits(RankedHits):
    """:class:`RankedHits`, with the version of the function that made all codes, and the labels of each hit."""

    version: int
    labels: HitLabels


class StoreWithin(Within):
    """:class:`Within`, with the version of the function that made all codes, and the labels of each hit."""

    __slots__ = ("labels", "version")
    version: int
    labels: HitLabels


class Collection:
    """What is the same of a store and of a client."""

    __slots__ = ()

    def _nearest(self, asked: Queries, k: int, told: StoreHow) -> tuple[Nearest, int, HitLabels]:
        """What is nearest to each query, the version that it was found by, and its labels."""
        raise NotImplementedError

    def _near(self, asked: Queries, radius: int, told: StoreHow) -> tuple[Near, int, HitLabels]:
        """What is within a radius of each query, the version that it was found by, and its labels."""
        raise NotImplementedError

    def close(self) -> None:
        """Ends it."""
        raise NotImplementedError

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def search(
        self,
        X: Any = None,
        k: int = 10,
        *,
        codes: Any = None,
        items: Any = None,
        labels: Any = None,
        without_labels: Any = None,
        rerank: Optional[int] = None,
        label_weight: Optional[int] = None,
        detail_weight: Optional[int] = None,
        float_query: bool = False,
    ) -> Union[StoreHits, StoreRankedHits]:
        """The ``k`` nearest items to each vector, or to each of ``codes``, or to each item of some ids (``items``).

        Results are as of :meth:`Index.search`, and have the ``version`` of the function that made the codes, of the
        queries and of all items alike, and the ``labels`` of each hit. Where there are fewer items than ``k``, or none yet,
        rows end with :data:`hashbrook.NO_ID` as those of :meth:`Index.search` do, and ``found`` is the number of hits of
        each query. Only items are found that have one of the ``labels`` and none of ``without_labels``. A label that no
        item has yet is no error, unlike in :meth:`Index.filtered`: items with it may be put in at any time.
        ``rerank`` and the weights are those of :meth:`Index.search`.
        """
        told = how(labels, without_labels, rerank, label_weight, detail_weight, float_query)
        found, version, of_hits = self._nearest(queries(X, codes, items), index(k), told)
        ids_, distances, scores = found
        made: Union[StoreHits, StoreRankedHits]
        made = StoreHits(ids_, distances) if scores is None else StoreRankedHits(ids_, distances, scores)
        made.version, made.labels = version, of_hits
        return made

    def within(
        self,
        X: Any = None,
        radius: Optional[int] = None,
        *,
        codes: Any = None,
        items: Any = None,
        labels: Any = None,
        without_labels: Any = None,
        rerank: Optional[int] = None,
        label_weight: Optional[int] = None,
        detail_weight: Optional[int] = None,
        float_query: bool = False,
    ) -> StoreWithin:
        """All items up to a distance from each query, which is included; other arguments as of :meth:`search`."""
        if radius is None:
            raise TypeError("within needs a radius")
        told = how(labels, without_labels, rerank, label_weight, detail_weight, float_query)
        found, version, of_hits = self._near(queries(X, codes, items), index(radius), told)
        made = StoreWithin(*found)
        made.version, made.labels = version, of_hits
        return made


def queries(X: Any, packed: Any, items: Any) -> Queries:
    """What is searched with: one of the three."""
    if sum(one is not None for one in (X, packed, items)) != 1:
        raise ValueError("a search takes vectors (X), codes= or items=, and one of them")
    if X is not None:
        return features(X)
    return codes(packed) if packed is not None else ids(items, "items")


def how(
    labels_: Any,
    without_labels: Any,
    rerank: Optional[int],
    label_weight: Optional[int],
    detail_weight: Optional[int],
    float_query: bool,
) -> StoreHow:
    """How to search."""
    only = [] if labels_ is None else names(labels_)
    if labels_ is not None and not only:
        raise ValueError("labels has no label in it; give None to find items of any")
    without = [] if without_labels is None else names(without_labels, "without_labels")
    return only, without, rerank, dialled(label_weight, detail_weight, float_query)


def payload_bytes(values: Any) -> Optional[list[bytes]]:
    """Payloads as they are kept: bytes as they are, `None` as nothing, anything else as its JSON."""
    return None if values is None else [_bytes(value) for value in values]


def _bytes(value: Any) -> bytes:
    if value is None:
        return b""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as problem:
        raise type(problem)(f"a payload is bytes, or what JSON has: {problem}") from None


def payload_of(data: bytes) -> Any:
    """What was put in, by what is kept of it."""
    if not data:
        return None
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError):
        return data
