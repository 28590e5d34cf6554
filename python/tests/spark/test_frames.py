"""Frames of every kind: their contents, their partitions, and the errors for invalid rows."""

import numpy as np
import pytest

import hashbrook.spark as hs
from hashbrook import Index, Model, datasets
from hashbrook.interchange import function_id

# A local master does not retry failed tasks, so errors are reported at once.
MASTER = "local[2]"
X, y = datasets.digits()
IDS = [f"digit-{row:04}" for row in range(len(X))]


@pytest.fixture(scope="module")
def model():
    model = Model("brook", dim=64, bits=32, warmup=300, anchors=50)
    model.learn(X, y)
    return model


@pytest.fixture(scope="module")
def function(model):
    return model.copy().hash_function()


def cut(spark, *ends, labels=y, kind="array<float>", label="int"):
    """Returns the digits in partitions that end at the given rows; two equal ends make an empty partition."""
    parts = []
    for first, end in zip((0, *ends), (*ends, len(X))):
        rows = [(IDS[row], row, X[row].tolist(), _plain(labels[row]), "kept") for row in range(first, end)]
        schema = f"name string, id long, vector {kind}, label {label}, other string"
        parts.append(spark.createDataFrame(rows, schema).coalesce(1))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.union(part)
    return whole


def _plain(label):
    return label.item() if hasattr(label, "item") else label


@pytest.mark.parametrize("ends", [(), (1796,), (0, 0, 5, 5, 400), tuple(range(0, 1797, 100))],
                         ids=["one", "a last row", "empty ones", "many"])
def test_learn_however_it_is_cut(spark, model, ends):
    learned = hs.learn(cut(spark, *ends), bits=32, warmup=300, anchors=50)
    assert learned.to_bytes() == model.to_bytes()


def test_learn_on(spark, model):
    """A trained model learns on; the given model does not change."""
    more = model.copy()
    more.learn(X, y)
    before = model.to_bytes()
    assert hs.learn(cut(spark, 900), model=model).to_bytes() == more.to_bytes()
    assert model.to_bytes() == before
    few = Model("brook", dim=64, bits=32, warmup=300, anchors=50)
    few.learn(X[:100], y[:100])
    after = few.copy()
    after.learn(X, y)
    assert hs.learn(cut(spark, 700), model=few).to_bytes() == after.to_bytes()


def test_learn_of_fewer_rows_than_the_warm_up(spark):
    held = Model("brook", dim=64, bits=32, warmup=5000)
    held.learn(X, y)
    assert not held.is_warm
    assert hs.learn(cut(spark, 900), bits=32, warmup=5000).to_bytes() == held.to_bytes()


@pytest.mark.parametrize("labels, label", [
    ([f"class {label}" for label in y], "string"),
    ([[int(label), int(label) + 10] for label in y], "array<int>"),
    ([[] if label == 3 else [f"c{label}"] for label in y], "array<string>"),
    ([None if label == 3 else int(label) for label in y], "long"),
    ([None if row % 7 == 0 else [int(label)] for row, label in enumerate(y)], "array<int>"),
], ids=["texts", "several", "some have none", "nulls", "null lists"])
def test_labels_of_every_kind(spark, labels, label):
    here = Model("brook", dim=64, bits=32, warmup=300, anchors=50)
    here.learn(X, labels)
    df = cut(spark, 500, 1000, labels=labels, label=label)
    assert hs.learn(df, bits=32, warmup=300, anchors=50).to_bytes() == here.to_bytes()


@pytest.mark.parametrize("kind", ["array<double>", "array<float>"])
def test_encode_keeps_what_else_there_is(spark, function, kind):
    rows = hs.encode(cut(spark, 5, 5, 1000, kind=kind), function).collect()
    assert rows[0].asDict().keys() == {"name", "id", "label", "other", "code", "function"}
    assert [row["id"] for row in rows] == list(range(len(X))) and {row["other"] for row in rows} == {"kept"}
    assert b"".join(row["code"] for row in rows) == function.encode(X).tobytes()
    assert {row["function"] for row in rows} == {function_id(function)}


def test_vectors_may_be_bytes(spark, function, model):
    rows = [(row, X[row].tobytes(), int(y[row])) for row in range(len(X))]
    df = spark.createDataFrame(rows, "id long, vector binary, label int").coalesce(1)
    assert b"".join(row["code"] for row in hs.encode(df, function).collect()) == function.encode(X).tobytes()
    assert hs.learn(df, bits=32, warmup=300, anchors=50).to_bytes() == model.to_bytes()
    short = df.selectExpr("id", "case when id = 7 then substr(vector, 1, 250) else vector end as vector")
    fails(lambda: hs.encode(short, function).collect(), "row 7 of partition 0: 'vector' has 250 bytes",
          "a vector of 64 numbers has 256")


@pytest.mark.parametrize("id_column", ["id", "name"])
def test_searches_by_any_ids(spark, function, id_column):
    """Ids are numbers or strings, with several chunks, several partitions and ties."""
    index = Index(function)
    index.add(IDS if id_column == "name" else range(len(X)), X)
    codes = hs.encode(cut(spark, 5, 5, 1000), function).repartition(3)
    found = hs.search(codes, X[:20], 60, function=function, id_column=id_column).orderBy("query", "rank").collect()
    expected = index.search(X[:20], 60)
    assert [row["id"] for row in found] == expected.ids.reshape(-1).tolist()
    assert [row["distance"] for row in found] == expected.distances.reshape(-1).tolist()
    near = hs.within(codes, X[:20], 3, function=function, id_column=id_column)
    near = near.orderBy("query", "distance", "id").collect()
    assert [row["id"] for row in near] == index.within(X[:20], 3).ids.tolist()
    groups = {}
    for row in hs.dedup(codes, 2, id_column=id_column).collect():
        groups.setdefault(row["group"], []).append(row["id"])
    assert sorted(sorted(group) for group in groups.values()) == sorted(index.duplicates(2))
    exact = {}
    for row in hs.dedup(codes, 0, id_column=id_column).collect():
        exact.setdefault(row["group"], []).append(row["id"])
    assert sorted(sorted(group) for group in exact.values()) == sorted(index.duplicates(0))


def test_ids_below_zero_are_in_order(spark, function):
    packed = function.encode(X[:1]).tobytes()
    codes = spark.createDataFrame([(id, packed) for id in (5, -3, 0, -(2**63), 2**63 - 1)], "id long, code binary")
    found = hs.search(codes, X[:1], 4, function=function).orderBy("rank").collect()
    assert [row["id"] for row in found] == [-(2**63), -3, 0, 5]


def test_queries_may_be_a_frame(spark, function):
    df = cut(spark, 900)
    codes = hs.encode(df, function)
    by_array = hs.search(codes, X[:30], 3, function=function).orderBy("query", "rank").collect()
    some = df.where("id < 30")
    for queries in (some, hs.encode(some, function)):
        by_frame = hs.search(codes, queries, 3, function=function).orderBy("query", "rank").collect()
        assert [tuple(row) for row in by_frame] == [tuple(row) for row in by_array]
    named = hs.search(codes.drop("id").withColumnRenamed("name", "id"),
                      df.where("id < 5").drop("id").withColumnRenamed("name", "id"), 1, function=function)
    assert sorted(row["query"] for row in named.collect()) == IDS[:5]
    assert len(hs.search(codes, X[:3], 5000, function=function).collect()) == 3 * len(X)


def fails(call, *texts):
    with pytest.raises(Exception) as told:
        call()
    for text in texts:
        assert text in str(told.value), str(told.value)[-1500:]


def test_what_is_wrong_is_told_by_its_row(spark, function):
    rows = [(row, X[row].tolist(), int(y[row])) for row in range(400)]

    def encoded(row, vector):
        changed = rows[:row] + [(row, vector, 0)] + rows[row + 1 :]
        df = spark.createDataFrame(changed, "id long, vector array<float>, label int").coalesce(1)
        return lambda: hs.encode(df, function).collect(), lambda: hs.learn(df, bits=16, warmup=10, anchors=5)

    for vector, told in [
        (None, "row 37 of partition 0: 'vector' is null"),
        ([1.0] * 63, "row 37 of partition 0: 'vector' has 63 numbers, and 64 are expected"),
        ([1.0] * 9 + [None] + [1.0] * 54, "row 37 of partition 0: number 9 of 'vector' is null"),
        ([1.0] * 9 + [float("nan")] + [1.0] * 54, "row 37 of partition 0: number 9 of 'vector' is nan"),
    ]:
        for call in encoded(37, vector):
            fails(call, told)
    df = spark.createDataFrame(rows, "id long, vector array<float>, label int")
    fails(lambda: hs.encode(df, function, "vec"), "there is no column 'vec'; there are 'id', 'vector', 'label'")
    fails(lambda: hs.encode(df, function, "label").collect(), "'label' must be an array of numbers, not int32")
    fails(lambda: hs.learn(df, "bsodh"), "brook is learned", "'bsodh'")
    fails(lambda: hs.learn(df, half_life=100), "half_life")
    fails(lambda: hs.learn(df.where("id < 0")), "no rows")
    codes = hs.encode(df, function)
    fails(lambda: hs.search(codes, X[:2], 3), "need the function")
    fails(lambda: hs.search(codes, X[:2], 0, function=function), "k must be 1 or more")
    fails(lambda: hs.search(codes, np.zeros((1, 7), np.uint8), 3, function=function), "32 bits have 4 bytes")
    fails(lambda: hs.search(df, X[:2], 3, function=function), "no column 'code'")
    twice = codes.union(codes).coalesce(1)
    fails(lambda: hs.search(twice, X[:2], 3, function=function).collect(), "is there more than once")
    nothing = codes.selectExpr("cast(null as long) as id", "code").coalesce(1)
    fails(lambda: hs.search(nothing, X[:2], 3, function=function).collect(), "row 0 of partition 0: 'id' is null")


def test_codes_of_two_functions_are_not_searched(spark, function):
    df = cut(spark, 900)
    other = Model("brook", dim=64, bits=32, seed=2).hash_function()
    mixed = hs.encode(df, function).union(hs.encode(df.where("id = 0"), other))
    fails(lambda: hs.search(mixed, X[:2], 3, function=function).collect(), "renew makes codes of one function")


def test_tables(spark, function, tmp_path):
    df, path = cut(spark, 900), str(tmp_path / "table")
    fails(lambda: hs.read_codes(spark, path), "there are no codes in")
    first = hs.renew(df.where("id < 10"), function, path)
    second = hs.renew(df, function, path)
    assert first < second and hs.read_codes(spark, path).count() == len(X)
    assert hs.read_codes(spark, path, first).count() == 10
    # A failed call leaves the table unchanged.
    broken = df.selectExpr("id", "case when id = 1000 then null else vector end as vector")
    fails(lambda: hs.renew(broken, function, path), "is null")
    assert hs.read_codes(spark, path).count() == len(X) and len(hs.versions(spark, path)) == 2
    assert hs.vacuum(spark, path, keep=0) == 1
    assert hs.read_codes(spark, path).count() == len(X) and len(hs.versions(spark, path)) == 1
