"""Frames of pandas and polars and tables of Arrow: which of their columns are vectors, labels and ids."""

from __future__ import annotations

from typing import Any, Optional

from ._convert import column, column_names, features, ids, is_frame, library_of
from ._labels import labels
from ._types import Floats, Ids, Labels


def labelled(X: Any, y: Any) -> tuple[Floats, Optional[Labels]]:
    """Vectors and their labels, which may be the name of a column of the frame that the vectors are."""
    X, (y,) = _apart(X, [y])
    return features(X), labels(y)


def relabelled(X: Any, old: Any, new: Any) -> tuple[Floats, Optional[Labels], Optional[Labels]]:
    """Vectors with labels of two kinds, which may be columns of the frame that the vectors are."""
    X, (old, new) = _apart(X, [old, new])
    return features(X), labels(old, "old"), labels(new, "new")


def items(ids_: Any, X: Any, y: Any) -> tuple[Ids, Floats, Optional[Labels]]:
    """Ids, vectors and labels; ids and labels may be columns of the frame that the vectors are."""
    X, (ids_, y) = _apart(X, [ids_, y])
    return ids(ids_), features(X), labels(y)


def _apart(X: Any, others: list[Any]) -> tuple[Any, list[Any]]:
    """A frame without the columns that are named, and these columns in place of their names."""
    named = [other for other in others if isinstance(other, str)]
    if not named or not is_frame(X):
        return X, others
    columns = list(column_names(X))
    for name in named:
        if columns.count(name) > 1:
            raise ValueError(f"X has {columns.count(name)} columns {name!r}; expected one")
        if name not in columns:
            raise ValueError(f"X has no column {name!r}; its columns are {', '.join(map(str, columns))}")
    others = [column(X, other) if isinstance(other, str) else other for other in others]
    if library_of(X) == "pandas":
        # By position: other columns may have one name.
        return X.loc[:, [name not in named for name in columns]], others
    return X.select([name for name in columns if name not in named]), others
