"""Evaluation: each task ranks the items of its partition by counts of the items before them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Optional

import numpy as np
import numpy.typing as npt

from .. import _hashbrook as native
from .._function import HashFunction
from .._labels import labels as given_labels
from ._columns import codes, labels, placed
from ._search import Queries, _asked, _right_codes
from ._session import expect_columns, session, shared

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def evaluate(
    codes_df: DataFrame,
    queries: Queries,
    query_labels: Any = None,
    *,
    function: Optional[HashFunction] = None,
    bits: Optional[int] = None,
    metrics: Optional[list[str]] = None,
    id_column: str = "id",
    column: str = "vector",
    label_column: str = "label",
) -> dict[str, float]:
    """Evaluates the ranking of items by their codes. The result equals that of :func:`hashbrook.evaluate`, bit for bit.

    Items are ranked by distance. Items at equal distance are ranked by the order of partitions and of rows within them.
    ``queries`` are as in :func:`search`; if they are a frame, its ``label_column`` has their labels. ``metrics`` names
    the metrics: "mAP", "mAP@1000", "precision@10", "precision_radius_2", "ndcg@100".

    The frame is read twice. The first pass counts the items of each partition at each distance; with these counts, the
    second pass knows each item's rank. The driver holds 16 bytes for each partition, query and distance.
    """
    asked = _asked(queries, function, bits, id_column, column)
    if query_labels is None:
        if not hasattr(queries, "sparkSession"):
            raise ValueError("queries that are no frame need their labels (query_labels=)")
        expect_columns(queries, label_column)
        query_labels = [row[0] for row in queries.select(label_column).collect()]
    of_queries = given_labels(query_labels, "query_labels")
    if of_queries is None:
        raise ValueError("queries must have labels")
    about = (asked.bits, np.ascontiguousarray(asked.packed), of_queries)
    expect_columns(codes_df, "code", label_column)
    items = _right_codes(codes_df, function, label_column)
    spark, length = session(codes_df), asked.bits
    sent = shared(spark, about)

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        for batch, place in placed(batches):
            packed = np.ascontiguousarray(codes(batch, "code", length, place))
            yield place.partition, packed, labels(batch, label_column, place)

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        partition, tally = 0, None
        for partition, packed, there in read(batches):
            more = native.tally_part(sent(), packed, there)
            tally = more if tally is None else tally + more
        if tally is not None:
            yield _row(partition, tally)

    tallies = dict(_collected(items.mapInArrow(count, "number long, found binary")))
    if not tallies:
        raise ValueError("there are no items to rank")
    before, total = {}, np.zeros_like(next(iter(tallies.values())))
    for partition in sorted(tallies):
        before[partition] = total
        total = total + tallies[partition]
    known = shared(spark, (total, before))

    def rank(batches: Iterator[Any]) -> Iterator[Any]:
        moved = None
        for partition, packed, there in read(batches):
            whole, begins = known()
            found, moved = native.rank_part(
                sent(), packed, there, whole, begins[partition] if moved is None else moved, metrics
            )
            yield _row(partition, found)

    ranks = [found for _, found in _collected(items.mapInArrow(rank, "number long, found binary"))]
    return native.score_parts(about, total, ranks, metrics)


def _row(number: int, found: npt.NDArray[np.uint64]) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({"number": [number], "found": pa.array([found.tobytes()], pa.binary())})


def _collected(df: DataFrame) -> list[tuple[int, npt.NDArray[np.uint64]]]:
    return [(row[0], np.frombuffer(bytes(row[1]), dtype=np.uint64)) for row in df.collect()]
