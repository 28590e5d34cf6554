"""Data to try things on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from . import _hashbrook as native


def digits() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """1,797 handwritten digits of 8 x 8 pixels from 0 to 16, and which digit each one is.

    >>> X, y = digits()
    >>> X.shape, y.shape
    ((1797, 64), (1797,))

    They are the test digits of "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak, UCI
    Machine Learning Repository, CC BY 4.0.
    """
    return native.digits()
