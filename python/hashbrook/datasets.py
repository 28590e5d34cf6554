"""Data to try things on, and data in files."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _hashbrook as native
from ._convert import Path, path

#: One file, or several that are read one after the other.
Files = Union[Path, Sequence[Path]]


def digits() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """1,797 handwritten digits of 8 x 8 pixels from 0 to 16, and which digit each one is.

    >>> X, y = digits()
    >>> X.shape, y.shape
    ((1797, 64), (1797,))

    They are the test digits of "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak, UCI
    Machine Learning Repository, CC BY 4.0.
    """
    return native.digits()


def load(files: Files, labels: Optional[Files] = None) -> Any:
    """The vectors in files as float32, or vectors and labels if files of labels are given.

    Files are what the command reads: npy, npz, IDX, CSV, MATLAB (7.3, too), HDF5, Parquet, Arrow and more. Say
    ``"FILE:NAME"`` for an array inside of a file, ``"FILE:COLUMNS"`` for columns of a table: names, places, ranges
    (``px0..px63``) or all but some (``!id,!kind``). A column of labels is no feature. Labels are an array of
    their texts, or a list of lists of texts where rows have several.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "pets.csv")
    ...     with open(file, "w") as out:
    ...         _ = out.write("size,weight,kind\\n1,2,cat\\n3,4,dog\\n")
    ...     X, y = load(file, labels=file + ":kind")
    >>> X.tolist(), y.tolist()
    ([[1.0, 2.0], [3.0, 4.0]], ['cat', 'dog'])
    """
    X, found = native.load(_paths(files), None if labels is None else _paths(labels))
    if found is None:
        return X
    texts, several = found
    return X, (texts if several else np.array([text for row in texts for text in row], dtype=str))


def _paths(files: Files) -> list[str]:
    if isinstance(files, (str, bytes)) or hasattr(files, "__fspath__"):
        return [path(files)]
    return [path(file) for file in files]
