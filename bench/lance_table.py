"""LanceDB's search by Hamming distance: exact, and with its IVF index of binary vectors.

    python lance_table.py CODES.npy DIRECTORY [index]    # writes the table, and its index if requested, on all cores
"""

import os
import shutil
import subprocess
import sys
import time

ONE_THREAD = {"LANCE_CPU_THREADS": "1", "LANCE_IO_THREADS": "1", "TOKIO_WORKER_THREADS": "1", "RAYON_NUM_THREADS": "1"}
if __name__ != "__main__":
    # LanceDB reads these variables only once, at its first use.
    os.environ.update(ONE_THREAD)

import lancedb
import numpy as np
import pyarrow as pa

from measuring import by_distance, clocked

PARTITIONS = 128


def write(codes, directory, index):
    shutil.rmtree(directory, ignore_errors=True)
    codes = np.load(codes)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(codes.reshape(-1)), codes.shape[1])
    columns = {"id": pa.array(np.arange(len(codes), dtype=np.int64)), "vector": vectors}
    table = lancedb.connect(directory).create_table("codes", pa.table(columns))
    if index:
        from lancedb.index import IvfFlat

        table.create_index("vector", config=IvfFlat(distance_type="hamming", num_partitions=PARTITIONS))


class Lance:
    """LanceDB, on a table of codes in a directory. With an index, it searches its default number of partitions."""

    def __init__(self, codes, directory, index=False):
        self.name = "LanceDB IVF" if index else "LanceDB exact"
        self.exact, self.limit = not index, 500 if index else 20
        start = time.perf_counter()
        # In a separate process with the default number of threads: with one thread, the index build never ends.
        environment = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}
        subprocess.run([sys.executable, __file__, codes, directory, *(["index"] if index else [])], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, timeout=600)
        self.build_seconds = time.perf_counter() - start
        self.table = lancedb.connect(directory).open_table("codes")

    def ask(self, queries, task):
        asked = self.table.search(queries, vector_column_name="vector").distance_type("hamming")
        asked = asked.select(["id", "_distance"])
        if "k" in task:
            return asked.limit(task["k"]).to_arrow()
        # LanceDB excludes the upper end of the range, and returns only ten hits without a limit.
        return asked.distance_range(0, task["radius"] + 1).limit(self.table.count_rows()).to_arrow()

    def run(self, queries, task):
        if task["single"]:
            seconds, found = clocked(lambda: [self.ask(query, task) for query in queries])
        elif "k" in task:
            seconds, found = clocked(lambda: [self.ask(list(queries), task)])
        else:
            # In a batch of queries, LanceDB returns only the nearest hits, so radius searches run one by one.
            seconds, found = clocked(lambda: [self.ask(query, task) for query in queries])
        distances = [np.asarray(part["_distance"]) for part in found]
        if "k" in task and not task["single"]:
            # LanceDB returns the results of a batch in any order of the queries.
            order = np.lexsort((distances[0], np.asarray(found[0]["query_index"])))
            return seconds, distances[0][order].reshape(len(queries), task["k"])
        if "k" in task:
            return seconds, np.stack(distances)
        of = np.repeat(np.arange(len(queries)), [len(part) for part in found])
        ids = np.concatenate([np.asarray(part["id"]) for part in found])
        return seconds, by_distance(len(queries), task["radius"], of, np.concatenate(distances), ids)


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], "index" in sys.argv[3:])
