"""A cluster of two executors in separate processes, data of a million rows, and the results of one machine."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from million import CLASSES, DIM, ROWS, SETTINGS, in_order

# A test runs this file; pytest must not search it for doctests.
collect_ignore = ["stream_job.py"]
if find_spec("pyspark") is None:
    collect_ignore_glob = ["*.py"]


# Jobs are so short that Java's optimizing compilation takes longer than it saves.
os.environ["JAVA_TOOL_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.fixture(scope="module")
def spark(request, tmp_path_factory):
    """Returns a session on a cluster, or on the ``MASTER`` of the module."""
    from pyspark.sql import SparkSession

    master = getattr(request.module, "MASTER", "local-cluster[2,1,1024]")

    directory = tmp_path_factory.mktemp("spark")
    os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable, SPARK_WORKER_DIR=str(directory / "work"))
    built = SparkSession.builder.master(master).appName("hashbrook")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "1g",
        "spark.local.dir": str(directory / "local"),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.shuffle.partitions": "8",
        # Tests kill executors on purpose, so the number of retries is unlimited.
        "spark.deploy.maxExecutorRetries": "-1",
    }.items():
        built = built.config(name, value)
    session = built.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Returns rows as arrays, and in files of different sizes, one of which is empty."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    centers = rng.normal(size=(CLASSES, DIM)).astype(np.float32)
    y = rng.integers(0, CLASSES, ROWS)
    X = centers[y] + rng.standard_normal((ROWS, DIM), dtype=np.float32) * np.float32(0.8)
    names = [f"class {label}" for label in y]
    directory = tmp_path_factory.mktemp("data")
    ends = [0, 300_000, 310_000, 310_000, 700_000, 999_999, ROWS]
    for number, (first, end) in enumerate(zip(ends, ends[1:])):
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(X[first:end].reshape(-1)), DIM)
        columns = [pa.array(np.arange(first, end)), vectors.cast(pa.list_(pa.float32())), pa.array(names[first:end])]
        table = pa.table(columns, names=["id", "vector", "label"])
        pq.write_table(table, directory / f"{number}.parquet", row_group_size=50_000, compression="none")
    return SimpleNamespace(X=X, y=y, labels=names, directory=str(directory))


@pytest.fixture
def df(spark, data):
    """Returns a frame of the files in order, with about one partition for each group of rows."""
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(48 << 20))
    return in_order(spark, data.directory)


@pytest.fixture(scope="session")
def single(data):
    """Returns the model, function, codes and index that one machine makes of the data."""
    from hashbrook import Index, Model

    model = Model("brook", dim=DIM, **SETTINGS)
    model.learn(data.X, data.labels)
    function = model.hash_function()
    codes = function.encode(data.X)
    index = Index.of_codes(64)
    index.add_codes(np.arange(ROWS), codes)
    return SimpleNamespace(model=model, function=function, codes=codes, index=index)


@pytest.fixture
def killing(spark):
    """Returns a context that kills an executor while tasks run, if requested."""

    @contextlib.contextmanager
    def kill_one(kill=True):
        done, killed = threading.Event(), []

        def work():
            tracker = spark.sparkContext.statusTracker()
            while not done.is_set():
                if tracker.getActiveStageIds():
                    time.sleep(random.uniform(0.1, 1.0))
                    pids = executors(spark)
                    if pids and tracker.getActiveStageIds():
                        victim = random.choice(pids)
                        os.kill(victim, signal.SIGKILL)
                        killed.append(victim)
                        return
                time.sleep(0.02)

        thread = threading.Thread(target=work)
        if kill:
            thread.start()
        try:
            yield killed
        finally:
            done.set()
            if kill:
                thread.join()
        assert not kill or killed, "nothing ran for long enough to be killed"

    return kill_one


def executors(spark):
    """Returns the process ids of the executors."""
    found = subprocess.run(["pgrep", "-f", "CoarseGrainedExecutorBackend.*" + spark.sparkContext.applicationId],
                           capture_output=True, text=True).stdout
    return [int(pid) for pid in found.split()]
