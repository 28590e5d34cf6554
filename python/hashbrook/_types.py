"""Types that the compiled part takes."""

from __future__ import annotations

from typing import Callable, Optional, Union

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.uint64]
#: Ids: numbers, or strings.
Ids = Union[Numbers, list[str]]
#: List of strings or array of int64, and the end of the labels of each row if rows have several labels.
Labels = tuple[Union[npt.NDArray[np.int64], list[str]], Optional[Numbers]]
#: Function that is called with the number of processed rows.
Progress = Optional[Callable[[int], None]]
#: Weight of a label bit, weight of a detail bit, and whether the query is a float query.
Weights = tuple[int, int, bool]
#: Search options of an index: required labels, excluded labels, ids, `rerank`, and the weights of a dial.
How = tuple[
    Optional[list[str]], Optional[list[str]], Optional[Ids], Optional[int], Optional[Weights]
]
#: Search options of a store: required labels, excluded labels, `rerank`, and the weights of a dial.
StoreHow = tuple[list[str], list[str], Optional[int], Optional[Weights]]
#: Settings of a store: when items are re-encoded, the share of a core that re-encoding may use, whether labels are
#: learned, the share of dead bytes above which the journal is compacted, the idle seconds after which items are
#: re-encoded, and the search structure.
Running = tuple[str, float, bool, float, float, str]
#: Acknowledgement of a put: items, replaced items, whether the replaced items are unlearned, and the position.
Put = tuple[int, int, bool, int]
