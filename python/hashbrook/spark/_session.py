"""What all calls on Spark have in common."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Callable

from .._function import HashFunction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def shared(spark: SparkSession, value: Any) -> Callable[[], Any]:
    """A value that tasks can ask for: sent to each executor once."""
    try:
        sent = spark.sparkContext.broadcast(value)
    except Exception:  # Spark Connect has no context, and says so by several kinds of errors.
        return lambda: value
    return lambda: sent.value


_functions: dict[str, HashFunction] = {}


def shared_function(spark: SparkSession, function: HashFunction) -> Callable[[], HashFunction]:
    """A function that tasks can ask for: sent to each executor once, and read once by each of its processes."""
    data = function.to_bytes()
    name, sent = hashlib.sha256(data).hexdigest(), shared(spark, data)

    def ask() -> HashFunction:
        if name not in _functions:
            _functions.clear()
            _functions[name] = HashFunction.from_bytes(sent())
        return _functions[name]

    return ask


def session(df: DataFrame) -> SparkSession:
    """The session of a frame."""
    return df.sparkSession


def expect_columns(df: DataFrame, *names: str) -> None:
    """Tells of a column that is not there before any task is begun."""
    for name in names:
        if name not in df.columns:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(map(repr, df.columns))}")
