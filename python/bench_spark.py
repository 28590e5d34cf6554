"""Compares the throughput of one core with Spark and without Spark, in one run.

    python/test --spark -k nothing                                # makes the environment
    python/.env-spark/bin/maturin develop --release --manifest-path python/Cargo.toml
    python/.env-spark/bin/python python/bench_spark.py [rows] [rounds]

A cluster of one executor with one core encodes vectors of Parquet files and searches codes of such files, and one
process with one thread does the same from the same files. Neither time includes the start: Spark has run a small job of
the same kind before, and its time is that of the stage, from its first task to its last.
"""

import itertools
import os
import statistics
import sys
import tempfile
import time

os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable, RAYON_NUM_THREADS="1")

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import hashbrook.spark as hs
from hashbrook import Index, Model
from hashbrook.spark._columns import Place
from hashbrook.spark._columns import codes as codes_of
from hashbrook.spark._columns import vectors as vectors_of

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
DIM, BITS, QUERIES, K, PARTS = 128, 64, 1000, 10, 8


def session(directory):
    built = SparkSession.builder.master("local-cluster[1,1,1024]")
    for name, value in {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "1",
        "spark.sql.files.maxPartitionBytes": str(1 << 30), "spark.sql.files.openCostInBytes": str(1 << 30),
        "spark.local.dir": f"{directory}/local",
    }.items():
        built = built.config(name, value)
    made = built.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def timed(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def compare(name, unit, amount, on_spark, alone):
    """Measures both calls in turns, and prints the medians as amounts per second."""
    times = [(timed(on_spark), timed(alone)) for _ in range(ROUNDS)]
    spark, one = (amount / statistics.median(side) for side in zip(*times))
    print(f"| {name} | {spark:,.0f} {unit} | {one:,.0f} {unit} | {100 * spark / one:.0f} % |", flush=True)


def main(directory):
    rng = np.random.default_rng(1)
    centers = rng.normal(size=(20, DIM)).astype(np.float32)
    y = rng.integers(0, 20, ROWS)
    X = centers[y] + rng.standard_normal((ROWS, DIM), dtype=np.float32) * np.float32(0.8)
    for kind in ("vectors", "bytes", "codes", "few"):
        os.mkdir(f"{directory}/{kind}")
    models = {"brook, the defaults": Model("brook", dim=DIM, bits=BITS),
              "brook, lift = none": Model("brook", dim=DIM, bits=BITS, lift="none")}
    for model in models.values():
        model.learn(X[:20_000], y[:20_000])
    functions = {name: model.hash_function() for name, model in models.items()}
    encoded = functions["brook, the defaults"].encode(X[: min(ROWS, 1_000_000)])
    for number, rows in enumerate(np.array_split(np.arange(ROWS), PARTS)):
        vectors = pa.ListArray.from_arrays(np.arange(0, len(rows) * DIM + 1, DIM, dtype=np.int32), X[rows].reshape(-1))
        table = pa.table([pa.array(rows), vectors], names=["id", "vector"])
        pq.write_table(table, f"{directory}/vectors/{number}.parquet", compression="none")
        packed = pa.array(list(map(bytes, X[rows])), pa.binary())
        pq.write_table(pa.table([pa.array(rows), packed], names=["id", "vector"]), f"{directory}/bytes/{number}.parquet",
                       compression="none")
        if number == 0:
            pq.write_table(table.slice(0, 1000), f"{directory}/few/0.parquet")
        packed = pa.array(list(map(bytes, encoded[rows[rows < len(encoded)]])), pa.binary())
        pq.write_table(pa.table([pa.array(rows[: len(packed)]), packed], names=["id", "code"]),
                       f"{directory}/codes/{number}.parquet")
    spark = session(directory)
    hs.encode(spark.read.parquet(f"{directory}/few"), functions["brook, the defaults"]).collect()

    print(f"| {ROWS:,} x {DIM}, {BITS} bits, per core | Spark | one machine | of it |\n|---|---|---|---|")
    for (name, function), kind in itertools.product(functions.items(), ("vectors", "bytes")):
        def alone():
            for number in range(PARTS):
                file = pq.ParquetFile(f"{directory}/{kind}/{number}.parquet")
                for batch in file.iter_batches(10_000, columns=["vector"]):
                    function.encode(vectors_of(batch, "vector", DIM, Place(0, 0)))

        encoding = hs.encode(spark.read.parquet(f"{directory}/{kind}"), function)
        kind_name = "lists" if kind == "vectors" else "bytes"
        compare(f"`encode`, {name}, vectors as {kind_name}", "rows/s", ROWS,
                lambda: encoding.selectExpr("bit_xor(xxhash64(code))").collect(), alone)

    queries = encoded[:QUERIES]

    def alone():
        index = Index.of_codes(BITS)
        for number in range(PARTS):
            table = pq.read_table(f"{directory}/codes/{number}.parquet")
            for batch in table.to_batches():
                index.add_codes(batch.column(0), codes_of(batch, "code", BITS, Place(0, 0)))
        index.search_codes(queries, K)

    searching = hs.search(spark.read.parquet(f"{directory}/codes"), queries, K)
    searching.collect()
    compare(f"`search`, top {K} of {QUERIES:,} queries", "distances/s", QUERIES * len(encoded),
            lambda: searching.collect(), alone)
    spark.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        main(directory)
