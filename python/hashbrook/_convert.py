"""Conversion of the user's data to arrays that the compiled part takes.

A C-contiguous numpy array of float32 is used without a copy. All other vectors are converted to such an array:
other types of numbers, other memory orders, lists, frames and columns of pandas and polars, and Arrow arrays and
tables. None of these libraries is imported for the conversion. Masked numpy arrays are accepted if no value is
masked: hashbrook does not support missing values.
"""

from __future__ import annotations

import os
import re
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from ._types import Bytes, Floats, Ids

Path = Union[str, "os.PathLike[str]"]


def library_of(value: Any) -> str:
    """Returns the name of the library that defines a value's type."""
    return type(value).__module__.partition(".")[0]


def is_frame(value: Any) -> bool:
    """Returns whether a value has named columns: a pandas or polars frame, an Arrow table or batch."""
    return library_of(value) in ("pandas", "polars", "pyarrow") and hasattr(value, "columns")


def column_names(frame: Any) -> list[Any]:
    """Returns the names of the columns of a frame."""
    return list(frame.schema.names if library_of(frame) == "pyarrow" else frame.columns)


def column(frame: Any, name: Any) -> Any:
    """Returns a column of a frame."""
    return frame.column(name) if library_of(frame) == "pyarrow" else frame[name]


def _vectors_of(frame: Any, name: str) -> Any:
    """Returns the vectors of a frame: its only column of lists, or all columns, which must be numbers."""
    names = column_names(frame)
    if len(set(names)) < len(names):
        return frame
    kinds = {each: _kind(column(frame, each)) for each in names}
    lists = [each for each, kind in kinds.items() if kind == "lists"]
    if len(lists) == 1:
        return column(frame, lists[0])
    others = {each: kind for each, kind in kinds.items() if kind != "numbers"}
    if others:
        shown = ", ".join(f"{each} ({kind})" for each, kind in others.items())
        raise TypeError(
            f"{name} has columns that are no numbers: {shown}; name them as labels or ids, or drop them before"
        )
    return frame


def _kind(column_: Any) -> str:
    """Returns the kind of values of a column: "numbers", "lists", or the name of another type."""
    kind = column_.type if library_of(column_) == "pyarrow" else column_.dtype
    if getattr(kind, "kind", "") in tuple("fiub"):
        return "numbers"
    text = str(kind).lower()
    if re.match(r"u?int\d|float|double|halffloat|bool|decimal", text):
        return "numbers"
    if re.match(r"(large_|fixed_size_)?list|array", text):
        return "lists"
    if text != "object":
        return str(kind)
    # A column of Python objects may hold anything; its first value decides.
    first = next((one for one in column_ if one is not None), None)
    if isinstance(first, (list, tuple, np.ndarray)):
        return "lists"
    return type(first).__name__ if isinstance(first, (str, bytes, dict)) else "numbers"


def refuse_masked(value: Any, name: str) -> None:
    """Fails if an array, or a row of a list of arrays, has masked values, which numpy would drop silently."""
    if isinstance(value, (list, tuple)):
        for number, row in enumerate(value):
            if isinstance(row, np.ma.MaskedArray) and np.ma.is_masked(row):
                mask = np.ma.getmaskarray(row)
                raise _masked(name, [number, *np.argwhere(mask)[0].tolist()], int(mask.sum()))
    elif isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        mask = np.ma.getmaskarray(value)
        raise _masked(name, np.argwhere(mask)[0].tolist(), int(mask.sum()))


def _masked(name: str, place: list[int], count: int) -> ValueError:
    where = ", ".join(f"{what} {at}" for what, at in zip(("row", "column"), place))
    values = "a masked value" if count == 1 else "masked values, the first"
    return ValueError(
        f"{name} has {values} in {where}; expected none: replace them ({name}.filled(value)), or drop their rows"
    )


def to_array(value: Any, name: str = "the array") -> npt.NDArray[Any]:
    """Converts any kind of column or matrix to a numpy array, and copies only if necessary."""
    refuse_masked(value, name)
    if isinstance(value, np.ndarray):
        return value.data if isinstance(value, np.ma.MaskedArray) else value
    if library_of(value) == "pyarrow":
        return _from_arrow(value)
    if library_of(value) == "polars":
        return np.asarray(value.to_numpy())
    if library_of(value) == "scipy" and hasattr(value, "toarray"):
        raise TypeError("vectors are dense here: give the sparse matrix as an array (toarray())")
    return np.asarray(value)


def _from_arrow(value: Any) -> npt.NDArray[Any]:
    if hasattr(value, "columns") and hasattr(value, "schema"):
        return np.stack([_from_arrow(column) for column in value.columns], axis=1)
    if hasattr(value, "combine_chunks"):
        chunks = value.combine_chunks()
        # combine_chunks returns one chunk, or a list of chunks in older versions of pyarrow.
        return _from_arrow(chunks if not hasattr(chunks, "chunks") else chunks.chunk(0))
    if hasattr(value, "dictionary_decode"):
        value = value.dictionary_decode()
    if hasattr(value.type, "value_type"):
        rows = len(value)
        flat = value.flatten()
        if value.null_count or (rows and len(flat) % rows):
            raise ValueError("rows of a list column must all be there, and of one length")
        return _from_arrow(flat).reshape(rows, -1)
    return np.asarray(value.to_numpy(zero_copy_only=False))


def features(value: Any, name: str = "X") -> Floats:
    """Converts vectors, one per row, to a C-contiguous array of float32."""
    if is_frame(value):
        value = _vectors_of(value, name)
    array = to_array(value, name)
    if array.dtype == object and array.ndim == 1 and len(array) and np.ndim(array[0]) == 1:
        # The value is a column of lists or of arrays.
        refuse_masked(list(array), name)
        array = np.stack([np.asarray(row, dtype=np.float32) for row in array])
    if array.ndim != 2:
        shape = "x".join(map(str, array.shape)) or "a single number"
        hint = "; for one vector, give a list of it: [x]" if array.ndim == 1 else ""
        raise ValueError(f"{name} must have rows of vectors (2 dimensions), not {shape}{hint}")
    if array.dtype.kind not in "fiub" and array.dtype != object:
        raise TypeError(f"{name} must have numbers, not {array.dtype}")
    if array.dtype == np.float32 and array.flags.c_contiguous and array.flags.aligned:
        return array if type(array) is np.ndarray else np.asarray(array)
    if array.dtype == object:
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as problem:
            raise type(problem)(f"{name} must have numbers: {problem}") from None
    with np.errstate(over="ignore", invalid="ignore"):
        # A number too large for float32 becomes infinite, which the compiled part reports by row and column.
        return np.ascontiguousarray(array, dtype=np.float32)


def codes(value: Any, name: str = "codes") -> Bytes:
    """Converts packed codes, one per row, to a C-contiguous array of uint8."""
    array = to_array(value, name)
    if array.dtype != np.uint8 or array.ndim != 2:
        raise TypeError(
            f"{name} must be uint8 of 2 dimensions, as encode gives them, "
            f"not {array.dtype} of {array.ndim}"
        )
    return np.ascontiguousarray(array)


def ids(value: Any, name: str = "ids") -> Ids:
    """Converts ids, which are integers from 0 to 2^64 - 1 or strings."""
    if isinstance(value, str):
        raise TypeError(f"{name} must be a list or an array, not a text; for one, give [{value!r}]")
    if isinstance(value, (range, set, frozenset)) or (
        not hasattr(value, "__array__") and not hasattr(value, "__len__") and hasattr(value, "__iter__")
    ):
        value = list(value)
    if isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be a list or an array, not a number; for one, give [{value}]")
    # numpy would convert numbers to strings in a list that has both.
    array = np.array(value, dtype=object) if _has_texts(value) else to_array(value, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {array.ndim}")
    if not len(array):
        return np.zeros(0, dtype=np.uint64)
    if array.dtype.kind in "UT":
        return [str(one) for one in array]
    if array.dtype == object and isinstance(array[0], str):
        return [_text(one, name) for one in array]
    if array.dtype == object or array.dtype.kind == "f":
        # Integers of mixed size become objects or lose their last digits in numpy, so each is converted separately.
        if array.dtype.kind == "f" and isinstance(value, np.ndarray):
            raise TypeError(f"{name} must be whole numbers, not {array.dtype}")
        try:
            return np.array([_id(one, name) for one in value], dtype=np.uint64)
        except OverflowError:
            raise ValueError(f"{name} must be from 0 to 2^64 - 1") from None
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be whole numbers or texts, not {array.dtype}")
    if array.dtype.kind == "i" and int(array.min()) < 0:
        raise ValueError(f"{name} must be from 0 to 2^64 - 1, not {int(array.min())}")
    return np.ascontiguousarray(array, dtype=np.uint64)


def _id(value: Any, name: str) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise TypeError(f"{name} must be whole numbers or all be texts, not {value!r}")
    return int(value)


def _has_texts(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(one, str) for one in value)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be texts or all be whole numbers, not {value!r}")
    return str(value)


def path(value: Path) -> str:
    """Returns a path as a string."""
    return os.fspath(value)
