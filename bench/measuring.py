"""How contenders are measured: in turn, round after round, and compared in what they find."""

import statistics
import time

import numpy as np

REFERENCE = "FAISS IndexBinaryFlat"


class Differs(Exception):
    """A search that has to be exact found something else than FAISS."""


def clocked(work):
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def by_distance(queries, radius, of, distances, ids):
    """What was found within a radius, in a form that does not depend on its order: how many hits each query has
    at each distance, and the sum of their ids."""
    # float64 holds these sums exactly: ids are below 2^24, and a query has fewer than 2^24 hits.
    width = radius + 1
    distances = np.asarray(distances).astype(np.int64)
    if len(distances) and (distances.min() < 0 or distances.max() > radius):
        raise Differs(f"expected distances from 0 to {radius}, found {distances.min()} to {distances.max()}")
    counts = np.bincount(of * width + distances, minlength=queries * width).reshape(queries, width)
    sums = np.bincount(of, weights=ids, minlength=queries).astype(np.int64)
    return np.column_stack([counts, sums])


def recall(truth, found, task):
    """The share of the k nearest distances, or of the hits within the radius, that was found."""
    if "k" in task:
        return float(((found <= truth[:, -1:]) & (found >= 0)).mean())
    return float(found[:, :-1].sum() / max(1, truth[:, :-1].sum()))


def measure(contenders, queries, task, rounds):
    """The median time of each contender, and of its ratio to FAISS IndexBinaryFlat in the same round, per query.

    A contender may have `limit`, of queries that it is asked; `exact`, whether it has to find what FAISS IndexBinaryFlat does;
    `wall`, what its last process took as a whole."""
    names = [it.name for it in contenders]
    times, walls, found = {name: [] for name in names}, {name: [] for name in names}, {}
    asked = {it.name: queries[: getattr(it, "limit", None)] for it in contenders}
    for _ in range(rounds):
        for it in contenders:
            seconds, result = it.run(asked[it.name], task)
            times[it.name].append(seconds / len(asked[it.name]))
            found[it.name] = np.asarray(result).astype(np.int64)
            if hasattr(it, "wall"):
                walls[it.name].append(it.wall)
    truth, rows = found[REFERENCE], {}
    for it in contenders:
        name, count = it.name, len(asked[it.name])
        ratios = [theirs / ours for theirs, ours in zip(times[REFERENCE], times[name])]
        row = {"queries": count, "seconds": statistics.median(times[name]) * count,
               "ratio": statistics.median(ratios), "ratios": [round(ratio, 3) for ratio in ratios]}
        if walls[name]:
            row["wall"] = statistics.median(walls[name])
        if "radius" in task:
            row["hits"] = int(truth[:count, :-1].sum())
        if getattr(it, "exact", True):
            if found[name].shape != truth[:count].shape or (found[name] != truth[:count]).any():
                raise Differs(f"{name} finds something else than {REFERENCE}: {task}")
        else:
            row["recall"] = recall(truth[:count], found[name], task)
        rows[name] = row
    return rows
