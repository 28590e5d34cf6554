"""String ids: results have the inserted strings, and files store them."""

import json
import pickle

import numpy as np
import pytest

from hashbrook import Index, Model, datasets

X, y = datasets.digits()
NAMES = [f"digit-{row:04}.png" for row in range(len(X))]


@pytest.fixture(scope="module")
def function():
    model = Model("brook", dim=64, bits=32)
    model.learn(X, y)
    return model.hash_function()


@pytest.fixture
def index(function):
    made = Index(function, vectors="f16")
    made.add(NAMES, X, y)
    return made


@pytest.fixture(scope="module")
def numbered(function):
    made = Index(function, vectors="f16")
    made.add(range(len(X)), X, y)
    return made


def same(named, numbers):
    expected = [[NAMES[id] for id in row] for row in np.atleast_2d(numbers).tolist()]
    assert np.atleast_2d(named).tolist() == expected


def test_results_name_them(index, numbered):
    for search in (
        lambda of: of.search(X[:20], 7),
        lambda of: of.search(X[:20], 7, rerank=50),
        lambda of: of.search_codes(of.function.encode(X[:20]), 7),
        lambda of: of.snapshot().filtered(labels=[3]).search(X[:20], 7),
        lambda of: of.within(X[:20], 2),
        lambda of: of.within_codes(of.function.encode(X[:20]), 2),
    ):
        here, there = search(index), search(numbered)
        same(here.ids, there.ids)
        assert np.array_equal(here.distances, there.distances)
    assert index.within(X[:1], 1)[0].ids[0].startswith("digit-")
    same(index.ids(), numbered.ids())
    assert index.duplicates(0)[0] == [NAMES[id] for id in numbered.duplicates(0)[0]]
    assert index.labels_of(index.search(X[:1], 3).ids[0]) == numbered.labels_of(numbered.search(X[:1], 3).ids[0])
    assert np.array_equal(index.code(NAMES[5]), numbered.code(5))
    assert np.array_equal(index.vector(NAMES[5]), numbered.vector(5))
    assert NAMES[5] in index and "other" not in index and 5 not in index
    with pytest.raises(KeyError, match="other"):
        index.code("other")
    assert index.labels_of(["other", NAMES[0]]) == [[], ["0"]]


def test_short_rows_end_with_none(function):
    few = Index(function)
    few.add(["a"], X[:1])
    found = few.search(X[:2], 2)
    assert found.ids.tolist() == [["a", None], ["a", None]] and found.found.tolist() == [1, 1]


def test_kinds_are_not_mixed(index, numbered, function):
    with pytest.raises(ValueError, match="texts, and 7 is a number"):
        index.add([7], X[:1])
    with pytest.raises(ValueError, match="numbers, and \"a\" is a text"):
        numbered.add(["a"], X[:1])
    with pytest.raises(ValueError, match="numbers, and \"a\" is a text"):
        numbered.filtered(ids=["a"]).search(X[:1])
    for mixed in (["a", 7], [7, "a"], np.array(["a", 7], dtype=object)):
        with pytest.raises(TypeError, match="must be"):
            Index(function).add(mixed, X[:2])
    with pytest.raises(TypeError, match=r"give \['a'\]"):
        index.remove("a")
    # A failed call does not decide the type of ids.
    empty = Index(function)
    with pytest.raises(ValueError):
        empty.add(["a", "a"], X[:2])
    empty.add([1, 2], X[:2])
    assert empty.ids().tolist() == [1, 2]


def test_an_id_is_taken_once(index):
    with pytest.raises(ValueError, match=f'"{NAMES[3]}" is there already'):
        index.add([NAMES[3]], X[:1])
    with pytest.raises(ValueError, match='"new" is given more than once'):
        index.upsert(["new", "new"], X[:2])
    index.upsert([NAMES[3], "new"], X[:2], y[:2])
    assert len(index) == len(X) + 1 and index.search(X[:1], 2, rerank=100).ids.tolist()[0][0] == NAMES[0]
    assert index.remove([NAMES[3], "never there"]) == 1 and NAMES[3] not in index
    assert index.filtered(ids=["new", "never there"]).search(X[:1], 1).ids.tolist() == [["new"]]


def test_every_kind_of_column(function):
    pandas, polars, arrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    names = ["a", "b", "ž"]
    for given in (
        tuple(names),
        np.array(names),
        np.array(names, dtype=object),
        pandas.Series(names),
        pandas.Series(names, dtype="string"),
        pandas.Index(names),
        polars.Series(names),
        arrow.array(names),
        arrow.chunked_array([names]),
        iter(names),
    ):
        made = Index(function)
        made.add(given, X[:3])
        assert made.ids().tolist() == names
    with pytest.raises(TypeError, match="texts or all be whole numbers, not None"):
        Index(function).add(pandas.Series(["a", None, "b"], dtype=object), X[:3])


def test_files_keep_them(index, tmp_path):
    path = tmp_path / "digits.index"
    index.save(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["digits.index", "digits.index.ids"]
    expected = index.search(X[:5], 4).ids.tolist()
    for opened in (Index.open(path), Index.load(path), pickle.loads(pickle.dumps(index))):
        assert opened.search(X[:5], 4).ids.tolist() == expected
    # A reader that follows the file sees new items with their string ids; an older snapshot does not change.
    reader, writer = Index.open(path), Index.edit(path)
    before = reader.snapshot()
    writer.add(["later.png"], X[:1])
    assert reader.refresh() and "later.png" in reader and "later.png" not in before
    assert reader.search(X[:1], 1, rerank=2000).ids[0, 0] in (NAMES[0], "later.png")
    writer.remove(NAMES[:-1])
    writer.compact()
    del writer
    assert Index.open(path).ids().tolist() == [NAMES[-1], "later.png"]


def test_a_missing_file_of_texts_is_told(index, tmp_path):
    path = tmp_path / "digits.index"
    index.save(path)
    (tmp_path / "digits.index.ids").unlink()
    for open_ in (Index.open, Index.edit, Index.load):
        with pytest.raises(FileNotFoundError, match="move it along with the index"):
            open_(path)


def test_texts_of_another_index_are_not_overwritten(index, function, tmp_path):
    path = tmp_path / "digits.index"
    index.save(path)
    index.save(path)
    other = Index(function)
    other.add(["cat", "dog"], X[:2])
    with pytest.raises(ValueError, match="has other texts as ids"):
        other.save(path)
    assert Index.open(path).ids().tolist() == NAMES


def test_an_empty_file_takes_texts(function, tmp_path):
    path = tmp_path / "empty.index"
    Index(function).save(path)
    writer = Index.edit(path)
    writer.add(["a", "b"], X[:2])
    assert Index.open(path).ids().tolist() == ["a", "b"]


def test_the_command_reads_and_writes_them(command, index, tmp_path):
    path = tmp_path / "digits.index"
    index.save(path)
    np.save(tmp_path / "q.npy", X[:1])
    lines = command("search", "--index", path, "--queries", tmp_path / "q.npy", "-k", 3, "--json").splitlines()
    assert json.loads(lines[0])["ids"] == index.search(X[:1], 3).ids[0].tolist()
    np.save(tmp_path / "x.npy", X[:1])
    (tmp_path / "id.csv").write_text("new.png\n")
    command("index", "add", path, "--data", tmp_path / "x.npy", "--ids", tmp_path / "id.csv")
    assert "new.png" in Index.open(path)


def test_other_engines_are_told(index, tmp_path):
    from hashbrook import interchange

    for module, export in (("faiss", index.to_faiss), ("usearch", index.to_usearch)):
        pytest.importorskip(module)
        with pytest.raises(ValueError, match="are numbers, and those of this index are texts"):
            export()
    pytest.importorskip("lancedb")
    index.to_lance(tmp_path / "lance")
    back = Index.from_lance(tmp_path / "lance", function=index.function)
    assert back.ids().tolist() == NAMES
    assert interchange.codes_of(back)[1].tolist() == interchange.codes_of(index)[1].tolist()
