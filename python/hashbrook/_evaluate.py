"""Evaluation by labels, and comparison of methods."""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence, Union

from . import _hashbrook as native
from ._convert import codes
from ._frame import labelled
from ._function import HashFunction
from ._labels import labels
from ._model import to_json
from ._progress import bar

#: A method: its name, or its name and parameters.
MethodSpec = Union[str, "tuple[str, Mapping[str, Any]]"]


def evaluate(
    function: Union[HashFunction, int],
    queries: Any,
    query_labels: Any,
    database: Any,
    database_labels: Any,
    *,
    metrics: Optional[Sequence[str]] = None,
) -> dict[str, float]:
    """Evaluates the ranking of the database by Hamming distance, averaged over queries.

    ``function`` encodes queries and database. If ``function`` is a number, queries and database are already codes with
    this number of bits. An item is relevant if it shares a label with the query. Metrics are ``mAP``, ``mAP@N``,
    ``precision@N``, ``precision_radius_N`` and ``ndcg@N``; the default is those that the command prints.

    >>> import hashbrook
    >>> X, y = hashbrook.datasets.digits()
    >>> model = hashbrook.Model("bsodh", dim=64, bits=32)
    >>> model.learn(X[:1500], y[:1500], batch=250)
    >>> found = hashbrook.evaluate(model.hash_function(), X[1500:], y[1500:], X[:1500], y[:1500])
    >>> sorted(found)[:3]
    ['answerable_queries', 'database', 'mAP']
    """
    if isinstance(function, HashFunction):
        bits = function.bits
        queries, database = function.encode(queries), function.encode(database)
    else:
        bits, queries, database = function, codes(queries, "queries"), codes(database, "database")
    asked, there = labels(query_labels, "query_labels"), labels(database_labels, "database_labels")
    if asked is None or there is None:
        raise ValueError("evaluation needs labels of the queries and of the database")
    return native.evaluate(bits, queries, asked, database, there, None if metrics is None else list(metrics))


class Comparison(Sequence["dict[str, Any]"]):
    """Results of :func:`compare`: a dictionary for each method and checkpoint; its ``repr`` is a table.

    ``pandas.DataFrame(list(comparison))`` converts it to a frame.
    """

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: Any) -> Any:
        return self._rows[row]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows)

    def __repr__(self) -> str:
        if not self._rows:
            return "<Comparison of nothing>"
        hidden = {"queries", "answerable_queries", "database", "parameters"}
        columns = [name for name in self._rows[0] if name not in hidden]
        lines = [columns] + [[_shown(row[name]) for name in columns] for row in self._rows]
        widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
        return "\n".join(
            "  ".join(
                text.ljust(width) if at == 0 else text.rjust(width)
                for at, (text, width) in enumerate(zip(line, widths))
            )
            for line in lines
        )


def _shown(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def compare(
    methods: Iterable[MethodSpec],
    X: Any,
    y: Any,
    *,
    bits: Union[int, Sequence[int]] = 64,
    seeds: Union[int, Sequence[int]] = 1,
    queries_per_class: int = 100,
    rows: int = 20_000,
    batch: Optional[int] = None,
    every: Optional[int] = None,
    center: str = "all",
    preset: Optional[str] = None,
    metrics: Optional[Sequence[str]] = None,
    progress: bool = False,
) -> Comparison:
    """Runs methods by the papers' protocol over one stream, as ``hashbrook compare`` does.

    For each seed the data is split into queries and a database. Each method learns the first ``rows`` rows of the
    database, ``batch`` at a time (2,000, or a tenth if that is less). Search is evaluated at the end, and after every
    ``every`` batches. ``center`` is "all", "first" or "none". ``seeds`` is the number of seeds, or a list of seeds.
    ``y`` may be the name of a column, as for :meth:`Model.learn`.

    >>> import hashbrook
    >>> X, y = hashbrook.datasets.digits()
    >>> found = hashbrook.compare(["brook", ("bsodh", {"ridge": 0.3}), "lsh"], X, y, bits=32,
    ...                           queries_per_class=20, metrics=["mAP"])
    >>> [row["method"] for row in sorted(found, key=lambda row: -row["mAP"])]
    ['brook', 'bsodh', 'lsh']
    """
    data, given = labelled(X, y)
    if given is None:
        raise ValueError("a comparison needs labels")
    if center not in ("all", "first", "none"):
        raise ValueError(f'center is "all", "first" or "none", not {center!r}')
    lengths = [bits] if isinstance(bits, int) else list(bits)
    starts = range(1, seeds + 1) if isinstance(seeds, int) else list(seeds)
    specs = [(one, {}) if isinstance(one, str) else (one[0], dict(one[1])) for one in methods]
    cells = [(seed, length, spec) for seed in starts for length in lengths for spec in specs]
    found: list[dict[str, Any]] = []
    with bar(progress, len(cells), "comparing") as told:
        for done, (seed, length, (name, parameters)) in enumerate(cells):
            if told is not None:
                told(done)
            measured = native.compare(
                (name, preset, to_json(parameters)), data, given, length, seed, queries_per_class, rows,
                batch, every, center, None if metrics is None else list(metrics),
            )
            about = {"method": name, "parameters": parameters, "bits": length, "seed": seed}
            found.extend({**about, "rows": row.pop("rows"), **row} for row in measured)
    return Comparison(found)
