"""Encoding: each task encodes the vectors of its partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator

from .._function import HashFunction
from ..interchange import function_id
from ._columns import check_finite, placed, to_binary, vectors
from ._session import expect_columns, session, shared_function

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def encode(df: DataFrame, function: HashFunction, column: str = "vector") -> DataFrame:
    """Returns the frame with codes instead of its vectors; all other columns stay.

    The column ``code`` has packed bytes as returned by :meth:`hashbrook.HashFunction.encode`. The column ``function``
    has the id of the function (:func:`hashbrook.interchange.function_id`). Existing columns of these names are
    replaced.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import BinaryType, StructField, StructType

    expect_columns(df, column)
    kept = [field for field in df.schema.fields if field.name not in (column, "code", "function")]
    names = [field.name for field in kept]
    ask = shared_function(session(df), function)
    dim = function.dim

    def encode_rows(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch, place in placed(batches):
            X = vectors(batch, column, dim, place)
            try:
                packed = ask().encode(X)
            except ValueError:
                check_finite(X, column, place)
                raise
            columns = [batch.column(batch.schema.get_field_index(name)) for name in names]
            yield pa.RecordBatch.from_arrays([*columns, to_binary(packed)], [*names, "code"])

    schema = StructType([*kept, StructField("code", BinaryType(), False)])
    encoded = df.select(*map(_quoted, [*names, column])).mapInArrow(encode_rows, schema)
    return encoded.withColumn("function", F.lit(function_id(function)))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
