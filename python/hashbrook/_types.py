"""Types that the compiled part takes."""

from __future__ import annotations

from typing import Callable, Optional, Union

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.uint64]
#: Ids: numbers, or texts.
Ids = Union[Numbers, list[str]]
#: A list of texts or an array of int64, and where the labels of each row end if rows have several.
Labels = tuple[Union[npt.NDArray[np.int64], list[str]], Optional[Numbers]]
#: Told how many rows are done.
Progress = Optional[Callable[[int], None]]
#: Labels and labels to be without, ids, `rerank`, and a dial of two weights and whether the query is a float one.
How = tuple[
    Optional[list[str]], Optional[list[str]], Optional[Ids], Optional[int], Optional[tuple[int, int, bool]]
]
