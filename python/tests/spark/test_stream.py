"""A stream that is killed at random times ends with the same result as an undisturbed stream."""

import json
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
from hashbrook.interchange import function_id
from hashbrook.spark._table import Table

X, y = datasets.digits()
FILES, KILLS, WARMUP = 18, 10, 350
#: Rows of each file. Spark reads the files of one batch by size, the largest first. The files of the warm-up, in which
#: the order of rows matters, are therefore the largest.
PARTS = np.split(np.arange(len(X)), np.cumsum([140, 120, 110] + [95] * (FILES - 4)))
MASTER = "local[2]"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    import pyarrow as pa
    import pyarrow.parquet as pq

    directory = tmp_path_factory.mktemp("files")
    sizes = []
    for number, rows in enumerate(PARTS):
        vectors = pa.array([row.tolist() for row in X[rows]], pa.list_(pa.float32()))
        labels = pa.array([f"class {label}" for label in y[rows]])
        path = directory / f"{number:03}.parquet"
        pq.write_table(pa.table([pa.array(rows), vectors, labels], names=["id", "vector", "label"]), path)
        # The stream reads files in order of their modification times.
        os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))
        sizes.append(path.stat().st_size)
    assert len(sizes) == FILES and sizes[:3] == sorted(sizes, reverse=True)[:3]
    return directory


def start(directory, files):
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "stream_job.py"), str(directory), str(files), str(WARMUP)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True, env=environment,
    )


def list_one_more(checkpoint, files):
    """Changes a checkpoint, if possible, as if Spark was killed between listing a file and starting its batch.

    Spark then adds the next file to the same batch. Random kills seldom meet this short interval.
    """
    listed, begun = (
        max((int(path.name.partition(".")[0]) for path in (checkpoint / part).glob("[0-9]*")), default=-1)
        for part in ("sources/0", "offsets")
    )
    number = listed + 1
    # Every tenth list also contains the lists before it, and is not changed.
    if listed != begun or listed < 0 or number % 10 == 9 or number > FILES - 2:
        return False
    path = files / f"{number:03}.parquet"
    entry = {"path": path.as_uri(), "timestamp": int(path.stat().st_mtime * 1000), "batchId": number}
    (checkpoint / "sources/0" / str(number)).write_text(f"v1\n{json.dumps(entry)}")
    return True


def outcome(spark, directory):
    """Returns the model, and for every processed batch its rows, their codes, and the id of the function."""
    table = Table(spark, f"{directory}/codes")
    batches = []
    for entry in table.log():
        rows = sorted(spark.read.parquet(table.files.at(entry["data"])).collect(), key=lambda row: row["id"])
        assert {row["function"] for row in rows} == {entry["function"]}
        batches.append(([row["id"] for row in rows], [bytes(row["code"]) for row in rows], entry["function"]))
    return hs.load_model(spark, f"{directory}/model"), batches


def expect_as_if_learned_here(model, batches):
    """Checks that every row occurs once, and that model and codes equal those of one process.

    The process learns the same batches.
    """
    assert [row for rows, *_ in batches for row in rows] == list(range(len(X)))
    here = Model("brook", dim=64, bits=32, warmup=WARMUP, anchors=40)
    for rows, codes, function in batches:
        here.learn(X[rows], [f"class {label}" for label in y[rows]])
        # The function is computed by a copy, because a model stores a computed function in its bytes.
        current = Model.from_bytes(here.to_bytes()).hash_function()
        assert function == function_id(current)
        assert codes == [bytes(code) for code in current.encode(X[rows])]
    assert here.to_bytes() == model.to_bytes()


def test_killed_ten_times(spark, files, tmp_path):
    whole = start(tmp_path / "whole", files)
    assert whole.communicate(timeout=300)[0].split() == ["started", "ended"]
    joined = False
    for _ in range(KILLS):
        job = start(tmp_path / "killed", files)
        assert job.stdout.readline().strip() == "started"
        time.sleep(random.uniform(0.1, 2.5))
        assert job.poll() is None, "it ended before it could be killed: there should be more files"
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
        job.stdout.close()
        joined = joined or list_one_more(tmp_path / "killed/checkpoint", files)
    last = start(tmp_path / "killed", files)
    assert last.communicate(timeout=300)[0].split() == ["started", "ended"]

    (expected, one_by_one), (model, batches) = outcome(spark, tmp_path / "whole"), outcome(spark, tmp_path / "killed")
    assert len(one_by_one) == FILES
    expect_as_if_learned_here(expected, one_by_one)
    # The batches were split differently, but the function is the same.
    assert joined and len(batches) < FILES
    expect_as_if_learned_here(model, batches)
    assert function_id(model.hash_function()) == function_id(expected.hash_function())
