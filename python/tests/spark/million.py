"""Size of the data of the tests on a cluster, and settings of the model."""

import os

ROWS, DIM, CLASSES = 1_000_000, 128, 20
SETTINGS = {"bits": 64, "seed": 1, "anchors": 100, "warmup": 2000}


def in_order(spark, directory):
    """Reads the files in order of their names. Spark orders files by size, so each is read separately."""
    parts = [spark.read.parquet(f"{directory}/{name}") for name in sorted(os.listdir(directory)) if name.endswith("t")]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.union(part)
    return whole
