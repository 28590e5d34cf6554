"""Conversion of columns of Arrow batches to arrays, with errors that name the row."""

from __future__ import annotations

import os
from typing import Any, Iterator, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from .._types import Bytes, Floats, Labels


class Place(NamedTuple):
    """Position of the rows of a batch: the partition, and the number of the first row in the partition."""

    partition: int
    first: int

    def row(self, row: int) -> str:
        """Returns the description of a row for messages."""
        return f"row {self.first + row} of partition {self.partition}"


def placed(batches: Iterator[Any]) -> Iterator[tuple[Any, Place]]:
    """Yields the batches of a partition, each with its position.

    Also limits the threads of the kernels to the cores of the task.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    partition, cores = (context.partitionId(), context.cpus()) if context else (0, 1)
    os.environ.setdefault("RAYON_NUM_THREADS", str(cores))
    first = 0
    for batch in batches:
        yield batch, Place(partition, first)
        first += batch.num_rows


def column(batch: Any, name: str) -> Any:
    """Returns a column by its name."""
    at = batch.schema.get_field_index(name)
    if at < 0:
        raise ValueError(f"there is no column {name!r}; there are {', '.join(map(repr, batch.schema.names))}")
    return batch.column(at)


def vectors(batch: Any, name: str, dim: Optional[int], place: Place) -> Floats:
    """Converts a column of vectors to rows of float32, all of one length: of ``dim``, if ``dim`` is given.

    Vectors are lists of numbers, or bytes of little-endian float32, which Spark moves far faster.
    """
    import pyarrow as pa

    lists = column(batch, name)
    if pa.types.is_binary(lists.type):
        return _packed(lists, name, dim, place)
    if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)
            or pa.types.is_fixed_size_list(lists.type)):
        hint = " (pyspark.ml.functions.vector_to_array makes arrays of ML vectors)" if pa.types.is_struct(
            lists.type) else ""
        raise TypeError(f"the column {name!r} must be an array of numbers, not {lists.type}{hint}")
    kind = lists.type.value_type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        raise TypeError(f"the column {name!r} must be an array of numbers, not of {kind}")
    if lists.null_count:
        row = int(np.flatnonzero(lists.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(f"{place.row(row)}: {name!r} is null, and a vector is expected")
    rows = len(lists)
    if pa.types.is_fixed_size_list(lists.type):
        lengths = np.full(rows, lists.type.list_size)
    else:
        lengths = np.diff(lists.offsets.to_numpy())
    expected = dim if dim is not None else int(lengths[0]) if rows else 0
    if (lengths != expected).any():
        row = int(np.flatnonzero(lengths != expected)[0])
        raise ValueError(f"{place.row(row)}: {name!r} has {lengths[row]} numbers, and {expected} are expected")
    flat = lists.flatten()
    if flat.null_count:
        at = int(np.flatnonzero(flat.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(f"{place.row(at // expected)}: number {at % expected} of {name!r} is null")
    with np.errstate(over="ignore"):
        numbers = np.ascontiguousarray(flat.to_numpy(zero_copy_only=False), dtype=np.float32)
    return numbers.reshape(rows, expected)


def _packed(given: Any, name: str, dim: Optional[int], place: Place) -> Floats:
    if dim is None:
        first = given[0].as_py() if len(given) else None
        dim = len(first or b"") // 4
    flat = _bytes(given, name, dim * 4, f"a vector of {dim} numbers", place)
    return flat.view("<f4").astype(np.float32, copy=False)


def check_finite(X: Floats, name: str, place: Place) -> None:
    """Fails for the first row with a non-finite number; called after a kernel refused the rows."""
    wrong = ~np.isfinite(X)
    if wrong.any():
        row, at = (int(place_) for place_ in np.argwhere(wrong)[0])
        raise ValueError(f"{place.row(row)}: number {at} of {name!r} is {X[row, at]}, and must be finite")


def labels(batch: Any, name: str, place: Place) -> Labels:
    """Converts a column of labels: integers or strings, or lists of either.

    A row without labels has a null or an empty list.
    """
    import pyarrow as pa

    given = column(batch, name)
    if pa.types.is_dictionary(given.type):
        given = given.dictionary_decode()
    ends = None
    if pa.types.is_list(given.type) or pa.types.is_large_list(given.type):
        lengths = given.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        ends = lengths.cumsum().astype(np.uint64)
        given = given.flatten()
        if given.null_count:
            raise ValueError(f"{place.row(0)} or one after it: {name!r} has a null among its labels")
    elif given.null_count:
        ends = given.is_valid().to_numpy(zero_copy_only=False).cumsum().astype(np.uint64)
        given = given.drop_null()
    if pa.types.is_integer(given.type):
        return np.ascontiguousarray(given.to_numpy(zero_copy_only=False), dtype=np.int64), ends
    if pa.types.is_boolean(given.type):
        return given.to_numpy(zero_copy_only=False).astype(np.int64), ends
    if pa.types.is_string(given.type) or pa.types.is_large_string(given.type):
        return given.to_pylist(), ends
    raise TypeError(f"the column {name!r} must have labels, whole numbers or texts, not {given.type}")


def codes(batch: Any, name: str, bits: int, place: Place) -> Bytes:
    """Converts a column of packed codes of ``bits`` bits to rows of bytes."""
    import pyarrow as pa

    width = (bits + 7) // 8
    packed = column(batch, name)
    if not (pa.types.is_binary(packed.type) or pa.types.is_fixed_size_binary(packed.type)
            or pa.types.is_large_binary(packed.type)):
        raise TypeError(f"the column {name!r} must be binary, as encode makes it, not {packed.type}")
    return _bytes(packed, name, width, f"a code of {bits} bits", place)


def _bytes(given: Any, name: str, width: int, what: str, place: Place) -> Bytes:
    """Returns a column of ``width`` bytes per row as an array, without a copy."""
    import pyarrow as pa

    if given.null_count:
        row = int(np.flatnonzero(given.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(f"{place.row(row)}: {name!r} is null, and {what} is expected")
    rows = len(given)
    if pa.types.is_fixed_size_binary(given.type):
        lengths, start = np.full(rows, given.type.byte_width), given.offset * given.type.byte_width
        data = given.buffers()[1]
    else:
        wide = pa.types.is_large_binary(given.type)
        _, ends, data = given.buffers()
        offsets = np.frombuffer(ends, dtype=np.int64 if wide else np.int32)[given.offset :][: rows + 1]
        lengths, start = np.diff(offsets), int(offsets[0]) if rows else 0
    if (lengths != width).any():
        row = int(np.flatnonzero(lengths != width)[0])
        raise ValueError(f"{place.row(row)}: {name!r} has {lengths[row]} bytes, and {what} has {width}")
    if not rows:
        return np.zeros((0, width), dtype=np.uint8)
    return np.frombuffer(data, dtype=np.uint8, count=rows * width, offset=start).reshape(rows, width)


def to_binary(packed: Bytes) -> Any:
    """Returns packed codes as a binary column, without a copy."""
    import pyarrow as pa

    rows, width = packed.shape
    offsets = (np.arange(rows + 1, dtype=np.int64) * width).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(packed)])


class Ids:
    """Ids of a column: integers or strings."""

    def __init__(self, given: Any, name: str, place: Place) -> None:
        import pyarrow as pa

        if given.null_count:
            row = int(np.flatnonzero(given.is_null().to_numpy(zero_copy_only=False))[0])
            raise ValueError(f"{place.row(row)}: {name!r} is null, and an id is expected")
        self.texts = pa.types.is_string(given.type) or pa.types.is_large_string(given.type)
        if not self.texts and not pa.types.is_integer(given.type):
            raise TypeError(f"the column {name!r} must have whole numbers or texts as ids, not {given.type}")
        values = given.to_numpy(zero_copy_only=False)
        self.values: npt.NDArray[Any] = values if self.texts else values.astype(np.int64, copy=False)


SIGN = np.uint64(1 << 63)


def to_numbers(ids: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Maps ids of Spark, which may be negative, to unsigned numbers in the same order."""
    return np.ascontiguousarray(ids).view(np.uint64) ^ SIGN


def from_numbers(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Returns the ids that :func:`to_numbers` mapped to the numbers."""
    return (numbers ^ SIGN).view(np.int64)
