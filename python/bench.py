"""Compares the cost of calls from Python with that of the same calls of the library, in one process.

    python/.env/bin/maturin develop --release --manifest-path python/Cargo.toml
    python/.env/bin/python python/bench.py [rows] [rounds]

The two calls are measured in turns, and their medians are compared: the call from Python, from array to array, and the
library's call inside the compiled part, timed there. In addition to the wall-clock time, the output has the processor
time, which does not depend on other load of the machine.
"""

import json
import sys
import time
from statistics import median

import numpy as np

from hashbrook import Index, Model, _hashbrook

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
DIM, BITS, QUERIES, K = 128, 64, 200_000, 10


def compare(name, rounds, here, there):
    """Measures both calls in turns, and prints the medians of wall-clock and processor time."""
    here(), there()
    times = [(*timed(here), *timed(there, clock=lambda found, _: found)) for _ in range(rounds)]
    python, cpu, library, library_cpu = (median(side) for side in zip(*times))
    print(
        f"| {name} | {python:.3f} s | {library:.3f} s | {100 * (python / library - 1):+.1f} % "
        f"| {cpu:.3f} s | {library_cpu:.3f} s | {100 * (cpu / library_cpu - 1):+.1f} % |",
        flush=True,
    )


def timed(call, clock=lambda _, passed: passed):
    """Returns the seconds of wall-clock time and of processor time."""
    start, cpu = time.perf_counter(), time.process_time()
    found = call()
    return clock(found, time.perf_counter() - start), time.process_time() - cpu


def main():
    rng = np.random.default_rng(1)
    centers = rng.normal(size=(20, DIM)).astype(np.float32)
    y = rng.integers(0, 20, ROWS)
    X = centers[y] + rng.normal(scale=0.7, size=(ROWS, DIM)).astype(np.float32)
    numbers = y.astype(np.uint32)
    parameters = {"lift": "none"}
    text = json.dumps(parameters)

    print(
        f"| {ROWS:,} rows of {DIM} numbers, {BITS} bits | from Python | the library | more "
        "| processors | the library | more |\n|---|---|---|---|---|---|---|"
    )
    compare(
        "`learn`, brook, linear",
        ROUNDS,
        lambda: Model("brook", dim=DIM, bits=BITS, **parameters).learn(X, y),
        lambda: _hashbrook.time_learn("brook", text, BITS, X, numbers),
    )
    few = slice(0, min(ROWS, 20_000))
    compare(
        "`learn`, brook, 20,000 rows",
        ROUNDS,
        lambda: Model("brook", dim=DIM, bits=BITS).learn(X[few], y[few]),
        lambda: _hashbrook.time_learn("brook", "{}", BITS, X[few], numbers[few]),
    )
    linear, default = Model("brook", dim=DIM, bits=BITS, **parameters), Model("brook", dim=DIM, bits=BITS)
    for model in (linear, default):
        model.learn(X[few], y[few])
    part = X[: min(ROWS, 100_000)]
    for name, model, rows in (("linear", linear, X), ("by the default, 100,000 rows", default, part)):
        h = model.hash_function()
        compare(
            f"`encode`, {name}",
            ROUNDS,
            lambda: h.encode(rows),
            lambda: _hashbrook.time_encode(h._native, rows),
        )
    h = linear.hash_function()
    index = Index(h)
    index.add(range(ROWS), X, y)
    index.build_search_structures()
    queries = X[:QUERIES]
    snapshot = index.snapshot()._native
    compare(
        f"`search`, top {K} of {QUERIES:,} queries",
        ROUNDS,
        lambda: index.search(queries, K),
        lambda: _hashbrook.time_search(snapshot, queries, K),
    )
    one = X[:1]
    compare(
        "`search`, top 10, one at a time, 2,000 queries",
        ROUNDS,
        lambda: [index.search(one, K) for _ in range(2000)],
        lambda: sum(_hashbrook.time_search(snapshot, one, K) for _ in range(2000)),
    )


if __name__ == "__main__":
    main()
