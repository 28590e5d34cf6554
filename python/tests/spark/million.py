"""How large the data of the tests on a cluster is, and what is learned from it."""

import os

ROWS, DIM, CLASSES = 1_000_000, 128, 20
SETTINGS = {"bits": 64, "seed": 1, "anchors": 100, "warmup": 2000}


def in_order(spark, folder):
    """Files are read in the order of their sizes, so each is read by itself, and they are put together."""
    parts = [spark.read.parquet(f"{folder}/{name}") for name in sorted(os.listdir(folder)) if name.endswith("t")]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.union(part)
    return whole
