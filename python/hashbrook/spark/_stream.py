"""Streams: a model that learns each batch exactly once, and the codes of the learned rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Optional

from .._model import Model
from ..interchange import function_id
from ._encode import encode
from ._learn import learn
from ._table import Files, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

#: Number of older models that are kept in addition to the latest one.
KEEP = 2


def learn_stream(
    stream_df: DataFrame,
    model_path: str,
    *,
    checkpoint: str,
    out: Optional[str] = None,
    method: str = "brook",
    column: str = "vector",
    label_column: str = "label",
    trigger: Optional[dict[str, Any]] = None,
    **parameters: Any,
) -> StreamingQuery:
    """Starts a query that learns from a stream and appends the codes of its rows to a table. Returns the query.

    After every micro-batch the model is in ``model_path`` (:func:`load_model`). The codes that this model's function
    computes for the batch are in ``out`` (:func:`read_codes`), with the function's id in the column ``function``;
    :func:`renew` re-encodes all rows with one function. ``checkpoint`` is the directory in which Spark stores its
    position in the stream. ``trigger`` determines when batches are processed: ``{"processingTime": "10 seconds"}``,
    ``{"availableNow": True}``.

    Any process may be killed at any time. After a restart with the same paths, every row is learned exactly once and
    occurs exactly once in the codes. A repeated batch changes nothing, because its model and its codes exist already.
    Spark may split the stream differently after a restart (two files in one batch); once the model is warm, the
    function does not depend on the split. If ``model_path`` already has a model from another stream, this model
    continues to learn. One query at a time may use a ``model_path``.
    """
    spark = stream_df.sparkSession
    settings = {"method": method, "column": column, "label_column": label_column, **parameters}

    def take(batch: DataFrame, number: int) -> None:
        models = _Models(batch.sparkSession, model_path)
        query = str(json.loads(Files(batch.sparkSession, checkpoint).read("metadata"))["id"])
        batch.persist()
        try:
            model = models.after(query, number)
            if model is None:
                latest = models.latest()
                if batch.isEmpty() and latest is None:
                    return
                model = learn(batch, model=latest, **settings) if not batch.isEmpty() else latest
                assert model is not None
                models.put(model, query, number)
            if out is not None and not batch.isEmpty():
                _append(batch, model, out, query, number, column)
        finally:
            batch.unpersist()

    started = stream_df.writeStream.foreachBatch(take).option("checkpointLocation", checkpoint)
    if trigger is not None:
        started = started.trigger(**trigger)
    _expect_settings(spark, model_path, settings)
    return started.start()


def load_model(spark: SparkSession, model_path: str) -> Model:
    """Returns the latest model written by :func:`learn_stream`."""
    model = _Models(spark, model_path).latest()
    if model is None:
        raise FileNotFoundError(f"there is no model in {model_path}")
    return model


def _expect_settings(spark: SparkSession, model_path: str, settings: dict[str, Any]) -> None:
    """Refuses settings that cannot be learned before the query starts."""
    latest = _Models(spark, model_path).latest()
    bits = settings.get("bits")
    if latest is not None and bits is not None and bits != latest.bits:
        raise ValueError(f"the model in {model_path} has codes of {latest.bits} bits, and {bits} are asked for")
    if latest is None and settings["method"] != "brook":
        raise ValueError(f"on Spark brook is learned, whose sums can be merged, and not {settings['method']!r}")


def _append(batch: DataFrame, model: Model, out: str, query: str, number: int, column: str) -> None:
    table = Table(batch.sparkSession, out)
    if any(entry.get("query") == query and entry.get("batch") == number for entry in table.log()):
        return
    function = model.hash_function()
    about = {"function": function_id(function), "query": query, "batch": number}
    table.change(encode(batch, function, column), False, about)


class _Models:
    """Models in a directory, each with its number in order, the query, and the last batch that it has learned."""

    def __init__(self, spark: SparkSession, directory: str) -> None:
        self._files = Files(spark, directory)

    def _names(self) -> list[tuple[int, str, int, str]]:
        """Returns number, query, batch and file name of each model, in order."""
        names = [name for name in self._files.names("") if name.endswith(".model")]
        parts = [(name, name[: -len(".model")].split("_")) for name in names]
        return sorted((int(order), query, int(batch), name) for name, (order, query, batch) in parts)

    def latest(self) -> Optional[Model]:
        names = self._names()
        return Model.from_bytes(self._files.read(names[-1][3])) if names else None

    def after(self, query: str, number: int) -> Optional[Model]:
        """Returns the model after a batch of a query; `None` if the batch has not been learned."""
        names = self._names()
        if not names or names[-1][1] != query or names[-1][2] < number:
            return None
        if names[-1][2] > number:
            raise ValueError(
                f"{self._files.directory} has learned batch {names[-1][2]} of this stream, and batch {number} came; "
                "is the checkpoint an old one?"
            )
        return Model.from_bytes(self._files.read(names[-1][3]))

    def put(self, model: Model, query: str, number: int) -> None:
        names = self._names()
        order = 1 + (names[-1][0] if names else 0)
        self._files.write(f"{order:012}_{query}_{number}.model", model.to_bytes())
        for *_, name in names[:-KEEP]:
            self._files.remove(name)
