"""Results of searches."""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple, Optional, Union

import numpy as np
import numpy.typing as npt

#: Id that pads a row with fewer hits than requested.
NO_ID = int(np.iinfo(np.uint64).max)
#: Distance that pads a row with fewer hits than requested.
NO_DISTANCE = int(np.iinfo(np.uint32).max)

#: Array of uint64; for string ids an array of strings, in which None pads a short row.
Ids = npt.NDArray[Any]
Distances = npt.NDArray[np.uint32]
Scores = npt.NDArray[np.float32]


class Hits(NamedTuple):
    """Ids and distances, in order of distance and id.

    The arrays of :meth:`Index.search` have a row for each query and a column for each of the nearest items. A row
    with fewer hits ends with ids of 2^64 - 1 (:data:`hashbrook.NO_ID`; ``None`` if ids are strings) and distances of
    2^32 - 1 (:data:`hashbrook.NO_DISTANCE`); :attr:`found` is the number of hits of each row.
    """

    ids: Ids
    distances: Distances

    @property
    def found(self) -> npt.NDArray[np.int64]:
        """Number of hits of each query."""
        return np.asarray((self.distances != NO_DISTANCE).sum(axis=-1))


class RankedHits(NamedTuple):
    """Ids, distances and scores by the index's metric, in order of score and id, the nearest first.

    The end of a short row has scores of NaN.
    """

    ids: Ids
    distances: Distances
    scores: Scores

    @property
    def found(self) -> npt.NDArray[np.int64]:
        """Number of hits of each query."""
        return np.asarray((self.distances != NO_DISTANCE).sum(axis=-1))


class Within:
    """All hits of several queries within a radius; each query has any number of hits.

    ``found[q]`` returns the hits of query ``q``. The arrays :attr:`ids`, :attr:`distances`, and :attr:`scores` (if
    hits were re-ranked) hold the hits of all queries; those of query ``q`` are ``offsets[q]:offsets[q + 1]``.
    """

    __slots__ = ("scores", "distances", "ids", "offsets")

    def __init__(
        self,
        offsets: npt.NDArray[np.int64],
        ids: Ids,
        distances: Distances,
        scores: Optional[Scores] = None,
    ) -> None:
        self.offsets = offsets
        self.ids = ids
        self.distances = distances
        self.scores = scores

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, query: int) -> Union[Hits, RankedHits]:
        if not -len(self) <= query < len(self):
            raise IndexError(f"there are {len(self)} queries, and no number {query}")
        query %= len(self)
        part = slice(self.offsets[query], self.offsets[query + 1])
        if self.scores is None:
            return Hits(self.ids[part], self.distances[part])
        return RankedHits(self.ids[part], self.distances[part], self.scores[part])

    def __iter__(self) -> Iterator[Union[Hits, RankedHits]]:
        return (self[query] for query in range(len(self)))

    def __repr__(self) -> str:
        return f"<Within: {len(self.ids)} hits of {len(self)} queries>"
