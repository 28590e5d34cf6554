import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hashbrook import Index, Model
from hashbrook._convert import features, ids
from hashbrook._labels import labels, names

ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def test_contiguous_float32_is_not_copied():
    X = np.ones((5, 3), dtype=np.float32)
    assert features(X) is X
    assert np.shares_memory(features(X[1:]), X)
    read_only = X.copy()
    read_only.flags.writeable = False
    assert features(read_only) is read_only
    assert not np.shares_memory(features(X.T), X)


@pytest.mark.parametrize(
    "given",
    [
        ROWS,
        np.array(ROWS),
        np.asfortranarray(np.array(ROWS, dtype=np.float32)),
        np.array(ROWS, dtype=np.uint8),
        np.array(ROWS, dtype=">f4"),
        np.array(ROWS, dtype=object),
        pd.DataFrame(ROWS),
        pd.Series([row for row in ROWS]),
        pd.Series([np.array(row) for row in ROWS]),
        pl.DataFrame(ROWS, orient="row"),
        pl.Series([row for row in ROWS]),
        pl.Series([row for row in ROWS], dtype=pl.Array(pl.Float32, 3)),
        pl.Series([row for row in ROWS], dtype=pl.Array(pl.Float32, 3)).to_arrow(),
        pa.array(ROWS),
        pa.chunked_array([pa.array(ROWS[:1]), pa.array(ROWS[1:])]),
        pa.FixedSizeListArray.from_arrays(pa.array(np.ravel(ROWS)), 3),
        pa.table({"a": [1, 4], "b": [2, 5], "c": [3.0, 6.0]}),
        pa.record_batch({"a": [1, 4], "b": [2, 5], "c": [3.0, 6.0]}),
        [np.array(row) for row in ROWS],
    ],
)
def test_vectors_of_every_kind(given):
    array = features(given)
    assert array.dtype == np.float32 and array.flags.c_contiguous and type(array) is np.ndarray
    assert array.tolist() == ROWS


@pytest.mark.parametrize(
    "given, error, problem",
    [
        ([1.0, 2.0], ValueError, r"must have rows of vectors \(2 dimensions\), not 2; for one vector"),
        (3.0, ValueError, "not a single number"),
        (np.zeros((2, 2, 2)), ValueError, "not 2x2x2"),
        ([["a", "b"]], TypeError, "must have numbers"),
        (np.array([[1, "b"]], dtype=object), ValueError, "must have numbers"),
        (np.zeros((2, 2), dtype=complex), TypeError, "must have numbers, not complex"),
        (pa.array([[1.0], [1.0, 2.0], [1.0]]), ValueError, "of one length"),
    ],
)
def test_what_are_no_vectors(given, error, problem):
    with pytest.raises(error, match=problem):
        features(given)


def test_numbers_beyond_float32_are_told():
    with pytest.raises(ValueError, match="row 1, column 0 is inf"):
        Model("lsh", dim=2).hash_function().encode([[1.0, 2.0], [1e300, 1.0]])


def numbered(given):
    """Returns labels as a list of strings for each row."""
    flat, ends = labels(given)
    texts = [str(label) for label in flat]
    if ends is None:
        return [[text] for text in texts]
    return [texts[start:end] for start, end in zip([0, *ends.tolist()], ends.tolist())]


@pytest.mark.parametrize(
    "given",
    [
        [3, 1, 3],
        (3, 1, 3),
        ["3", "1", "3"],
        np.array([3, 1, 3], dtype=np.uint8),
        np.array([3, 1, 3], dtype=np.uint64),
        np.array([3.0, 1.0, 3.0]),
        np.array([[3], [1], [3]]),
        np.array(["3", "1", "3"]),
        np.array(["3", "1", "3"], dtype=object),
        pd.Series([3, 1, 3], index=[7, 8, 9]),
        pd.Series(["3", "1", "3"]),
        pd.Series(["3", "1", "3"], dtype="category"),
        pl.Series([3, 1, 3]),
        pl.Series(["3", "1", "3"]),
        pl.Series(["3", "1", "3"], dtype=pl.Categorical),
        pa.array([3, 1, 3]),
        pa.array(["3", "1", "3"]),
        pa.array(["3", "1", "3"]).dictionary_encode(),
        [np.int64(3), np.int64(1), np.int64(3)],
    ],
)
def test_labels_of_every_kind(given):
    assert numbered(given) == [["3"], ["1"], ["3"]]


@pytest.mark.parametrize(
    "given",
    [
        [["1", "2"], [], ["0"]],
        [[1, 2], None, 0],
        [(1, 2), (), "0"],
        [np.array([1, 2]), np.array([]), np.array([0])],
        np.array([[0, 1, 1], [0, 0, 0], [1, 0, 0]]),
        np.array([[0, 1, 1], [0, 0, 0], [1, 0, 0]], dtype=bool),
        pd.DataFrame([[0, 1, 1], [0, 0, 0], [1, 0, 0]]),
        pd.Series([["1", "2"], [], ["0"]]),
        pl.Series([["1", "2"], [], ["0"]]),
        pa.array([["1", "2"], [], ["0"]]),
        pa.array([[1, 2], None, [0]]),
    ],
)
def test_sets_of_labels(given):
    assert numbered(given) == [["1", "2"], [], ["0"]]


@pytest.mark.parametrize(
    "given",
    [
        ["1", None, "0"],
        ["1", "", "0"],
        np.array(["1", "", "0"]),
        [1, float("nan"), 0],
        np.array([1, np.nan, 0]),
        pd.Series([1, None, 0]),
        pd.Series([1, None, 0], dtype="Int64"),
        pd.Series([1.0, None, 0.0], dtype=object),
        pd.Series([1.0, None, 0.0], dtype="Float32"),
        pd.Series([1.0, None, 0.0], dtype="category"),
        [["1"], [float("nan")], [0.0]],
        pd.Series(["1", None, "0"]),
        pl.Series([1, None, 0]),
        pl.Series(["1", None, "0"]),
        pa.array([1, None, 0]),
        pa.array(["1", None, "0"]),
    ],
)
def test_rows_without_labels(given):
    assert numbered(given) == [["1"], [], ["0"]]


@pytest.mark.parametrize(
    "given, error, problem",
    [
        ([1.5, 2.0], ValueError, "1.5 is not a whole number"),
        ([[0.5, 1.0]], TypeError, "texts or whole numbers, not 0.5"),
        ([[float("inf")]], TypeError, "texts or whole numbers, not inf"),
        (np.array([[0, 2]]), ValueError, "zeros and ones"),
        (np.zeros((1, 2, 3)), ValueError, "one dimension or two"),
        ([object()], TypeError, "texts or whole numbers"),
    ],
)
def test_what_are_no_labels(given, error, problem):
    with pytest.raises(error, match=problem):
        labels(given)


def test_labels_to_look_for():
    assert names(3) == names([3]) == names("3") == names(np.array([3])) == names({3}) == ["3"]
    assert labels(None) is None


def test_ids_of_every_kind():
    for given in [range(3), [0, 1, 2], np.arange(3, dtype=np.int8), pd.Series([0, 1, 2]), pl.Series([0, 1, 2]),
                  pa.array([0, 1, 2]), (i for i in range(3)), (0, 1, 2)]:
        assert ids(given).tolist() == [0, 1, 2] and ids(given).dtype == np.uint64
    assert ids([2**64 - 1, 0]).tolist() == [2**64 - 1, 0]
    assert ids([2**53 + 1, 2**63 + 1]).tolist() == [2**53 + 1, 2**63 + 1]
    assert ids([]).tolist() == []
    for wrong, error in [([-1], ValueError), ([2**64], ValueError), (["a", 1], TypeError), ([1.5], TypeError),
                         (np.array([1.0]), TypeError), (7, TypeError), ([[1]], ValueError), ([True, 2**64], TypeError)]:
        with pytest.raises(error):
            ids(wrong)


def test_frames_all_the_way(digits):
    X, y = digits
    frame = pl.DataFrame({"v": [row.tolist() for row in X], "y": [str(label) for label in y]})
    model, same = Model(dim=64, bits=16), Model(dim=64, bits=16)
    model.learn(frame["v"], frame["y"])
    same.learn(pd.DataFrame(X), pd.Series(y))
    assert model.to_bytes() == same.to_bytes()
    index = Index(model.hash_function())
    index.add(pl.Series(range(1797)), frame["v"], frame["y"])
    assert index.search(pd.DataFrame(X[:3]), 2).ids.shape == (3, 2)


@pytest.mark.parametrize(
    "call, where",
    [
        (lambda: features(np.ma.array(ROWS, mask=[[0, 0, 0], [0, 1, 1]])), "X has masked values, the first in row 1, column 1"),
        (lambda: features(np.ma.array(ROWS, mask=[[0, 0, 0], [0, 0, 1]])), "X has a masked value in row 1, column 2"),
        (lambda: features([np.ma.array(ROWS[0]), np.ma.array(ROWS[1], mask=[0, 1, 0])]), "X has a masked value in row 1, column 1"),
        (lambda: labels(np.ma.array([1, 2, 3], mask=[0, 0, 1])), "y has a masked value in row 2"),
        (lambda: labels(np.ma.array([[1, 0], [0, 1]], mask=[[0, 0], [1, 0]])), "y has a masked value in row 1, column 0"),
        (lambda: labels([np.ma.array([1, 2], mask=[0, 1]), [3]]), "y has a masked value in row 0, column 1"),
        (lambda: labels([1, np.ma.masked]), "y has a masked value in row 1"),
        (lambda: ids(np.ma.array([7, 8], mask=[1, 0])), "ids has a masked value in row 0"),
        (lambda: Model(dim=3, center=np.ma.array(ROWS[0], mask=[0, 0, 1])), "center has a masked value in row 2"),
    ],
)
def test_masked_values_are_refused(call, where):
    with pytest.raises(ValueError, match=where + r".*\.filled\(value\)"):
        call()


def test_masked_arrays_without_masked_values_are_taken():
    taken = features(np.ma.array(ROWS, dtype=np.float32))
    assert type(taken) is np.ndarray and taken.tolist() == ROWS
    assert ids(np.ma.array([7, 8])).tolist() == [7, 8]
    assert labels(np.ma.array([1, 2], mask=[0, 0]))[0].tolist() == [1, 2]
    assert labels(np.ma.array(["a", "b"]))[0] == ["a", "b"]
