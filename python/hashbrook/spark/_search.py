"""Searches: the library's kernels find the nearest items of each partition, and the results are merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Optional, Union

import numpy as np
import numpy.typing as npt

from .._convert import codes as packed_codes
from .._convert import features, to_array
from .._function import HashFunction
from .._index import Index
from .._results import NO_DISTANCE
from .._types import Bytes
from ..interchange import check_codes, function_id
from ._columns import Ids, Place, codes, column, from_numbers, placed, to_numbers, vectors
from ._session import expect_columns, session, shared

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Number of rows that a task searches at once, which bounds its memory however large the partition is.
ROWS_AT_ONCE = 1 << 20
#: Number of queries that are searched at once if the number of hits is not known in advance.
QUERIES_AT_ONCE = 64

Queries = Union["DataFrame", Any]


def search(
    codes_df: DataFrame,
    queries: Queries,
    k: int = 10,
    *,
    function: Optional[HashFunction] = None,
    bits: Optional[int] = None,
    id_column: str = "id",
    column: str = "vector",
) -> DataFrame:
    """Returns the ``k`` nearest items to each query, in order of distance and id, as from one index of all codes.

    ``codes_df`` has ids, which are integers or strings, and codes, as returned by :func:`encode`. ``queries`` are
    vectors, which need the ``function``, or codes. They are an array, or a frame with ids and vectors (``column``) or
    codes (``code``). The column ``query`` of the result is the row number in an array, or the id in a frame. The
    queries are sent to every executor, so use thousands of queries, not millions. ``rank`` counts from 0.
    """
    if k < 1:
        raise ValueError(f"k must be 1 or more, not {k}")
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    asked = _asked(queries, function, bits, id_column, column)
    spark, items = session(codes_df), _items(codes_df, function, id_column)
    sent, length, texts = shared(spark, asked.packed), asked.bits, _texts(codes_df, id_column)

    def find(batches: Iterator[Any]) -> Iterator[Any]:
        best: Optional[_Best] = None
        for ids, packed in _chunks(batches, id_column, length):
            hits = _index(ids, packed, length).search_codes(sent(), k)
            best = _Best(k) if best is None else best
            best.add(_given(ids, hits.ids), hits.distances)
        if best is not None:
            yield from best.batches(texts)

    order = Window.partitionBy("query").orderBy("distance", "id")
    found = items.mapInArrow(find, _schema(codes_df, id_column))
    ranked = found.withColumn("rank", F.row_number().over(order) - 1).where(F.col("rank") < k)
    return asked.named(spark, ranked).select("query", "rank", "id", "distance")


def within(
    codes_df: DataFrame,
    queries: Queries,
    radius: int,
    *,
    function: Optional[HashFunction] = None,
    bits: Optional[int] = None,
    id_column: str = "id",
    column: str = "vector",
) -> DataFrame:
    """Returns all items at a distance of at most ``radius`` from each query.

    The other arguments are those of :func:`search`.
    """
    if radius < 0:
        raise ValueError(f"the radius must be 0 or more, not {radius}")
    asked = _asked(queries, function, bits, id_column, column)
    spark, items = session(codes_df), _items(codes_df, function, id_column)
    sent, length, texts = shared(spark, asked.packed), asked.bits, _texts(codes_df, id_column)

    def find(batches: Iterator[Any]) -> Iterator[Any]:
        for ids, packed in _chunks(batches, id_column, length):
            index, queries_ = _index(ids, packed, length), sent()
            for first in range(0, len(queries_), QUERIES_AT_ONCE):
                hits = index.within_codes(queries_[first : first + QUERIES_AT_ONCE], radius)
                numbers = np.repeat(np.arange(len(hits)) + first, np.diff(hits.offsets))
                yield from _rows(numbers, _given(ids, hits.ids), hits.distances, texts)

    found = items.mapInArrow(find, _schema(codes_df, id_column))
    return asked.named(spark, found).select("query", "id", "distance")


class _Asked(NamedTuple):
    """Queries as codes, and their ids."""

    packed: Bytes
    bits: int
    ids: Optional[npt.NDArray[Any]]

    def named(self, spark: Any, found: DataFrame) -> DataFrame:
        """Returns the results with the ids of queries instead of their numbers."""
        if self.ids is None:
            return found
        kind = "string" if self.ids.dtype == object else "long"
        names = spark.createDataFrame(list(enumerate(self.ids.tolist())), f"query long, name {kind}")
        return found.join(names.hint("broadcast"), "query").drop("query").withColumnRenamed("name", "query")


def _asked(
    queries: Queries, function: Optional[HashFunction], bits: Optional[int], id_column: str, column_: str
) -> _Asked:
    if function is not None and bits is not None and bits != function.bits:
        raise ValueError(f"codes of the function have {function.bits} bits, and {bits} are given")
    bits, ids = bits if function is None else function.bits, None
    if hasattr(queries, "sparkSession"):
        ids, given = _collected(queries, function, bits, id_column, column_)
    else:
        given = to_array(queries, "queries")
    if given.dtype == np.uint8:
        packed = packed_codes(given)
        bits = packed.shape[1] * 8 if bits is None else bits
        return _Asked(check_codes(packed, bits), bits, ids)
    if function is None:
        raise ValueError("queries that are vectors need the function that made the codes (function=)")
    return _Asked(function.encode(features(given, "queries")), function.bits, ids)


def _collected(
    queries: DataFrame, function: Optional[HashFunction], bits: Optional[int], id_column: str, column_: str
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    import pyarrow as pa

    what = "code" if "code" in queries.columns else column_
    expect_columns(queries, id_column, what)
    collected = queries.select(id_column, what).collect()
    if not collected:
        raise ValueError("there are no queries")
    batch = pa.RecordBatch.from_arrays(
        [pa.array([row[0] for row in collected]), pa.array([row[1] for row in collected])], [id_column, what]
    )
    place = Place(0, 0)
    ids = Ids(column(batch, id_column), id_column, place).values
    if what == "code":
        bits = len(collected[0][1]) * 8 if bits is None else bits
        return ids, codes(batch, what, bits, place)
    return ids, vectors(batch, what, None if function is None else function.dim, place)


def _items(df: DataFrame, function: Optional[HashFunction], id_column: str) -> DataFrame:
    """Returns the columns of ids and codes."""
    expect_columns(df, id_column, "code")
    return _right_codes(df, function, id_column)


def _right_codes(df: DataFrame, function: Optional[HashFunction], beside: str) -> DataFrame:
    """Returns the column ``beside`` and the codes.

    If the frame has a column ``function``, it must match the given function in every row.
    """
    from pyspark.sql import functions as F

    if function is None or "function" not in df.columns:
        return df.select(beside, "code")
    name = function_id(function)
    problem = F.concat(
        F.lit("a code is of "), F.col("function"),
        F.lit(f", and queries are of {name}; renew makes codes of one function"),
    )
    right = F.when(F.col("function") == name, F.col("code")).otherwise(F.raise_error(problem).cast("binary"))
    return df.select(beside, right.alias("code"))


def _texts(df: DataFrame, id_column: str) -> bool:
    kind = df.schema[id_column].dataType.typeName()
    if kind not in ("byte", "short", "integer", "long", "string"):
        raise TypeError(f"the column {id_column!r} must have whole numbers or texts as ids, not {kind}")
    return bool(kind == "string")


def _schema(df: DataFrame, id_column: str) -> str:
    return f"query long, id {'string' if _texts(df, id_column) else 'long'}, distance int"


def _chunks(batches: Iterator[Any], id_column: str, bits: int) -> Iterator[tuple[npt.NDArray[Any], Bytes]]:
    """Yields ids and codes of a partition in chunks. String ids ascend within a chunk."""
    ids: list[npt.NDArray[Any]] = []
    packed: list[Bytes] = []
    rows = 0

    def chunk() -> tuple[npt.NDArray[Any], Bytes]:
        all_ids, all_codes = np.concatenate(ids), np.concatenate(packed)
        if all_ids.dtype == object:
            order = np.argsort(all_ids, kind="stable")
            all_ids, all_codes = all_ids[order], all_codes[order]
        return all_ids, all_codes

    for batch, place in placed(batches):
        if rows + batch.num_rows > ROWS_AT_ONCE and rows:
            yield chunk()
            ids, packed, rows = [], [], 0
        ids.append(Ids(column(batch, id_column), id_column, place).values)
        packed.append(codes(batch, "code", bits, place))
        rows += batch.num_rows
    if rows:
        yield chunk()


def _index(ids: npt.NDArray[Any], packed: Bytes, bits: int) -> Index:
    """Returns an index of a chunk. String ids become numbers in the same order."""
    index = Index.of_codes(bits)
    if ids.dtype == object:
        if len(ids) > 1 and (ids[1:] == ids[:-1]).any():
            raise ValueError(f"the id {ids[1:][ids[1:] == ids[:-1]][0]!r} is there more than once")
        index.add_codes(np.arange(len(ids), dtype=np.uint64), packed)
        return index
    try:
        index.add_codes(to_numbers(ids), packed)
    except ValueError:
        different, counts = np.unique(ids, return_counts=True)
        if (counts > 1).any():
            raise ValueError(f"the id {different[counts > 1][0]} is there more than once") from None
        raise
    return index


def _given(ids: npt.NDArray[Any], found: npt.NDArray[np.uint64]) -> npt.NDArray[Any]:
    """Converts ids of a chunk's index to those of the frame; the padding of short rows becomes arbitrary ids."""
    if ids.dtype == object:
        return np.asarray(ids[np.minimum(found, np.uint64(len(ids) - 1)).astype(np.int64)])
    return from_numbers(found)


class _Best:
    """Nearest items of all chunks so far."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.ids: Optional[npt.NDArray[Any]] = None
        self.distances: npt.NDArray[np.uint32] = np.zeros((0, 0), dtype=np.uint32)

    def add(self, ids: npt.NDArray[Any], distances: npt.NDArray[np.uint32]) -> None:
        if self.ids is None:
            self.ids, self.distances = ids, distances
            return
        ids, distances = np.hstack([self.ids, ids]), np.hstack([self.distances, distances])
        if ids.dtype == object:
            keys = zip(distances.tolist(), ids.tolist())
            order = np.array([sorted(range(len(row)), key=list(zip(row, names)).__getitem__) for row, names in keys])
        else:
            order = np.lexsort((ids, distances), axis=1)
        order = order[:, : self.k]
        self.ids, self.distances = np.take_along_axis(ids, order, 1), np.take_along_axis(distances, order, 1)

    def batches(self, texts: bool) -> Iterator[Any]:
        if self.ids is not None:
            there = self.distances != NO_DISTANCE
            numbers = np.broadcast_to(np.arange(len(there))[:, None], there.shape)
            yield from _rows(numbers[there], self.ids[there], self.distances[there], texts)


def _rows(queries: Any, ids: npt.NDArray[Any], distances: Any, texts: bool) -> Iterator[Any]:
    """Yields results as Arrow batches."""
    import pyarrow as pa

    kind = pa.string() if texts else pa.int64()
    for first in range(0, len(ids), 1 << 16):
        part = slice(first, first + (1 << 16))
        yield pa.RecordBatch.from_pydict(
            {
                "query": pa.array(queries[part].astype(np.int64)),
                "id": pa.array(ids[part], kind),
                "distance": pa.array(distances[part].astype(np.int32)),
            }
        )
