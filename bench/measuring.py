"""Measures contenders in turn, round after round, and compares their hits."""

import statistics
import time

import numpy as np

REFERENCE = "FAISS IndexBinaryFlat"


class Differs(Exception):
    """The hits of an exact contender differ from those of FAISS."""


def clocked(work):
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def by_distance(queries, radius, of, distances, ids):
    """Returns the hits within a radius in a form that does not depend on their order: the number of hits of each query
    at each distance, and the sum of the ids of its hits."""
    # float64 holds these sums exactly: ids are below 2^24, and a query has fewer than 2^24 hits.
    width = radius + 1
    distances = np.asarray(distances).astype(np.int64)
    if len(distances) and (distances.min() < 0 or distances.max() > radius):
        raise Differs(f"expected distances from 0 to {radius}, found {distances.min()} to {distances.max()}")
    counts = np.bincount(of * width + distances, minlength=queries * width).reshape(queries, width)
    sums = np.bincount(of, weights=ids, minlength=queries).astype(np.int64)
    return np.column_stack([counts, sums])


def recall(truth, found, task):
    """Returns the share of the k nearest distances, or of the hits within the radius, that the contender found."""
    if "k" in task:
        return float(((found <= truth[:, -1:]) & (found >= 0)).mean())
    return float(found[:, :-1].sum() / max(1, truth[:, :-1].sum()))


def measure(contenders, queries, task, rounds):
    """Returns the median time per query of each contender, and the median of its ratio to FAISS IndexBinaryFlat in the same round.

    A contender may have these attributes: `limit`, the maximum number of queries; `exact`, whether its hits must equal those of
    FAISS IndexBinaryFlat; `wall`, the total time of its last process."""
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
