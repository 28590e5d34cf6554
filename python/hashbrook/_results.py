"""What searches find."""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple, Optional, Union

import numpy as np
import numpy.typing as npt

#: The id that fills the end of a row of fewer hits than were asked for.
NO_ID = int(np.iinfo(np.uint64).max)
#: The distance there.
NO_DISTANCE = int(np.iinfo(np.uint32).max)

#: Of uint64; of texts, and of None at the end of a short row, in an index whose ids are texts.
Ids = npt.NDArray[Any]
Distances = npt.NDArray[np.uint32]
Scores = npt.NDArray[np.float32]


class Hits(NamedTuple):
    """Ids and distances, in order of distance and id.

    Of :meth:`Index.search` they have a row for each query and a column for each of the nearest. Where fewer
    were found, the row ends with ids of 2^64 - 1 (:data:`hashbrook.NO_ID`; ``None`` if ids are texts) and distances
    of 2^32 - 1 (:data:`hashbrook.NO_DISTANCE`), and :attr:`found` says how many there are.
    """

    ids: Ids
    distances: Distances

    @property
    def found(self) -> npt.NDArray[np.int64]:
        """How many each query found."""
        return np.asarray((self.distances != NO_DISTANCE).sum(axis=-1))


class RankedHits(NamedTuple):
    """Ids, distances and scores by the index's metric, the nearest first, then by id; the end of a short row has scores of NaN."""

    ids: Ids
    distances: Distances
    scores: Scores

    @property
    def found(self) -> npt.NDArray[np.int64]:
        """How many each query found."""
        return np.asarray((self.distances != NO_DISTANCE).sum(axis=-1))


class Within:
    """All that several queries found up to a distance: as many hits as there are.

    ``found[q]`` is what query ``q`` found. Beneath, the hits of all queries stand in one array each
    (:attr:`ids`, :attr:`distances`, and :attr:`scores` if they were ranked), and query ``q`` has
    ``offsets[q]:offsets[q + 1]`` of them.
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
