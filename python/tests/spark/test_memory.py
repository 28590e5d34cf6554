"""Tasks hold a bounded number of rows."""

import glob
import threading
import time

import numpy as np

import hashbrook.spark as hs


def test_memory_does_not_grow_with_a_partition(spark, data, single):
    """A partition of a million vectors of 128 numbers, half a gigabyte, is encoded, learned from and searched."""
    import pyarrow as pa

    rows, flat = 1_000_000, data.X[:10_000].reshape(-1)

    def make(batches):
        vectors = pa.ListArray.from_arrays(np.arange(0, len(flat) + 1, 128, dtype=np.int32), flat)
        labels = pa.array(np.arange(10_000) % 7)
        for first in range(0, rows, 10_000):
            ids = pa.array(np.arange(first, first + 10_000))
            yield pa.RecordBatch.from_arrays([ids, vectors, labels], ["id", "vector", "label"])

    df = spark.range(1, numPartitions=1).mapInArrow(make, "id long, vector array<float>, label long")
    with Peak() as peak:
        hs.search(hs.encode(df, single.function), data.X[:10], 5, function=single.function).collect()
        hs.learn(df, bits=32, warmup=1000, anchors=20)
    assert 50 < peak.megabytes < 500, peak.megabytes


class Peak:
    """Maximum memory of any Python process of the executors during the context."""

    def __enter__(self):
        self.megabytes, self._done = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self):
        while not self._done.is_set():
            for path in glob.glob("/proc/[0-9]*"):
                try:
                    with open(f"{path}/cmdline", "rb") as said:
                        if b"pyspark.daemon" not in said.read():
                            continue
                    with open(f"{path}/statm") as sizes:
                        self.megabytes = max(self.megabytes, int(sizes.read().split()[1]) * 4096 >> 20)
                except OSError:
                    continue
            time.sleep(0.05)

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()
