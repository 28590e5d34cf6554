"""The libraries that are compared: hashbrook as a program, and FAISS, USearch and numpy in this process."""

import json
import pathlib
import statistics
import subprocess
import time

import faiss
import numpy as np
import usearch.index

from measuring import by_distance, clocked

HERE = pathlib.Path(__file__).parent
WORK = HERE / "work"
PROGRAM = HERE.parent / "target/release/hashbrook"


def build_index(codes, index, *options):
    """Writes an index file with `index build`, and returns the duration of the command in seconds."""
    command = [PROGRAM, "index", "build", "--codes", codes, "--out", index, "--force", *options]
    seconds, _ = clocked(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))
    return seconds


def what(task):
    return ["-k", str(task["k"])] if "k" in task else ["--radius", str(task["radius"])]


class Hashbrook:
    """The program, on an index file.

    With `fresh`, each measurement starts a new process, which searches once. Each round makes three such measurements and uses
    their median. Otherwise one process searches many times (`--repeat`) and reports the median."""

    exact = True

    def __init__(self, index, name="hashbrook", fresh=False, options=()):
        self.name, self.index, self.fresh, self.options = name, index, fresh, list(options)
        self.queries, self.out = WORK / "asked.npy", WORK / "found.npz"

    def once(self, task, repeat):
        command = [PROGRAM, "search", "--index", self.index, "--codes", self.queries, *what(task), *self.options]
        command += ["--json", "--out", self.out, "--threads", str(task["threads"]), "--repeat", str(repeat)]
        command += ["--one-by-one"] if task["single"] else []
        wall, done = clocked(lambda: subprocess.run(command, check=True, capture_output=True, text=True))
        return wall, json.loads(done.stdout.splitlines()[-1])["seconds"]

    def run(self, queries, task):
        np.save(self.queries, queries)
        if self.fresh:
            runs = [self.once(task, 1) for _ in range(3)]
            self.wall = statistics.median(wall for wall, _ in runs)
            seconds = statistics.median(seconds for _, seconds in runs)
        else:
            # Ten thousand queries or some seconds, so that work that an index does once for later queries is done.
            _, first = self.once(task, 1)
            enough = 1 + 10_000 // len(queries)
            _, seconds = self.once(task, min(enough, max(5, int(2 / first))))
        with np.load(self.out) as found:
            if "k" in task:
                return seconds, found["distances"]
            of = np.repeat(np.arange(len(queries)), np.diff(found["offsets"]).astype(np.int64))
            return seconds, by_distance(len(queries), task["radius"], of, found["distances"], found["ids"])


class Faiss:
    """A binary index of FAISS. Built on all cores, and searched with the task's number of threads."""

    def __init__(self, name, index, database, exact=False, train=0, limit=None):
        self.name, self.index, self.exact, self.limit = name, index, exact, limit
        faiss.omp_set_num_threads(2)
        start = time.perf_counter()
        if train:
            index.train(database[:: max(1, len(database) // train)])
        index.add(database)
        self.build_seconds = time.perf_counter() - start

    def run(self, queries, task):
        faiss.omp_set_num_threads(task["threads"])
        parts = [query[None] for query in queries] if task["single"] else [queries]
        if "k" in task:
            seconds, found = clocked(lambda: [self.index.search(part, task["k"])[0] for part in parts])
            return seconds, np.concatenate(found)
        # FAISS excludes hits at exactly the radius.
        seconds, found = clocked(lambda: [self.index.range_search(part, task["radius"] + 1) for part in parts])
        of = np.repeat(np.arange(len(queries)), np.concatenate([np.diff(part[0]) for part in found]).astype(np.int64))
        distances, ids = (np.concatenate([part[at] for part in found]) for at in (1, 2))
        return seconds, by_distance(len(queries), task["radius"], of, distances, ids)


def flat(bits, database):
    return Faiss("FAISS IndexBinaryFlat", faiss.IndexBinaryFlat(bits), database, exact=True)


def flat_counting(bits, database):
    """FAISS IndexBinaryFlat, which selects the nearest codes by counting instead of with a heap."""
    index = faiss.IndexBinaryFlat(bits)
    index.use_heap = False
    return Faiss("FAISS IndexBinaryFlat, counting", index, database, exact=True)


def ivf(bits, database, lists=1024, train=200_000):
    index = faiss.IndexBinaryIVF(faiss.IndexBinaryFlat(bits), bits, lists)
    index.own_fields, index.nprobe = False, 8
    # The index holds no reference to its quantizer, which Python would free.
    index.keep = index.quantizer
    return Faiss("FAISS IVF", index, database, train=train)


def hnsw(bits, database):
    return Faiss("FAISS HNSW", faiss.IndexBinaryHNSW(bits, 16), database)


def multi_hash(bits, database, limit=None):
    index = faiss.IndexBinaryMultiHash(bits, 4, bits // 4)
    return Faiss("FAISS MultiHash", index, database, limit=limit)


class Usearch:
    name = "USearch exact"

    def __init__(self, database, limit=50):
        self.database, self.limit = database, limit

    def run(self, queries, task):
        metric = usearch.index.MetricKind.Hamming
        return clocked(lambda: usearch.index.search(
            self.database, queries, task["k"], metric, exact=True, threads=task["threads"]
        ).distances)


class Numpy:
    name, limit = "numpy", 50

    def __init__(self, database):
        self.words = database.view({4: np.uint32}.get(database.shape[1], np.uint64))

    def run(self, queries, task):
        def search():
            nearest = []
            for query in queries.view(self.words.dtype):
                distances = np.bitwise_count(self.words ^ query).sum(axis=1, dtype=np.uint16)
                nearest.append(np.sort(np.partition(distances, task["k"])[: task["k"]]))
            return np.array(nearest)

        return clocked(search)
