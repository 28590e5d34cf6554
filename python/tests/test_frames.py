"""Frames with columns of vectors, labels and ids."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hashbrook
from hashbrook import Index, Model, Store
from hashbrook._convert import features

X, Y = hashbrook.datasets.digits()
X, Y = X[:300], Y[:300]
IDS = [f"digit {row}" for row in range(300)]

COLUMNS = {"name": IDS, **{f"px{at}": X[:, at] for at in range(64)}, "target": Y}
FRAMES = [
    pd.DataFrame(COLUMNS),
    pd.DataFrame(COLUMNS).convert_dtypes(dtype_backend="pyarrow"),
    pl.DataFrame(COLUMNS),
    pa.table(COLUMNS),
    pa.record_batch(COLUMNS),
]


def without(frame, *names):
    if isinstance(frame, pd.DataFrame):
        return frame.drop(columns=list(names))
    return frame.drop(*names) if isinstance(frame, pl.DataFrame) else frame.drop_columns(list(names))


def learned(*given):
    model = Model("brook", dim=64, bits=16, warmup=100)
    model.learn(*given)
    return model


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__module__)
def test_labels_and_ids_are_columns(frame, tmp_path):
    expected = learned(X, Y)
    model = learned(without(frame, "name"), "target")
    assert model.hash_function() == expected.hash_function()
    assert model.label_names == expected.label_names
    index = Index(model.hash_function())
    index.add("name", frame, "target")
    assert index.labels_of(["digit 7"]) == [[str(Y[7])]]
    found = index.search(without(frame, "name", "target"), 1)
    assert (found.distances == 0).all()
    index.upsert("name", without(frame, "target"))
    index.upsert(IDS, without(frame, "name"), "target")
    with Store.create(tmp_path / "s", dim=64, bits=16, ids="texts") as store:
        store.put("name", frame, "target")
        assert store.get("digit 9").labels == [str(Y[9])]
    other = without(frame, "name")
    model.relabel(other, "target", 9 - Y)
    model.relabel(other, 9 - Y, "target")
    model.unlearn(other, "target")
    assert model.seen == 0


def test_a_column_of_vectors_is_the_vectors():
    columns = {"name": IDS, "vector": list(X), "size": range(300), "target": Y}
    lists = {**columns, "vector": X.tolist()}
    for frame in [pd.DataFrame(columns), pl.DataFrame(lists), pa.table(lists)]:
        assert (features(frame) == X).all()
        assert learned(frame, "target").hash_function() == learned(X, Y).hash_function()


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__module__)
def test_columns_that_are_no_numbers_are_named(frame):
    with pytest.raises(TypeError, match=r"X has columns that are no numbers: name \(.*\); name them as labels"):
        learned(frame, "target")
    with pytest.raises(ValueError, match="X has no column 'kind'; its columns are name, px0, px1, "):
        learned(frame, "kind")


def test_names_need_a_frame():
    with pytest.raises(TypeError, match="or the name of a column if the vectors are a frame, not 'target'"):
        learned(X, "target")
    with pytest.raises(TypeError, match="ids must be a list or an array, not a text"):
        Index(learned(X, Y).hash_function()).add("name", X)
    # Frames of objects that are numbers, and frames without column names, are accepted.
    objects = pd.DataFrame(X, dtype=object)
    assert (features(objects) == X).all() and (features(pd.DataFrame(X)) == X).all()


def test_files_are_read_without_the_column_of_labels(tmp_path):
    csv, parquet = str(tmp_path / "t.csv"), str(tmp_path / "t.parquet")
    FRAMES[0].to_csv(csv)
    FRAMES[0].to_parquet(parquet)
    for file in [csv, parquet]:
        found, labels = hashbrook.datasets.load(file + ":!name", labels=file + ":target")
        assert (found == X).all() and labels.tolist() == [str(label) for label in Y]
        assert (hashbrook.datasets.load(file + ":px0..px63") == X).all()
        with pytest.raises(ValueError, match="columns that are no numbers: name"):
            hashbrook.datasets.load(file, labels=file + ":target")


def test_columns_that_share_a_name_are_all_features():
    frame = pd.DataFrame(np.arange(12.0).reshape(4, 3), columns=["f", "f", "y"])
    model = Model("lsh", dim=2, bits=8)
    model.learn(frame, "y")
    assert model.seen == 4
    with pytest.raises(ValueError, match="X has 2 columns 'f'; expected one"):
        model.learn(frame, "f")


def test_integer_labels_with_gaps_are_the_same_in_frames_and_files(tmp_path):
    frame = pd.DataFrame({"a": X[:4, 20], "b": X[:4, 21], "target": [3, None, 3, 12]})
    assert frame["target"].dtype == np.float64
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert "3.0" in (tmp_path / "t.csv").read_text()
    frame.to_parquet(tmp_path / "t.parquet")
    np.save(tmp_path / "y.npy", frame["target"].to_numpy())
    model = Model("brook", dim=2, bits=2, warmup=100)
    model.learn(frame, "target")
    assert model.label_names == ["3", "12"]
    model.learn(frame.astype({"target": "Int64"}), "target")
    assert model.label_names == ["3", "12"]
    for labels in [f"{tmp_path}/t.csv:target", f"{tmp_path}/t.parquet:target", f"{tmp_path}/y.npy"]:
        _, found = hashbrook.datasets.load(f"{tmp_path}/t.csv:a,b", labels)
        assert [list(map(str, row)) for row in found] == [["3"], [], ["3"], ["12"]], labels
