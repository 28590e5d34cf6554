"""Progress bars, when they are asked for."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Callable, Iterator, Optional


@contextmanager
def bar(wanted: bool, total: int, what: str) -> Iterator[Optional[Callable[[int], None]]]:
    """A function to be told how many rows are done, or `None` if no bar is wanted."""
    if not wanted:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError("progress=True needs tqdm: pip install tqdm") from None
    with tqdm(total=total, desc=what, unit="row", unit_scale=True) as shown:
        yield lambda done: shown.update(done - shown.n) and None
        shown.update(total - shown.n)
