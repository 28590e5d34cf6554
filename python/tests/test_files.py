"""The library's readers read files, with all formats enabled."""

import numpy as np
import pytest

import hashbrook
from hashbrook.datasets import load


def test_arrays(digits, tmp_path):
    X, y = digits
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "both.npz", x=X, y=y)
    assert (load(tmp_path / "x.npy") == X).all()
    again, labels = load([f"{tmp_path}/both.npz:x"] * 2, labels=[f"{tmp_path}/both.npz:y"] * 2)
    assert (again == np.tile(X, (2, 1))).all() and again.dtype == np.float32
    assert (labels == np.tile(y, 2).astype(str)).all()


def test_tables(digits, tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    X, y = digits
    rows = pa.FixedSizeListArray.from_arrays(pa.array(X.reshape(-1)), 64)
    table = pa.table({"x": rows, "y": pa.array(y)})
    parquet.write_table(table, tmp_path / "d.parquet")
    feather.write_feather(table, str(tmp_path / "d.arrow"))
    for name in ("d.parquet", "d.arrow"):
        found, labels = load(f"{tmp_path}/{name}:x", labels=f"{tmp_path}/{name}:y")
        assert (found == X).all() and (labels == y.astype(str)).all(), name


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.npy")
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY nothing")
    with pytest.raises(hashbrook.FormatError):
        load(tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", np.zeros((3, 2)))
    np.save(tmp_path / "y.npy", np.zeros(2, dtype=int))
    with pytest.raises(ValueError, match="3"):
        load(tmp_path / "x.npy", labels=tmp_path / "y.npy")
