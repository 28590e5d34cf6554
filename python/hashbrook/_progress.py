"""Progress bars, when they are asked for."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import Callable, ContextManager, Iterator, Optional

Told = Optional[Callable[[int], None]]

#: Made once, since calls of a single query take but some microseconds.
_NO_BAR: ContextManager[Told] = nullcontext()


def bar(wanted: bool, total: int, what: str) -> ContextManager[Told]:
    """A function to be told how many rows are done, or `None` if no bar is wanted."""
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
