import pickle
import resource
import subprocess
import sys

import numpy as np
import pytest

import hashbrook
from hashbrook import Index, Model


def naive(codes, query, ids):
    """Returns (distance, id) of all items in order, the reference for searches."""
    distances = np.unpackbits(codes ^ query, axis=1).sum(axis=1)
    return sorted(zip(distances.tolist(), ids.tolist()))


def made(function, digits, **how):
    X, y = digits
    index = Index(function, **how)
    index.add(np.arange(1797) * 3, X, y)
    return index


def test_search_and_within_are_as_the_naive_twin(function, digits):
    X, y = digits
    index, codes, ids = made(function, digits), function.encode(X), np.arange(1797) * 3
    found, near = index.search(X[:50], 7), index.within(X[:50], 5)
    assert found.ids.dtype == np.uint64 and found.distances.dtype == np.uint32
    assert near.offsets.dtype == np.int64 and len(near) == 50
    for query in range(50):
        expected = naive(codes, codes[query], ids)
        assert list(zip(found.distances[query], found.ids[query])) == expected[:7]
        hits = near[query]
        assert list(zip(hits.distances, hits.ids)) == [hit for hit in expected if hit[0] <= 5]
    assert [len(hits.ids) for hits in near] == np.diff(near.offsets).tolist()
    assert (near[-1].ids == near[49].ids).all() and "hits of 50 queries" in repr(near)
    with pytest.raises(IndexError, match="there are 50 queries"):
        near[50]
    by_codes = index.search_codes(codes[:50], 7)
    assert (by_codes.ids == found.ids).all() and (by_codes.distances == found.distances).all()
    assert (index.within_codes(codes[:50], 5).ids == near.ids).all()


def test_many_queries_in_chunks_find_the_same(function, digits):
    X, _ = digits
    index = made(function, digits)
    queries = np.tile(X, (6, 1))
    found, once = index.search(queries, 3), index.search(X, 3)
    assert (found.ids == np.tile(once.ids, (6, 1))).all()
    codes = function.encode(X)
    assert (index.search_codes(np.tile(codes, (6, 1)), 3).ids == np.tile(once.ids, (6, 1))).all()
    near = index.within(queries, 2)
    assert (near.ids == np.tile(index.within(X, 2).ids, 6)).all() and len(near) == len(queries)


def test_short_rows_are_padded(function, digits):
    X, y = digits
    index = Index(function, vectors="f16")
    found = index.search(X[:2], 3)
    assert (found.ids == hashbrook.NO_ID).all() and found.found.tolist() == [0, 0]
    index.add([5, 9], X[:2], y[:2])
    found = index.search(X[:2], 3)
    assert found.ids[:, 2].tolist() == [2**64 - 1] * 2
    assert found.distances[:, 2].tolist() == [2**32 - 1] * 2
    assert found.found.tolist() == [2, 2]
    ranked = index.search(X[:2], 3, rerank=10)
    assert ranked.ids[:, 0].tolist() == [5, 9] and ranked.found.tolist() == [2, 2]
    assert np.isnan(ranked.scores[:, 2]).all() and (ranked.scores[:, 0] > 0.999).all()
    assert index.search(X[:0], 3).ids.shape == (0, 3)
    with pytest.raises(MemoryError):
        index.search(X, 2**60)


def test_changes(function, digits):
    X, y = digits
    index = made(function, digits)
    before = index.snapshot()
    assert index.remove([0, 3, 4]) == 2 and len(index) == 1795 and len(before) == 1797
    assert 0 not in index and 6 in index and "6" not in index and -1 not in index and 0 in before
    index.upsert([6, 7], X[:2], ["zero", "one"])
    assert index.labels_of([6, 7, 0]) == [["zero"], ["one"], []]
    assert (index.code(6) == function.encode(X[:1])[0]).all()
    with pytest.raises(KeyError):
        index.code(0)
    assert (index.ids() == np.sort(index.ids())).all() and len(index.ids()) == 1796
    index.compact()
    assert index.statistics()["removed"] == 0 and index.statistics()["items"] == 1796
    with pytest.raises(ValueError, match="id 6 is there already"):
        index.add([6], X[:1])
    with pytest.raises(ValueError, match="2 ids for 1 items"):
        index.add([10_001, 10_002], X[:1])
    assert index.bits == 64 and index.function == function and index.vectors is None
    assert index.duplicates(0)
    index.verify()
    index.set_search_structure("none")


def test_filters(function, digits):
    X, y = digits
    index = made(function, digits)
    threes = index.filtered(labels=3).search(X[:5], 20)
    assert set(y[(threes.ids // 3).astype(int)].ravel()) == {3}
    others = index.filtered(without_labels=["3", 5]).search(X[:5], 20)
    assert not {3, 5} & set(y[(others.ids // 3).astype(int)].ravel())
    some = index.filtered(ids=range(0, 300), labels=[1, 2]).within(X[:5], 64)
    assert set(some.ids) == {i * 3 for i in range(100) if y[i] in (1, 2)}
    assert (index.filtered().search(X[:5], 5).ids == index.search(X[:5], 5).ids).all()
    assert "labels=['3']" in repr(index.filtered(labels=[3]))


def test_a_filter_by_a_label_that_no_item_has(function, digits):
    X, y = digits
    index = made(function, digits)
    known = r"there are: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9$"
    for wrong in [{"labels": ["nope"]}, {"labels": [3, "nope"]}, {"without_labels": "nope"}]:
        view = index.filtered(**wrong)
        for search in (lambda: view.search(X[:1], 2), lambda: view.within(X[:1], 3),
                       lambda: index.snapshot().filtered(**wrong).search(X[:1])):
            with pytest.raises(ValueError, match=f'no item has the label "nope"; {known}'):
                search()
    # A view follows the changes of its index.
    index.set_labels([0], ["nope"])
    assert view.search(X[:1], 2).ids.shape == (1, 2)
    unlabelled = Index.of_codes(8)
    unlabelled.add_codes([1], np.zeros((1, 1), dtype=np.uint8))
    with pytest.raises(ValueError, match='no item has the label "7"; the items of this index have none'):
        unlabelled.filtered(labels=7).search_codes(np.zeros((1, 1), dtype=np.uint8))


def test_other_labels_for_items(function, digits, tmp_path):
    X, y = digits
    for vectors in (None, "f16"):
        index = Index(function, vectors=vectors)
        index.add(range(100), X[:100], y[:100])
        index.save(tmp_path / "a.index")
        for index in (index, Index.edit(tmp_path / "a.index")):
            code, vector = index.code(5), index.vector(5)
            index.set_labels([5, 6, 7], ["new", 3, []])
            assert index.labels_of([4, 5, 6, 7]) == [[str(y[4])], ["new"], ["3"], []]
            assert (index.code(5) == code).all() and (vectors is None or (index.vector(5) == vector).all())
            assert index.filtered(labels="new").search(X[5:6], 1).ids.tolist() == [[5]]
            names = index.label_names
            for ids, labels, kind, problem in [
                ([5, 100], ["x", "x"], KeyError, "there is no item 100"),
                ([5], ["x", "x"], ValueError, "2 labels for 1 rows"),
                ([5, 5], ["new", "3"], ValueError, "more than once"),
                ([5], None, ValueError, "expected labels for the items"),
                (["5"], ["x"], ValueError, "numbers"),
            ]:
                with pytest.raises(kind, match=problem):
                    index.set_labels(ids, labels)
            assert index.labels_of([5]) == [["new"]] and index.label_names == names
        assert Index.open(tmp_path / "a.index").labels_of([5, 6, 7]) == [["new"], ["3"], []]
    texts = Index(function)
    texts.add(["a", "b"], X[:2], ["x", "y"])
    texts.set_labels(["b"], [["x", "z"]])
    assert texts.labels_of(["a", "b"]) == [["x"], ["x", "z"]]
    with pytest.raises(KeyError, match='there is no item "c"'):
        texts.set_labels(["a", "c"], ["q", "q"])
    assert "q" not in texts.label_names


@pytest.mark.parametrize("metric", ["cosine", "inner_product", "l2"])
def test_reranking_by_a_metric_of_the_vectors_as_given(function, digits, metric):
    X, y = digits
    index = Index(function, vectors="f16", metric=metric)
    index.add(range(500), X[:500], y[:500])
    found = index.search(X[:20], 5, rerank=500)
    if metric == "l2":
        scores = np.linalg.norm(X[:20, None] - X[None, :500], axis=2)
        expected = np.sort(scores, axis=1)[:, :5]
    else:
        products = X[:20] @ X[:500].T
        lengths = np.linalg.norm(X[:20], axis=1)[:, None] * np.linalg.norm(X[:500], axis=1)
        expected = -np.sort(-(products / lengths if metric == "cosine" else products), axis=1)[:, :5]
    # A distance of 0 is the root of its square, so in half precision its error is the root of the square's error.
    off = {"cosine": 1e-3, "inner_product": 3, "l2": 1.5}[metric]
    assert np.allclose(found.scores, expected, atol=off)
    with pytest.raises(ValueError, match="cosine, inner_product or l2"):
        Index(function, vectors="f16", metric="angle")


def test_the_search_structure_is_chosen(function, digits):
    X, y = digits
    index = made(function, digits)
    expected = index.search(X[:5], 5).ids
    for structure in ["none", "small", "full"]:
        index.set_search_structure(structure)
        assert (index.search(X[:5], 5).ids == expected).all()
    with pytest.raises(ValueError, match="none, small or full"):
        index.set_search_structure("some")


def test_reranking_and_dials(digits):
    X, y = digits
    model = Model(dim=64, bits=64, warmup=500, anchors=200, detail=0.5)
    model.learn(X, y)
    function = model.hash_function()
    index = made(function, digits, vectors="f16")
    vectors = X / np.linalg.norm(X, axis=1, keepdims=True)
    ranked = index.search(X[:20], 5, rerank=1797)
    cosines = vectors[:20] @ vectors.T
    assert np.allclose(ranked.scores, -np.sort(-cosines, axis=1)[:, :5], atol=2e-3)
    near = index.within(X[:20], 64, rerank=3)
    assert (np.diff(near.offsets) == 3).all() and near[0].scores[0] > 0.999
    plain, weighed = index.search(X[:20], 5), index.search(X[:20], 5, label_weight=1, detail_weight=1)
    assert (plain.ids == weighed.ids).all()
    heavy = index.search(X[:20], 5, label_weight=4)
    label = np.zeros(64, dtype=bool)
    label[: function.label_bits] = True
    bits = np.unpackbits(function.encode(X), axis=1, bitorder="little")
    differ = bits[:20, None, :] != bits[(heavy.ids // 3).astype(int)]
    assert (heavy.distances == (differ * np.where(label, 4, 1)).sum(axis=2)).all()
    # A float query has distances in steps of 1/64.
    counted = index.search(X[:20], 1797, float_query=True).distances
    assert counted.max() > 64 * 8 and (counted % 64 != 0).any()
    soft = index.search(X[:20], 5, float_query=True, rerank=50)
    assert (soft.ids[:, 0] == np.arange(20) * 3).all()
    with pytest.raises(ValueError, match="keeps no vectors"):
        made(function, digits).search(X, 5, rerank=3)
    with pytest.raises(ValueError, match="k must be 1 or more"):
        index.search(X, 0)


def test_renewal(digits):
    X, y = digits
    model = Model(dim=64, bits=64, warmup=500, anchors=100)
    model.learn(X[:900], y[:900])
    old = model.hash_function()
    model.learn(X[900:], y[900:])
    new = model.hash_function()
    kept, given = made(old, digits, vectors="f16"), made(old, digits)
    given.renew(new, np.arange(1797) * 3, X)
    assert (np.stack([given.code(i * 3) for i in range(1797)]) == new.encode(X)).all()
    kept.renew(new)
    codes = np.stack([kept.code(i * 3) for i in range(1797)])
    assert np.unpackbits(codes ^ new.encode(X)).mean() < 0.001
    assert kept.function == new
    with pytest.raises(ValueError, match="keeps no vectors"):
        given.renew(new)
    with pytest.raises(ValueError, match="takes ids and their vectors"):
        given.renew(new, [1])


def test_files(function, digits, tmp_path):
    X, y = digits
    path = tmp_path / "i"
    made(function, digits).save(path)
    reader, writer = Index.open(path), Index.edit(path)
    with pytest.raises(BlockingIOError, match="being written by another"):
        Index.edit(path)
    writer.remove([0])
    assert len(reader) == 1797 and reader.refresh() and len(reader) == 1796 and not reader.refresh()
    with pytest.raises(OSError, match="was opened for reading") as raised:
        reader.remove([3])
    assert isinstance(raised.value, ValueError), "io.UnsupportedOperation"
    loaded = Index.load(path)
    loaded.remove([3])
    assert len(loaded) == 1795 and len(Index.open(path)) == 1796
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(reader)
    again = pickle.loads(pickle.dumps(loaded))
    assert (again.ids() == loaded.ids()).all()
    assert (again.search(X[:5], 5).ids == loaded.search(X[:5], 5).ids).all()
    assert again.labels_of([6]) == loaded.labels_of([6]) != [[]]
    assert repr(reader).startswith("<Index in ") and "1795 items, 64 bits" in repr(loaded)
    assert repr(loaded.snapshot()).startswith("<Snapshot: 1795 items")


def test_codes_of_any_origin():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 256, (500, 3), dtype=np.uint8)
    codes[:, 2] &= 0b1111
    index = Index.of_codes(20)
    index.add_codes(range(500), codes, [["a", "b"], ["b"], [], None, "c"] * 100)
    index.upsert_codes([0], codes[1:2])
    codes[0] = codes[1]
    found = index.search_codes(codes[:9], 4)
    for query in range(9):
        expected = naive(codes, codes[query], np.arange(500))[:4]
        assert list(zip(found.distances[query], found.ids[query])) == expected
    assert index.labels_of([0, 1, 5]) == [[], ["b"], ["a", "b"]]
    assert index.function is None
    for wrong, problem in [
        (lambda: index.search(np.zeros((1, 3)), 1), "takes codes alone"),
        (lambda: index.search_codes(codes[:, :2], 1), "20 bits have 3 bytes each, these have 2"),
        (lambda: index.add_codes([900], codes[:1] | 0xF0), "bits set beyond the last"),
        (lambda: index.search_codes(codes, 1, label_weight=2), "nothing tells label bits"),
        (lambda: Index.of_codes(2000), "bits must be from 1 to 1024"),
    ]:
        with pytest.raises(ValueError, match=problem):
            wrong()
    with pytest.raises(TypeError, match="must be uint8"):
        index.search_codes(codes.astype(float))
    with pytest.raises(ValueError, match="vectors are kept as"):
        Index(Model("lsh", dim=2).hash_function(), vectors="f32")


@pytest.mark.parametrize("ids", [np.arange(20), [f"item {row}" for row in range(20)]], ids=["numbers", "strings"])
def test_padding_that_no_memory_has_room_for_is_refused(function, digits, ids):
    X, y = digits
    index = Index(function, vectors="f16")
    index.add(ids, X[:20], y[:20])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls = (
        lambda k: index.search(X[:1], k),
        lambda k: index.search(X[:1], k, rerank=10),
        lambda k: index.search_codes(function.encode(X[:1]), k),
        lambda k: index.snapshot().search(X[:1], k),
        lambda k: index.filtered(labels=[7]).search(X[:1], k),
    )
    for call in calls:
        for k in (10**9, 2**63):
            with pytest.raises(MemoryError, match=rf"1 x {k} results need .* there are 20 items; use k up to 20"):
                call(k)
    with pytest.raises(MemoryError, match="1000 x 10000000 results"):
        index.search(np.tile(X[:1], (1000, 1)), 10**7)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + (200 << 10), "in KiB"
    assert index.search(X[:1], 1000).ids.shape == (1, 1000), "a little padding is what rows are documented to have"
    found = index.search(X[:1], 20, rerank=10**12)
    assert found.found.tolist() == [20]


CUT_SHORT = """
import os, sys
import numpy as np
from hashbrook import Index

path, length = sys.argv[1], int(sys.argv[2])
index = Index.open(path)
codes = np.zeros((2, 8), dtype=np.uint8)
index.search_codes(codes, 5)
os.truncate(path, length)
for call in (lambda: index.search_codes(codes, 5), lambda: index.within_codes(codes, 64)):
    try:
        call()
    except OSError as problem:
        print(problem)
"""


@pytest.mark.parametrize("length", [0, 5000])
def test_a_file_that_is_truncated_between_searches_fails_searches(tmp_path, length):
    index = Index.of_codes(64)
    index.add_codes(range(10_000), np.random.default_rng(1).integers(0, 256, (10_000, 8), dtype=np.uint8))
    index.save(tmp_path / "i.index")
    run = subprocess.run([sys.executable, "-c", CUT_SHORT, tmp_path / "i.index", str(length)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    told = run.stdout.splitlines()
    assert len(told) == 2 and all("i.index" in line for line in told), told
