"""Optional progress bars."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import Callable, ContextManager, Iterator, Optional

Told = Optional[Callable[[int], None]]

#: Created once, because calls with a single query take only microseconds.
_NO_BAR: ContextManager[Told] = nullcontext()


def bar(wanted: bool, total: int, what: str) -> ContextManager[Told]:
    """Returns a context with a function that takes the number of processed rows, or with `None` without a bar."""
    return _shown(total, what) if wanted else _NO_BAR


@contextmanager
def _shown(total: int, what: str) -> Iterator[Told]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError("progress=True needs tqdm: pip install tqdm") from None
    with tqdm(total=total, desc=what, unit="row", unit_scale=True) as shown:
        yield lambda done: shown.update(done - shown.n) and None
        shown.update(total - shown.n)
