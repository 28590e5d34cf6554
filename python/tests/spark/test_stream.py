"""A stream that is killed at random moments ends as one that is not."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import hashbrook.spark as hs
from hashbrook import Model, datasets

X, y = datasets.digits()
FILES, KILLS = 18, 10
MASTER = "local[2]"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("files")
    for number, rows in enumerate(np.array_split(np.arange(len(X)), FILES)):
        vectors = pa.array([row.tolist() for row in X[rows]], pa.list_(pa.float32()))
        labels = pa.array([f"class {label}" for label in y[rows]])
        path = folder / f"{number:03}.parquet"
        pq.write_table(pa.table([pa.array(rows), vectors, labels], names=["id", "vector", "label"]), path)
        # The stream takes files in the order of their times.
        os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))
    return folder


def start(folder, files):
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "stream_job.py"), str(folder), str(files)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True, env=environment,
    )


def outcome(spark, folder):
    model = hs.load_model(spark, f"{folder}/model")
    rows = hs.read_codes(spark, f"{folder}/codes").collect()
    return model, sorted((row["id"], bytes(row["code"]), row["function"]) for row in rows)


def test_killed_ten_times(spark, files, tmp_path):
    whole = start(tmp_path / "whole", files)
    assert whole.communicate(timeout=300)[0].split() == ["started", "ended"]
    for _ in range(KILLS):
        job = start(tmp_path / "killed", files)
        assert job.stdout.readline().strip() == "started"
        time.sleep(random.uniform(0.1, 2.5))
        assert job.poll() is None, "it ended before it could be killed: there should be more files"
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
        job.stdout.close()
    last = start(tmp_path / "killed", files)
    assert last.communicate(timeout=300)[0].split() == ["started", "ended"]

    (model, codes), (expected, all_codes) = outcome(spark, tmp_path / "killed"), outcome(spark, tmp_path / "whole")
    assert model.to_bytes() == expected.to_bytes()
    assert codes == all_codes and [row[0] for row in codes] == list(range(len(X)))
    here = Model("brook", dim=64, bits=32, warmup=250, anchors=40)
    for rows in np.array_split(np.arange(len(X)), FILES):
        here.learn(X[rows], [f"class {label}" for label in y[rows]])
    assert here.to_bytes() == model.to_bytes()
