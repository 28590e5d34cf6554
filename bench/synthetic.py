"""The second table: synthetic codes of several widths and counts, clustered and random, searched on one and two threads."""

import re
import subprocess

import numpy as np

from contenders import HERE, WORK, Hashbrook, Numpy, Usearch, build_index, flat, hnsw, ivf, multi_hash
from measuring import measure

SCAN = ("--scan",)
AVX2 = ("--kernel", "avx2")


def codes_of(kind, bits, count, seed):
    """Returns packed codes. The classes are the same for every seed."""
    rng = np.random.default_rng(seed)
    if kind == "random":
        return rng.integers(0, 256, (count, bits // 8), dtype=np.uint8)
    centres = np.random.default_rng(7).integers(0, 2, (100, bits), dtype=np.uint8)
    packed = np.empty((count, bits // 8), np.uint8)
    for start in range(0, count, 100_000):
        size = min(100_000, count - start)
        turned = rng.random((size, bits), dtype=np.float32) < 0.05
        some = centres[rng.integers(0, 100, size)] ^ turned
        packed[start : start + size] = np.packbits(some, axis=1, bitorder="little")
    return packed


def ceilings():
    command = ["cargo", "bench", "--bench", "index", "--", "ceilings"]
    text = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE.parent).stdout
    peak, read = re.findall(r"([\d.]+) G words/s", text)[:2]
    text = subprocess.run([*command[:-1], "share"], check=True, capture_output=True, text=True,
                          cwd=HERE.parent).stdout
    shares = [" ".join(line.split()) for line in text.splitlines() if "% of the rate" in line]
    return {"popcount": float(peak), "read": float(read), "shares": shares}


def tasks(quick, bits, count):
    """Yields the measured tasks: the number of queries, the kind of search and the number of threads."""
    if count >= 10_000_000:
        yield {"k": 10, "single": False, "queries": 300, "threads": 1}
        yield {"k": 10, "single": True, "queries": 50, "threads": 1}
        return
    for threads in (1, 2):
        for k in (1, 10, 100, 1000):
            yield {"k": k, "single": False, "queries": 300, "threads": threads}
        yield {"radius": 2, "single": False, "queries": 300, "threads": threads}
        if not quick or bits == 64:
            yield {"k": 10, "single": True, "queries": 50, "threads": threads}


def title(task):
    what = f"top {task['k']}" if "k" in task else f"radius {task['radius']}"
    return f"{what}, {'one at a time' if task['single'] else 'batch'}, {task['threads']} thread" + (
        "s" if task["threads"] > 1 else ""
    )


def grid(quick):
    cells = [("clustered", bits, 1_000_000) for bits in ((64, 128) if quick else (32, 64, 128, 256))]
    if not quick:
        cells += [("random", bits, 1_000_000) for bits in (32, 64, 128, 256)]
        cells += [("clustered", bits, 2_500_000) for bits in (64, 128)]
        cells += [("clustered", 64, 10_000_000)]
    return cells


def contenders_for(task, count, always, avx2, naive, others):
    found = list(always)
    if task["threads"] > 1:
        return found
    if not task["single"]:
        found += avx2
        if task.get("k") in (10, 100) and count == 1_000_000:
            found += naive
    if "radius" in task:
        return found + [it for it in others if it.name == "FAISS MultiHash"]
    return found + [it for it in others if it.name in ("FAISS IVF", "FAISS HNSW") and task["k"] == 10]


def run(options, part, save):
    """Measures everything, and calls `save` after each set of codes."""
    part["ceilings"], part["cells"] = ceilings(), []
    rounds = options.rounds
    for kind, bits, count in grid(options.quick):
        database, queries = codes_of(kind, bits, count, 1), codes_of(kind, bits, 300, 2)
        np.save(WORK / "codes.npy", database)
        index = WORK / "synthetic.index"
        build_index(WORK / "codes.npy", index)
        always = [Hashbrook(index), Hashbrook(index, "hashbrook scan", options=SCAN), flat(bits, database)]
        avx2 = [Hashbrook(index, "hashbrook avx2", options=AVX2),
                Hashbrook(index, "hashbrook scan avx2", options=(*SCAN, *AVX2))]
        naive = [Usearch(database), Numpy(database)]
        others = []
        if (kind, bits, count) == ("clustered", 64, 1_000_000):
            others = [ivf(bits, database), hnsw(bits, database), multi_hash(bits, database)]
        for task in tasks(options.quick, bits, count):
            contenders = contenders_for(task, count, always, avx2, naive, others)
            rows = measure(contenders, queries[: task["queries"]], task, rounds)
            part["cells"].append({"codes": kind, "bits": bits, "count": count, "task": task,
                                  "title": title(task), "rows": rows})
            ours = rows["hashbrook"]
            print(f"{kind} {bits} bits, {count:,} codes, {title(task)}: "
                  f"{count * ours['queries'] / ours['seconds'] / 1e9:.2f} G codes/s, "
                  f"{ours['ratio']:.1f} x FAISS IndexBinaryFlat", flush=True)
        save()
