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
#: What a label bit and a detail bit count, and whether the query is a float one.
Weights = tuple[int, int, bool]
#: Labels and labels to be without, ids, `rerank`, and a dial.
How = tuple[
    Optional[list[str]], Optional[list[str]], Optional[Ids], Optional[int], Optional[Weights]
]
#: Of a store: labels and labels to be without, `rerank`, and a dial.
StoreHow = tuple[list[str], list[str], Optional[int], Optional[Weights]]
#: When items are re-encoded, at what share of a core, whether labels are learned, above which share of dead bytes the
#: journal is compacted, and after how many idle seconds items are re-encoded.
Running = tuple[str, float, bool, float, float, str]
#: What was put in: items, how many were replaced, whether that is unlearned, and the position.
Put = tuple[int, int, bool, int]
