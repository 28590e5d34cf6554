"""A bundled data set, and data from files."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _hashbrook as native
from ._convert import Path, path

#: One file, or several files that are read in order.
Files = Union[Path, Sequence[Path]]


def digits() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Returns 1,797 handwritten digits of 8 x 8 pixels with values from 0 to 16, and their labels 0 to 9.

    >>> X, y = digits()
    >>> X.shape, y.shape
    ((1797, 64), (1797,))

    The data are the test digits of "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak, UCI
    Machine Learning Repository, CC BY 4.0.
    """
    return native.digits()


def load(files: Files, labels: Optional[Files] = None) -> Any:
    """Returns the vectors in files as float32; vectors and labels if label files are given.

    The formats are those of the command: npy, npz, IDX, CSV, MATLAB (including 7.3), HDF5, Parquet, Arrow and more.
    ``"FILE:NAME"`` selects an array inside a file, ``"FILE:COLUMNS"`` columns of a table: names, positions, ranges
    (``px0..px63``) or all columns except some (``!id,!kind``). A column of labels is not a feature. Labels are an
    array of strings, or a list of lists of strings if rows have several labels.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     file = os.path.join(directory, "pets.csv")
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
