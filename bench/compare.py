"""Lets hashbrook, FAISS, USearch and numpy search the same codes in turn, and writes what they took."""

import argparse
import json
import pathlib
import platform
import re
import statistics
import subprocess
import time

import faiss
import numpy as np
import usearch.index

import report

HERE = pathlib.Path(__file__).parent
WORK = HERE / "work"
PROGRAM = HERE.parent / "target/release/hashbrook"


def codes_of(kind, bits, count, seed):
    """Packed codes; the classes are the same whatever the seed."""
    rng = np.random.default_rng(seed)
    if kind == "random":
        return rng.integers(0, 256, (count, bits // 8), dtype=np.uint8)
    middles = np.random.default_rng(7).integers(0, 2, (100, bits), dtype=np.uint8)
    packed = np.empty((count, bits // 8), np.uint8)
    for start in range(0, count, 100_000):
        size = min(100_000, count - start)
        turned = rng.random((size, bits), dtype=np.float32) < 0.05
        some = middles[rng.integers(0, 100, size)] ^ turned
        packed[start : start + size] = np.packbits(some, axis=1, bitorder="little")
    return packed


def clocked(work):
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


class Hashbrook:
    """The program, on an index file: as it is, or by a scan alone, by certain instructions."""

    def __init__(self, database, scan=False, kernel=None):
        self.name = " ".join(["hashbrook", *(["scan"] if scan else []), *([kernel] if kernel else [])])
        self.scan, self.kernel = scan, kernel
        self.index, self.queries, self.out = WORK / "it.index", WORK / "queries.npy", WORK / "out.npz"
        if not scan and not kernel:
            np.save(WORK / "codes.npy", database)
            build = [PROGRAM, "index", "build", "--codes", WORK / "codes.npy", "--out", self.index]
            subprocess.run(build, check=True, stdout=subprocess.DEVNULL)

    def run(self, queries, task, threads):
        np.save(self.queries, queries)
        what = ["-k", str(task["k"])] if "k" in task else ["--radius", str(task["radius"])]
        command = [PROGRAM, "search", "--index", self.index, "--codes", self.queries, *what]
        command += ["--json", "--out", self.out, "--threads", str(threads)]
        # Often enough that the structure is there which the index builds once it pays.
        command += ["--scan", "--repeat", "5"] if self.scan else ["--repeat", str(1 + 10_000 // len(queries))]
        command += ["--one-by-one"] if task["single"] else []
        command += ["--kernel", self.kernel] if self.kernel else []
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found = np.load(self.out)
        seconds = json.loads(printed.splitlines()[-1])["seconds"]
        if "k" in task:
            return seconds, found["distances"]
        return seconds, np.diff(found["offsets"])


class Faiss:
    """One of FAISS' binary indexes."""

    def __init__(self, name, index, database, exact, train=False):
        self.name, self.index, self.exact = name, index, exact
        if train:
            index.train(database[:: max(1, len(database) // 200_000)])
        index.add(database)

    def run(self, queries, task, threads):
        faiss.omp_set_num_threads(threads)
        if "radius" in task:
            # Its radius is not included.
            search = lambda some: np.diff(self.index.range_search(some, task["radius"] + 1)[0])
        else:
            search = lambda some: self.index.search(some, task["k"])[0]
        if task["single"]:
            return clocked(lambda: np.concatenate([search(query[None]) for query in queries]))
        return clocked(lambda: search(queries))


class Usearch:
    name = "USearch exact"

    def __init__(self, database):
        self.database = database

    def run(self, queries, task, threads):
        metric = usearch.index.MetricKind.Hamming
        found = lambda: usearch.index.search(
            self.database, queries, task["k"], metric, exact=True, threads=threads
        ).distances
        return clocked(found)


class Numpy:
    name = "numpy"

    def __init__(self, database):
        width = {4: np.uint32}.get(database.shape[1], np.uint64)
        self.words = database.view(width)

    def run(self, queries, task, threads):
        def search():
            nearest = []
            for query in queries.view(self.words.dtype):
                distances = np.bitwise_count(self.words ^ query).sum(axis=1, dtype=np.uint16)
                nearest.append(np.sort(np.partition(distances, task["k"])[: task["k"]]))
            return np.array(nearest)

        return clocked(search)


def ceilings():
    command = ["cargo", "bench", "--bench", "index", "--", "ceilings"]
    text = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE.parent).stdout
    peak, read = re.findall(r"([\d.]+) G words/s", text)[:2]
    text = subprocess.run([*command[:-1], "share"], check=True, capture_output=True, text=True,
                          cwd=HERE.parent).stdout
    shares = [" ".join(line.split()) for line in text.splitlines() if "% of the rate" in line]
    return {"popcount": float(peak), "read": float(read), "shares": shares}


def tasks(quick, bits, count):
    """What is measured: how many queries, and what they ask for."""
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


def measure(contenders, queries, task, rounds):
    """The median time of each contender, and of its ratio to the first of all, in interleaved rounds."""
    times, found = {it.name: [] for it in contenders}, {}
    for _ in range(rounds):
        for it in contenders:
            seconds, result = it.run(queries, task, task["threads"])
            times[it.name].append(seconds)
            found[it.name] = result
    reference = times["FAISS Flat"]
    truth = found["FAISS Flat"]
    rows = {}
    for it in contenders:
        ratio = statistics.median(theirs / ours for theirs, ours in zip(reference, times[it.name]))
        rows[it.name] = {"seconds": statistics.median(times[it.name]), "ratio": ratio}
        result = np.asarray(found[it.name], dtype=np.int64).reshape(np.shape(truth))
        if getattr(it, "exact", True):
            assert (result == truth).all(), f"{it.name} finds something else: {task}"
        else:
            near = np.sort(truth, axis=1)[:, -1:] if truth.ndim > 1 else None
            rows[it.name]["recall"] = (
                float(((result <= near) & (result >= 0)).mean()) if near is not None
                else float(result.sum() / max(1, truth.sum()))
            )
    return rows


def approximate(bits, database):
    """The indexes of FAISS that do not look at everything."""
    yield Faiss("FAISS IVF", ivf(bits), database, exact=False, train=True)
    hnsw = faiss.IndexBinaryHNSW(bits, 16)
    yield Faiss("FAISS HNSW", hnsw, database, exact=False)
    yield Faiss("FAISS MultiHash", faiss.IndexBinaryMultiHash(bits, 4, bits // 4), database, exact=False)


def ivf(bits):
    index = faiss.IndexBinaryIVF(faiss.IndexBinaryFlat(bits), bits, 1024)
    index.own_fields, index.nprobe = False, 8
    index.keep = index.quantizer
    return index


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a million codes of 64 and 128 bits alone")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "results")
    options = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    options.out.mkdir(exist_ok=True, parents=True)
    grid = [("clustered", bits, 1_000_000) for bits in ((64, 128) if options.quick else (32, 64, 128, 256))]
    if not options.quick:
        grid += [("random", bits, 1_000_000) for bits in (32, 64, 128, 256)]
        grid += [("clustered", bits, 2_500_000) for bits in (64, 128)]
        grid += [("clustered", 64, 10_000_000)]
    results = {
        "machine": platform.processor() or platform.machine(),
        "date": time.strftime("%Y-%m-%d"),
        "versions": {"FAISS": faiss.__version__, "USearch": usearch.__version__, "numpy": np.__version__},
        "rounds": options.rounds,
        "ceilings": ceilings(),
        "cells": [],
    }
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            results["machine"] = line.split(":")[1].strip()
    for kind, bits, count in grid:
        database, queries = codes_of(kind, bits, count, 1), codes_of(kind, bits, 300, 2)
        exact = [Hashbrook(database), Hashbrook(database, scan=True),
                 Faiss("FAISS Flat", faiss.IndexBinaryFlat(bits), database, True)]
        avx2 = [Hashbrook(database, kernel="avx2"), Hashbrook(database, scan=True, kernel="avx2")]
        naive = [Usearch(database), Numpy(database)]
        others = []
        if (kind, bits, count) == ("clustered", 64, 1_000_000):
            others = list(approximate(bits, database))
        for task in tasks(options.quick, bits, count):
            if count >= 10_000_000 and (task.get("k") != 10 or task["threads"] == 2):
                continue
            contenders = list(exact)
            if task["threads"] == 1 and not task["single"]:
                contenders += avx2
                if "k" in task and count == 1_000_000 and task["k"] in (10, 100):
                    contenders += naive
            if task["threads"] == 1 and task.get("k") == 10:
                contenders += [it for it in others if "MultiHash" not in it.name]
            if task["threads"] == 1 and "radius" in task:
                contenders += [it for it in others if "MultiHash" in it.name]
            some = queries[: task["queries"]]
            slow = any(it.name == "numpy" for it in contenders)
            rows = measure(contenders, some[:50] if slow and task["k"] > 10 else some, task,
                           3 if slow else options.rounds)
            asked = len(some[:50] if slow and task["k"] > 10 else some)
            for row in rows.values():
                row["codes_per_second"] = count * asked / row["seconds"]
            cell = {"codes": kind, "bits": bits, "count": count, "task": task, "title": title(task), "rows": rows}
            results["cells"].append(cell)
            ours = rows["hashbrook"]
            print(f"{kind} {bits} bits, {count:,} codes, {title(task)}: "
                  f"{ours['codes_per_second'] / 1e9:.2f} G codes/s, {ours['ratio']:.1f} x FAISS Flat", flush=True)
        # After each set of codes, so that a run that is stopped leaves what it has measured.
        (options.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
        report.write(results, options.out)


if __name__ == "__main__":
    main()
