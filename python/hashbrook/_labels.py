"""Labels: integers or strings; each row has one, several or none."""

from __future__ import annotations

from typing import Any, Iterable, Optional

import numpy as np
import numpy.typing as npt

from ._convert import library_of, refuse_masked, to_array
from ._types import Labels

def labels(value: Any, name: str = "y") -> Optional[Labels]:
    """Converts labels for the compiled part; returns `None` if no labels are given.

    Labels are compared as strings: 7, 7.0 and "7" are the same label. A row without a label has `None`, NaN, ""
    or an empty list. A matrix of zeros and ones has a column for each label; the labels are "0", "1" and so on.
    """
    if value is None:
        return None
    if isinstance(value, str):
        raise TypeError(
            f"{name} must be a list or an array, or the name of a column if the vectors are a frame, not {value!r}"
        )
    refuse_masked(value, name)
    if _has_rows_of_lists(value):
        return _sets([_row(row) for row in value], name)
    array = to_array(value)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2:
        return _indicators(array, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension or two, not {array.ndim}")
    if array.dtype.kind in "iub" and (array.dtype.kind != "u" or array.dtype.itemsize < 8):
        return np.ascontiguousarray(array, dtype=np.int64), None
    if array.dtype.kind == "f":
        whole = np.isnan(array) | ((array == np.floor(array)) & (np.abs(array) < 2.0**63))
        if not whole.all():
            wrong = array[~whole][0]
            raise ValueError(f"{name} must be labels, and {wrong} is not a whole number")
        if not np.isnan(array).any():
            return array.astype(np.int64), None
    if array.dtype.kind == "U":
        texts = array.tolist()
        return _sets([[text] if text else [] for text in texts], name) if "" in texts else (texts, None)
    if array.dtype == object and any(_is_list(row) for row in array):
        return _sets([_row(row) for row in array], name)
    rows = [_row(row) for row in array.tolist()]
    if all(len(row) == 1 for row in rows):
        return [_text(row[0], name) for row in rows], None
    return _sets(rows, name)


def new_labels(y: Any) -> Labels:
    """Converts labels that replace those of existing items."""
    given = labels(y)
    if given is None:
        raise ValueError("expected labels for the items, found None; give [] to an item that shall have none")
    return given


def rows(given: Labels) -> list[list[str]]:
    """Returns the labels of each row as strings."""
    flat, ends = given
    texts = [str(label) for label in (flat if isinstance(flat, list) else flat.tolist())]
    if ends is None:
        return [[text] for text in texts]
    bounds = [0, *ends.tolist()]
    return [texts[start:end] for start, end in zip(bounds, bounds[1:])]


def names(value: Any, name: str = "labels") -> list[str]:
    """Converts labels to search for: a list, or a single label."""
    if isinstance(value, (str, int, np.integer)):
        value = [value]
    if not _is_list(value) and not isinstance(value, (set, frozenset, range)):
        value = to_array(value, name).tolist()
    return [_text(label, name) for label in value]


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset, np.ndarray)) or (
        library_of(value) == "polars" and hasattr(value, "to_list")
    )


def _has_rows_of_lists(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_is_list(row) for row in value)
    if library_of(value) == "polars" and hasattr(value, "dtype"):
        return str(value.dtype).startswith("List")
    if library_of(value) == "pyarrow" and "list" in str(getattr(value, "type", "")):
        # numpy has no array of rows that differ in length.
        return True
    return False


def _row(row: Any) -> list[Any]:
    """Returns the labels of a row."""
    if row is None or _is_nan(row):
        return []
    if hasattr(row, "as_py"):
        return _row(row.as_py())
    if isinstance(row, (str, int, float, np.integer, np.floating)):
        return [] if isinstance(row, str) and not row else [row]
    if library_of(row) == "pandas":
        # The row is a missing value of pandas.
        return []
    if _is_list(row):
        return list(row.to_list() if hasattr(row, "to_list") else row)
    return [row]


def _text(label: Any, name: str) -> str:
    if isinstance(label, str):
        return label
    if isinstance(label, (bool, np.bool_)):
        return str(int(label))
    if isinstance(label, (int, np.integer)):
        return str(int(label))
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    raise TypeError(f"{name} must be texts or whole numbers, not {label!r}")


def _is_nan(label: Any) -> bool:
    return isinstance(label, (float, np.floating)) and label != label


def _sets(rows: Iterable[Iterable[Any]], name: str) -> Labels:
    flat: list[str] = []
    ends: list[int] = []
    for row in rows:
        flat.extend(_text(label, name) for label in row if not _is_nan(label))
        ends.append(len(flat))
    return flat, np.array(ends, dtype=np.uint64)


def _indicators(array: npt.NDArray[Any], name: str) -> Labels:
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} of two dimensions must be of zeros and ones") from None
    if not np.isin(numbers, (0.0, 1.0)).all():
        raise ValueError(f"{name} of two dimensions must be of zeros and ones, a column for each label")
    there = numbers > 0
    columns = np.nonzero(there)[1].astype(np.int64)
    return np.ascontiguousarray(columns), there.sum(axis=1).cumsum().astype(np.uint64)
