"""Near-duplicates: codes that may be near each other meet in one partition; chains of near codes form groups."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, Iterator, Optional

import numpy as np
import numpy.typing as npt

from .._types import Bytes
from . import _search
from ._columns import Ids, codes, column, placed, to_binary
from ._search import _chunks, _given, _index, _texts
from ._session import expect_columns, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def dedup(
    codes_df: DataFrame, radius: int, *, bits: Optional[int] = None, id_column: str = "id"
) -> DataFrame:
    """Finds groups of near-duplicates: returns ``id`` and ``group`` of all items that have near-duplicates.

    ``group`` is the smallest id of the group. Two items are in one group if a chain of items connects them, with each
    item of the chain within the radius of the next item, as in :meth:`hashbrook.Index.duplicates`.

    Items with equal codes are grouped first. Different codes are split into ``radius + 1`` parts: two codes that differ
    in at most ``radius`` bits are equal in one part. For each of its parts, a code is sent to the partition of all
    codes with the same part, and the library finds the near codes in that partition. The radius should therefore be
    small compared with the length of the codes.
    """
    from pyspark.sql import functions as F

    if radius < 0:
        raise ValueError(f"the radius must be 0 or more, not {radius}")
    expect_columns(codes_df, id_column, "code")
    texts = _texts(codes_df, id_column)
    items = codes_df.select(F.col(id_column).alias("id"), "code")
    different = items.groupBy("code").agg(F.min("id").alias("id"), F.count("*").alias("items"))
    if radius == 0:
        groups = different.where("items > 1").withColumnRenamed("id", "group")
        return items.join(groups, "code").select("id", "group")
    different = different.persist()
    chains = _components(_near(different, radius, _bits(codes_df, bits), texts))
    first = chains.select(F.col("b").alias("id"), F.col("b").alias("group")).distinct()
    groups = chains.select(F.col("a").alias("id"), F.col("b").alias("group")).union(first)
    grouped = different.join(groups, "id", "left").where("items > 1 or group is not null")
    grouped = grouped.select("code", F.coalesce("group", "id").alias("group"))
    return items.join(grouped, "code").select("id", "group")


def _bits(df: DataFrame, bits: Optional[int]) -> int:
    if bits is not None:
        return bits
    first = df.select("code").first()
    return 8 if first is None or first[0] is None else max(len(first[0]) * 8, 8)


def _near(different: DataFrame, radius: int, bits: int, texts: bool) -> DataFrame:
    """Returns pairs of near items: not all, but enough to form the same chains as all pairs would."""
    kind = "string" if texts else "long"
    edges = np.linspace(0, bits, radius + 2).round().astype(int)

    def spread(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch, place in placed(batches):
            ids = Ids(column(batch, "id"), "id", place).values
            packed = codes(batch, "code", bits, place)
            unpacked = np.unpackbits(packed, axis=1, bitorder="little", count=bits)
            for part in range(radius + 1):
                key = np.packbits(unpacked[:, edges[part] : edges[part + 1]], axis=1, bitorder="little")
                key = np.hstack([np.full((len(key), 1), part % 256, dtype=np.uint8), key])
                yield pa.RecordBatch.from_arrays(
                    [to_binary(key), pa.array(ids, pa.string() if texts else pa.int64()), to_binary(packed)],
                    ["key", "id", "code"],
                )

    def meet(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        with tempfile.TemporaryDirectory() as directory:
            for ids, packed in _blocks(batches, bits, directory):
                groups = _index(ids, packed, bits).duplicates(radius)
                if not groups:
                    continue
                first = np.repeat([group[0] for group in groups], [len(group) - 1 for group in groups])
                others = np.concatenate([group[1:] for group in groups])
                pair = (_given(ids, side.astype(np.uint64)) for side in (others, first))
                as_column = pa.string() if texts else pa.int64()
                yield pa.RecordBatch.from_arrays([pa.array(side, as_column) for side in pair], ["a", "b"])

    spark = session(different)
    copies = different.count() * (radius + 1)
    partitions = max(spark.sparkContext.defaultParallelism, -(-2 * copies // _search.ROWS_AT_ONCE), 1)
    keyed = different.select("id", "code").mapInArrow(spread, f"key binary, id {kind}, code binary")
    return keyed.repartition(partitions, "key").mapInArrow(meet, f"a {kind}, b {kind}")


def _blocks(batches: Iterator[Any], bits: int, directory: str) -> Iterator[tuple[npt.NDArray[Any], Bytes]]:
    """Yields ids and codes of a partition in blocks such that every two items share at least one block.

    Usually the only block is the whole partition. If many codes have a part in common, their partition may have more
    rows than a task should hold. The chunks of the partition are then written to disk, and every two chunks form a
    block.
    """
    held: Optional[tuple[npt.NDArray[Any], Bytes]] = None
    kept = 0
    for ids, packed in _chunks(batches, "id", bits):
        chunk = _unique(ids, packed)
        if held is None and kept == 0:
            held = chunk
            continue
        if held is not None:
            _put(directory, 0, held)
            held, kept = None, 1
        _put(directory, kept, chunk)
        kept += 1
    if held is not None:
        yield held
    for one in range(kept):
        for other in range(one + 1, kept):
            (ids, packed), (more, others) = _get(directory, one), _get(directory, other)
            yield _unique(np.concatenate([ids, more]), np.concatenate([packed, others]))


def _put(directory: str, number: int, chunk: tuple[npt.NDArray[Any], Bytes]) -> None:
    np.save(os.path.join(directory, f"ids-{number}.npy"), chunk[0], allow_pickle=True)
    np.save(os.path.join(directory, f"codes-{number}.npy"), chunk[1])


def _get(directory: str, number: int) -> tuple[npt.NDArray[Any], Bytes]:
    ids = np.load(os.path.join(directory, f"ids-{number}.npy"), allow_pickle=True)
    return ids, np.load(os.path.join(directory, f"codes-{number}.npy"))


def _unique(ids: npt.NDArray[Any], packed: Bytes) -> tuple[npt.NDArray[Any], Bytes]:
    """Removes repeated items: several parts of one code may be sent to the same partition."""
    ids, first = np.unique(ids, return_index=True)
    return ids, packed[first]


def _components(pairs: DataFrame) -> DataFrame:
    """Returns for every item ``a`` of a chain, except the smallest, the smallest item ``b`` of the chain.

    In each round, items are connected with the smallest of their neighbours, until nothing changes, as in
    "Connected Components in MapReduce and Beyond" (Kiveris et al., 2014).
    """
    from pyspark.sql import functions as F

    kept = [pairs.distinct().persist()]
    now, before = _planned_anew(kept[0]), None
    while True:
        told = now.agg(F.count("*"), F.bit_xor(F.xxhash64("a", "b"))).first()
        assert told is not None
        if before == tuple(told):
            # The result of the last round stays persisted, so nothing is recomputed.
            for frame in kept[:-1]:
                frame.unpersist()
            return now
        before = tuple(told)
        both = now.union(now.select("b", "a"))
        least = both.groupBy("a").agg(F.min("b").alias("least"))
        larger = both.join(least, "a").where("b > a").select(F.col("b").alias("a"), F.least("least", "a").alias("b"))
        larger = larger.distinct()
        least = larger.groupBy("a").agg(F.min("b").alias("least"))
        smaller = larger.join(least, "a").where("b != least").select(F.col("b").alias("a"), F.col("least").alias("b"))
        kept.append(smaller.union(least.select("a", F.col("least").alias("b"))).distinct().persist())
        now = _planned_anew(kept[-1])


def _planned_anew(df: DataFrame) -> DataFrame:
    """Returns the same rows without their query plan, which would grow with every round.

    Spark still knows the lineage of the rows, so rows that are lost with an executor are recomputed.
    """
    from pyspark.sql import DataFrame as Frame

    spark: Any = df.sparkSession
    again = spark._jsparkSession.createDataFrame(df._jdf.toJavaRDD(), df._jdf.schema())
    return Frame(again, spark)
