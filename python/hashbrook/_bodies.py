"""Request bodies with items: npy if it can express them, Arrow if pyarrow is installed, otherwise JSON."""

from __future__ import annotations

import io
import json
import sys
from importlib.util import find_spec
from typing import Any, Iterator, Optional

import numpy as np
import numpy.typing as npt

from ._connection import to_json
from ._types import Floats, Ids

#: Maximum bytes and rows of a body, below the limits of a service with default settings.
BYTES = 16 << 20
ROWS = 50_000
#: Maximum bytes of a number in JSON; most numbers are shorter.
JSON_NUMBER = 24
#: Smallest count of numbers for which loading pyarrow pays off.
WORTH_ARROW = 200_000

JSON = "application/json"
NPY = "application/x-npy"
ARROW = "application/vnd.apache.arrow.stream"

#: Path with query string, body, and content type.
Request = tuple[str, bytes, str]


def rows_at_once(numbers: int, bytes_each: int) -> int:
    """Returns the number of rows of ``numbers`` numbers that fit into one request."""
    return max(1, min(ROWS, BYTES // max(1, numbers * bytes_each)))


def pieces(length: int, at_once: int) -> Iterator[slice]:
    """Yields slices that divide a list into pieces; an empty list is one piece."""
    for start in range(0, max(1, length), at_once):
        yield slice(start, min(length, start + at_once))


def check_finite(X: npt.NDArray[Any], name: str = "X") -> None:
    """Fails for a number that JSON cannot express, and names its row and column as the library does."""
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0]
        raise ValueError(f"{name}: the number in row {row}, column {column} is {X[row, column]}, not finite")


def puts(
    ids: Ids, X: Floats, labels: Optional[list[list[str]]], payloads: Optional[list[bytes]]
) -> list[Request]:
    """Returns the requests that insert items."""
    counted = labels is None and payloads is None and _count_on(ids)
    arrow = not counted and _arrow_pays(X)
    at_once = rows_at_once(X.shape[1], 4 if counted or arrow else JSON_NUMBER)
    listed = ids if isinstance(ids, list) else ids.tolist()
    if len(X) > at_once and len(set(listed)) < len(listed):
        # The service checks ids for duplicates only within a request.
        raise ValueError("an id is given more than once; nothing was changed")
    made = []
    for part in pieces(len(X), at_once):
        of_part = None if labels is None else labels[part]
        with_part = None if payloads is None else payloads[part]
        if counted:
            made.append((f"/items?first_id={listed[part.start]}", _npy(X[part]), NPY))
        elif arrow:
            made.append(("/items", _arrow(listed[part], X[part], of_part, with_part), ARROW))
        else:
            made.append(("/items", _json(listed[part], X[part], of_part, with_part), JSON))
    return made


def _count_on(ids: Ids) -> bool:
    """Returns whether each id is the preceding id plus 1."""
    if isinstance(ids, list) or not len(ids) or int(ids[-1]) == 2**64 - 1:
        return False
    return bool((np.diff(ids) == 1).all() and int(ids[-1]) >= int(ids[0]))


def _arrow_pays(X: Floats) -> bool:
    if "pyarrow" in sys.modules:
        return len(X) > 1
    return X.size >= WORTH_ARROW and find_spec("pyarrow") is not None


def _npy(X: Floats) -> bytes:
    body = io.BytesIO()
    np.save(body, X, allow_pickle=False)
    return body.getvalue()


def _arrow(
    ids: list[Any], X: Floats, labels: Optional[list[list[str]]], payloads: Optional[list[bytes]]
) -> bytes:
    import pyarrow

    texts = bool(ids) and isinstance(ids[0], str)
    columns = {
        "id": pyarrow.array(ids, pyarrow.string() if texts else pyarrow.uint64()),
        "vector": pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(X.reshape(-1)), X.shape[1]),
    }
    if labels is not None:
        columns["labels"] = pyarrow.array(labels, pyarrow.list_(pyarrow.string()))
    if payloads is not None:
        columns["payload"] = pyarrow.array([data.decode() or None for data in payloads], pyarrow.string())
    table = pyarrow.table(columns)
    body = io.BytesIO()
    with pyarrow.ipc.new_stream(body, table.schema) as stream:
        stream.write_table(table)
    return body.getvalue()


def _json(
    ids: list[Any], X: Floats, labels: Optional[list[list[str]]], payloads: Optional[list[bytes]]
) -> bytes:
    items: list[dict[str, Any]] = [{"id": id_, "vector": row} for id_, row in zip(ids, X.tolist())]
    if labels is not None:
        for item, names in zip(items, labels):
            item["labels"] = names
    if payloads is not None:
        for item, data in zip(items, payloads):
            if data:
                item["payload"] = json.loads(data)
    return to_json({"items": items})
