"""A million rows on two executors: results equal those of one machine, also if an executor is killed."""

import os
import threading
import time

import numpy as np
import pytest

import hashbrook.spark as hs
from million import CLASSES, DIM, ROWS, SETTINGS, in_order

pytestmark = pytest.mark.parametrize("kill", [False, True], ids=["whole", "one killed"])


@pytest.fixture(scope="module")
def codes_path(spark, data, single, tmp_path_factory):
    """Returns the path of the codes that the searches read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    directory = tmp_path_factory.mktemp("codes")
    ends = [0, 500_000, 500_001, 800_000, ROWS]
    for number, (first, end) in enumerate(zip(ends, ends[1:])):
        packed = pa.array(list(map(bytes, single.codes[first:end])), pa.binary())
        columns = [pa.array(np.arange(first, end)), packed, pa.array(data.y[first:end])]
        pq.write_table(pa.table(columns, names=["id", "code", "y"]),
                       directory / f"{number}.parquet", row_group_size=50_000)
    return str(directory)


@pytest.fixture
def codes_df(spark, codes_path):
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(2 << 20))
    return spark.read.parquet(codes_path)


def test_learn(df, single, killing, kill):
    with killing(kill):
        model = hs.learn(df, **SETTINGS)
    # The file of a model includes the solution for its function. The other model has computed its function, too.
    assert model.hash_function() == single.function
    assert model.to_bytes() == single.model.to_bytes()


def test_encode(df, single, killing, kill, tmp_path):
    with killing(kill):
        hs.encode(df, single.function).write.parquet(str(tmp_path / "codes"))
    check_codes(tmp_path / "codes", single)


def check_codes(directory, single):
    import pyarrow.parquet as pq

    table = pq.read_table(directory)
    ids = table["id"].to_numpy()
    packed = np.frombuffer(b"".join(table["code"].to_pylist()), dtype=np.uint8).reshape(-1, 8)
    order = np.argsort(ids)
    assert np.array_equal(ids[order], np.arange(ROWS)) and np.array_equal(packed[order], single.codes)
    assert set(table["label"].to_pylist()) == set(single.model.label_names)


def test_search(codes_df, data, single, killing, kill):
    with killing(kill):
        found = hs.search(codes_df, data.X[:1000], 10, function=single.function).orderBy("query", "rank").collect()
    expected = single.index.search_codes(single.codes[:1000], 10)
    assert np.array_equal(np.array([row["id"] for row in found]).reshape(1000, 10), expected.ids)
    assert np.array_equal(np.array([row["distance"] for row in found]).reshape(1000, 10), expected.distances)


def test_within(codes_df, data, single, killing, kill):
    with killing(kill):
        found = hs.within(codes_df, single.codes[:10], 3).orderBy("query", "distance", "id").collect()
    expected = single.index.within_codes(single.codes[:10], 3)
    assert [row["id"] for row in found] == expected.ids.tolist()
    assert [row["distance"] for row in found] == expected.distances.tolist()
    assert [row["query"] for row in found] == np.repeat(np.arange(10), np.diff(expected.offsets)).tolist()


def test_dedup(codes_df, single, killing, kill):
    with killing(kill):
        found = hs.dedup(codes_df, 1).collect()
    groups = {}
    for row in found:
        groups.setdefault(row["group"], []).append(row["id"])
    expected = single.index.duplicates(1)
    assert sorted(map(sorted, groups.values())) == sorted(map(sorted, expected))
    assert all(group == min(ids) for group, ids in groups.items())


def test_evaluate(spark, codes_path, data, single, killing, kill):
    """The rows are in order, because the order ranks items at equal distance."""
    from hashbrook import evaluate

    y = spark.createDataFrame([(label, f"class {label}") for label in range(CLASSES)], "y long, label string")
    labelled = in_order(spark, codes_path).join(y.hint("broadcast"), "y")
    with killing(kill):
        found = hs.evaluate(labelled, data.X[:200], data.labels[:200], function=single.function)
    assert found == evaluate(64, single.codes[:200], data.labels[:200], single.codes, data.labels)


def test_renew_while_others_read(spark, df, single, killing, kill, tmp_path):
    """A reader sees exactly one complete version at any time."""
    from hashbrook import Model
    from hashbrook.interchange import function_id

    path = str(tmp_path / "table")
    before = Model("brook", dim=DIM, bits=64).hash_function()
    hs.renew(df, before, path)
    seen, done = set(), threading.Event()

    def read():
        while not done.is_set():
            counted = hs.read_codes(spark, path).groupBy("function").count().collect()
            assert [row["count"] for row in counted] == [ROWS], counted
            seen.add(counted[0]["function"])
            time.sleep(0.2)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with killing(kill):
            hs.renew(df, single.function, path)
        time.sleep(0.5)
    finally:
        done.set()
        reader.join()
    assert seen <= {function_id(before), function_id(single.function)} and function_id(before) in seen
    now = hs.versions(spark, path)
    assert [entry["function"] for entry in now] == [function_id(before), function_id(single.function)]
    check_codes(tmp_path / "table" / "data" / sorted(os.listdir(tmp_path / "table" / "data"))[-1], single)
    assert hs.vacuum(spark, path, keep=0) == 1 and len(os.listdir(tmp_path / "table" / "data")) == 1
