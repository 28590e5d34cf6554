"""Learning: each task computes the sums of its partition, and the sums are merged."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Iterator, Optional

from .._model import Model
from ._columns import check_finite, labels, placed, vectors
from ._session import expect_columns, session, shared

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Number of models that one task merges, and that the driver merges at the end.
FAN = 8


def learn(
    df: DataFrame,
    method: str = "brook",
    *,
    column: str = "vector",
    label_column: str = "label",
    bits: int = 64,
    model: Optional[Model] = None,
    **parameters: Any,
) -> Model:
    """Learns from a frame. The model equals a :class:`hashbrook.Model` that learned all rows at once, to the last bit.

    The order of rows is that of partitions and of rows within them. The order matters for two reasons: the driver
    learns the first rows as the warm-up, and labels are numbered in order of first appearance. Tasks sum up all other
    rows in their partitions, and the sums are merged as a tree.

    ``label_column`` has integers or strings, lists of either, or nulls for rows without labels. The frame is read up to
    three times, and must return the same rows in the same order each time; otherwise cache the frame. ``parameters``
    are those of :class:`hashbrook.Model`. With ``model``, a copy of this model continues to learn; ``model`` itself
    does not change.

    Only brook has sums that can be added in any order. Settings that depend on the order of a stream are refused: any
    other method, a ``half_life``, ``start="steady"``. If classes arrive one after the other, brook on one machine
    chooses more anchors as they arrive (``follow``). On Spark, brook uses only the anchors of the warm-up, so shuffle
    frames that are sorted by class.
    """
    expect_columns(df, column, label_column)
    df = df.select(column, label_column)
    if model is None:
        if method != "brook":
            raise ValueError(
                f"on Spark brook is learned, whose sums can be merged, and not {method!r}; "
                "learn that from a part of the frame with hashbrook.Model"
            )
        model = Model(method, dim=_dimension(df, column), bits=bits, **parameters)
    else:
        model = model.copy()
    _expect_any_order(model)
    taken: dict[int, int] = {}
    began = model.batches
    if not model.is_warm:
        taken = _warm_up(df, model, column, label_column)
        if not model.is_warm:
            return model
    total = _sums(df, model, column, label_column, taken)
    if total is not None:
        model._native.merge_part(total._native, 0 if model.batches > began else 1)
    return model


def _expect_any_order(model: Model) -> None:
    if model.method != "brook":
        raise ValueError(f"on Spark brook is learned, whose sums can be merged, and not {model.method!r}")
    chosen = model.parameters
    if chosen["half_life"] or chosen["start"] != "seeded":
        raise ValueError(
            "on Spark rows are learned in no particular order, and with a half_life or start='steady' the order matters"
        )


def _dimension(df: DataFrame, column: str) -> int:
    first = df.select(column).first()
    if first is None:
        raise ValueError("the frame has no rows, and nothing tells the dimension of its vectors")
    if first[0] is None:
        raise ValueError(f"the first row has no vector: {column!r} is null")
    # The vector is bytes of float32, or an array of numbers.
    return len(first[0]) // 4 if isinstance(first[0], (bytes, bytearray)) else len(first[0])


def _warm_up(df: DataFrame, model: Model, column: str, label_column: str) -> dict[int, int]:
    """Lets the model learn the first rows. Returns the number of learned rows of each partition."""
    wanted = max(model.warmup - model.seen, 0)

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        rows, partition = 0, 0
        for batch, place in placed(batches):
            rows, partition = rows + batch.num_rows, place.partition
            if rows >= wanted:
                break
        if rows:
            yield pa.RecordBatch.from_pydict({"partition": [partition], "rows": [min(rows, wanted)]})

    there = sorted((row[0], row[1]) for row in df.mapInArrow(count, "partition long, rows long").collect())
    taken: dict[int, int] = {}
    for partition, rows in there:
        rows = min(rows, wanted - sum(taken.values()))
        if rows:
            taken[partition] = rows
    if not taken:
        return {}

    def first_rows(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for number, (batch, place) in enumerate(placed(batches)):
            rows = min(taken.get(place.partition, 0) - place.first, batch.num_rows)
            if rows <= 0:
                break
            packed = io.BytesIO()
            with pa.ipc.new_stream(packed, batch.schema) as stream:
                stream.write_batch(batch.slice(0, rows))
            yield pa.RecordBatch.from_pydict(
                {"partition": [place.partition], "number": [number], "first": [place.first],
                 "rows": pa.array([packed.getvalue()], pa.binary())}
            )

    _learn_together(model, _collected(df, first_rows), column, label_column)
    return taken


def _collected(df: DataFrame, first_rows: Any) -> list[tuple[int, int, bytes]]:
    kept = df.mapInArrow(first_rows, "partition long, number long, first long, rows binary").collect()
    return [(row[0], row[2], bytes(row[3])) for row in sorted(kept, key=lambda row: (row[0], row[1]))]


def _learn_together(model: Model, parts: list[tuple[int, int, bytes]], column: str, label_column: str) -> None:
    """Learns batches of Arrow as one batch of the model."""
    import pyarrow as pa

    from ._columns import Place

    tables = []
    for partition, first, packed in parts:
        (batch,) = pa.ipc.open_stream(packed)
        # Each batch is checked before the batches are joined, so that errors name the right row.
        vectors(batch, column, model.dim, Place(partition, first))
        tables.append(pa.Table.from_batches([batch]))
    batch = pa.concat_tables(tables).combine_chunks().to_batches()[0]
    place = Place(parts[0][0], parts[0][1])
    _learn_batch(model, batch, column, label_column, place)


def _learn_batch(model: Model, batch: Any, column: str, label_column: str, place: Any) -> None:
    X = vectors(batch, column, model.dim, place)
    given = labels(batch, label_column, place)
    try:
        model._native.learn(X, given)
    except ValueError:
        check_finite(X, column, place)
        raise


def _sums(
    df: DataFrame, model: Model, column: str, label_column: str, taken: dict[int, int]
) -> Optional[Model]:
    """Returns what siblings of a model learn from all rows except the taken ones; `None` if no rows remain."""
    sent = shared(session(df), model.sibling().to_bytes())

    def learn_rows(batches: Iterator[Any]) -> Iterator[Any]:
        sibling, partition = None, 0
        for batch, place in placed(batches):
            skipped = min(max(taken.get(place.partition, 0) - place.first, 0), batch.num_rows)
            if skipped == batch.num_rows:
                continue
            sibling = sibling or Model.from_bytes(sent())
            partition = place.partition
            rows = place._replace(first=place.first + skipped)
            _learn_batch(sibling, batch.slice(skipped), column, label_column, rows)
        if sibling is not None:
            yield _as_row(partition, sibling)

    schema = "number long, model binary"
    learned = df.mapInArrow(learn_rows, schema)
    parts, numbers = df.rdd.getNumPartitions(), FAN
    while parts > FAN:
        # Neighbours are merged in order, so that labels are numbered in order of first appearance.
        learned = _in_groups(learned, numbers, -(-parts // FAN)).mapInArrow(_merge_runs(numbers), schema)
        parts, numbers = -(-parts // FAN), numbers * FAN
    return _merged(sorted((row[0], bytes(row[1])) for row in learned.collect()))


def _in_groups(learned: DataFrame, numbers: int, groups: int) -> DataFrame:
    from pyspark.sql import functions as F

    key = F.floor(F.col("number") / numbers)
    return learned.repartition(groups, key).sortWithinPartitions("number")


def _merge_runs(numbers: int) -> Any:
    def merge(batches: Iterator[Any]) -> Iterator[Any]:
        run: Optional[int] = None
        merged: Optional[Model] = None
        first = 0
        for batch, _ in placed(batches):
            for number, packed in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist()):
                part = Model.from_bytes(packed)
                if merged is not None and number // numbers == run:
                    merged._native.merge_part(part._native, 0)
                    continue
                if merged is not None:
                    yield _as_row(first, merged)
                run, merged, first = number // numbers, part, number
        if merged is not None:
            yield _as_row(first, merged)

    return merge


def _merged(parts: list[tuple[int, bytes]]) -> Optional[Model]:
    merged: Optional[Model] = None
    for _, packed in parts:
        part = Model.from_bytes(packed)
        if merged is None:
            merged = part
        else:
            merged._native.merge_part(part._native, 0)
    return merged


def _as_row(number: int, model: Model) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({"number": [number], "model": pa.array([model.to_bytes()], pa.binary())})
