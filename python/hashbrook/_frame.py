"""Columns of pandas and polars frames and of Arrow tables that are vectors, labels and ids."""

from __future__ import annotations

from typing import Any, Optional

from ._convert import column, column_names, features, ids, is_frame, library_of
from ._labels import labels
from ._types import Floats, Ids, Labels


def labelled(X: Any, y: Any) -> tuple[Floats, Optional[Labels]]:
    """Converts vectors and labels. If the vectors are a frame, ``y`` may name its column of labels."""
    X, (y,) = _apart(X, [y])
    return features(X), labels(y)


def relabelled(X: Any, old: Any, new: Any) -> tuple[Floats, Optional[Labels], Optional[Labels]]:
    """Converts vectors, old labels and new labels. If the vectors are a frame, labels may name its columns."""
    X, (old, new) = _apart(X, [old, new])
    return features(X), labels(old, "old"), labels(new, "new")


def items(ids_: Any, X: Any, y: Any) -> tuple[Ids, Floats, Optional[Labels]]:
    """Converts ids, vectors and labels. If the vectors are a frame, ids and labels may name its columns."""
    X, (ids_, y) = _apart(X, [ids_, y])
    return ids(ids_), features(X), labels(y)


def _apart(X: Any, others: list[Any]) -> tuple[Any, list[Any]]:
    """Returns a frame without the named columns, and the named columns in place of their names."""
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
        # Columns are selected by position, because several other columns may have the same name.
        return X.loc[:, [name not in named for name in columns]], others
    return X.select([name for name in columns if name not in named]), others
