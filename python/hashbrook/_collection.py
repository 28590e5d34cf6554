"""Common interface of a store and a client: arguments and results."""

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

#: Labels of each hit of each query.
HitLabels = list[list[list[str]]]


#: Vectors, codes, or ids of items.
Queries = Union[Floats, Bytes, GivenIds]
#: Ids, distances and scores of the hits of each query. `Near` begins with the offset of the first hit of each query.
Nearest = tuple[Ids, Distances, Optional[Scores]]
Near = tuple[npt.NDArray[np.int64], Ids, Distances, Optional[Scores]]
Self = TypeVar("Self", bound="Collection")


class Acknowledged(NamedTuple):
    """Acknowledgement of a put or a change of labels, which is then on the disk."""

    #: Number of items.
    items: int
    #: Number of items that replaced others.
    replaced: int
    #: Whether the replaced items are unlearned.
    unlearned: bool
    #: End of the journal, for ``wait``.
    position: int


class Removed(NamedTuple):
    """Acknowledgement of a removal, which is then on the disk."""

    #: Number of items that existed and were removed.
    removed: int
    #: Whether the removed items are unlearned.
    unlearned: bool
    #: End of the journal, for ``wait``.
    position: int


class Item(NamedTuple):
    """An item as stored."""

    id: Union[int, str]
    #: Vector as put; rounded if the store uses half precision.
    vector: npt.NDArray[np.float32]
    labels: list[str]
    #: Payload: the value if it is JSON, otherwise bytes; `None` if there is no payload.
    payload: Any
    #: Packed code, as returned by :meth:`HashFunction.encode`.
    code: npt.NDArray[np.uint8]
    #: Version of the function that made the code.
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
    """Common base of a store and a client."""

    __slots__ = ()

    def _nearest(self, asked: Queries, k: int, told: StoreHow) -> tuple[Nearest, int, HitLabels]:
        """Returns the nearest items to each query, the version of the codes, and the labels of the hits."""
        raise NotImplementedError

    def _near(self, asked: Queries, radius: int, told: StoreHow) -> tuple[Near, int, HitLabels]:
        """Returns the items within a radius of each query, the version of the codes, and the labels of the hits."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes the collection."""
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
        """Returns the ``k`` nearest items to each query: a vector, one of ``codes``, or an item by its id (``items``).

        Results are those of :meth:`Index.search`, with the ``labels`` of each hit and the ``version`` of the function
        that computed the codes of queries and items. A row with fewer than ``k`` hits ends with
        :data:`hashbrook.NO_ID`, also in an empty collection; ``found`` is the number of hits of each query.

        A search finds only items with one of the ``labels`` and none of ``without_labels``. A label that no item has
        is not an error, unlike in :meth:`Index.filtered`, because items with this label may be inserted at any time.
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
        """Returns all items at a distance of at most ``radius`` from each query.

        The other arguments are those of :meth:`search`.
        """
        if radius is None:
            raise TypeError("within needs a radius")
        told = how(labels, without_labels, rerank, label_weight, detail_weight, float_query)
        found, version, of_hits = self._near(queries(X, codes, items), index(radius), told)
        made = StoreWithin(*found)
        made.version, made.labels = version, of_hits
        return made


def queries(X: Any, packed: Any, items: Any) -> Queries:
    """Returns the queries: exactly one of vectors, codes and items must be given."""
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
    """Returns the search options as the compiled part takes them."""
    only = [] if labels_ is None else names(labels_)
    if labels_ is not None and not only:
        raise ValueError("labels has no label in it; give None to find items of any")
    without = [] if without_labels is None else names(without_labels, "without_labels")
    return only, without, rerank, dialled(label_weight, detail_weight, float_query)


def payload_bytes(values: Any) -> Optional[list[bytes]]:
    """Converts payloads to bytes: bytes stay unchanged, `None` becomes empty, other values become JSON."""
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
    """Converts a stored payload back: JSON to its value, other bytes stay unchanged, empty to `None`."""
    if not data:
        return None
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError):
        return data
