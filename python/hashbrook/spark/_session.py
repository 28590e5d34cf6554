"""Helpers shared by all calls on Spark."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Callable

from .._function import HashFunction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def shared(spark: SparkSession, value: Any) -> Callable[[], Any]:
    """Returns a function by which tasks get a value, which is sent to each executor once."""
    try:
        sent = spark.sparkContext.broadcast(value)
    except Exception:  # Spark Connect has no context, and raises several types of errors for it.
        return lambda: value
    return lambda: sent.value


_functions: dict[str, HashFunction] = {}


def shared_function(spark: SparkSession, function: HashFunction) -> Callable[[], HashFunction]:
    """Returns a function by which tasks get a hash function.

    The hash function is sent to each executor once, and read once by each process of the executor.
    """
    data = function.to_bytes()
    name, sent = hashlib.sha256(data).hexdigest(), shared(spark, data)

    def ask() -> HashFunction:
        if name not in _functions:
            _functions.clear()
            _functions[name] = HashFunction.from_bytes(sent())
        return _functions[name]

    return ask


def session(df: DataFrame) -> SparkSession:
    """Returns the session of a frame."""
    return df.sparkSession


def expect_columns(df: DataFrame, *names: str) -> None:
    """Fails for a missing column, before any task starts."""
    for name in names:
        if name not in df.columns:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(map(repr, df.columns))}")
