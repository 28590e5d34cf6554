"""A store in this process: its hits equal those of an index of the same codes."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from hashbrook import NO_DISTANCE, NO_ID, FormatError, Index, Model, Store, StoreHits, StoreRankedHits


def made(path, **more):
    return Store.create(path, **{"dim": 64, "bits": 32, "warmup": 200, "renewal": "never", **more})


@pytest.fixture
def filled(tmp_path, digits):
    X, y = digits
    with made(tmp_path / "s") as store:
        done = store.put(range(1500), X[:1500], y[:1500])
        store.wait_learned(done.position)
        store.renew()
        yield store


@pytest.fixture
def index(filled, digits):
    X, y = digits
    index = Index(filled.hash_function(), vectors="f16")
    index.add(range(1500), X[:1500], y[:1500])
    return index


def same(found, expected):
    assert (found.ids == expected.ids).all() and (found.distances == expected.distances).all()


def test_searches_find_what_an_index_finds(filled, index, digits):
    X, _ = digits
    queries, h = X[1500:], filled.hash_function()
    found = filled.search(queries, 10)
    assert isinstance(found, StoreHits) and found.ids.dtype == np.uint64 and found.distances.dtype == np.uint32
    ids, distances = found
    same(found, index.search(queries, 10))
    assert found.version == filled.version >= 1 and (found.found == 10).all()
    assert found.labels == [index.labels_of(row) for row in ids]
    same(filled.search(codes=h.encode(queries), k=7), index.search(queries, 7))
    same(filled.search(items=[3, 9], k=7), index.search(X[[3, 9]], 7))
    for dial in ({"label_weight": 4}, {"detail_weight": 0}, {"float_query": True, "label_weight": 3}):
        same(filled.search(queries, 5, **dial), index.search(queries, 5, **dial))
    same(filled.search(queries, 5, labels=[7, "8"]), index.filtered(labels=[7, 8]).search(queries, 5))
    same(filled.search(queries, 5, without_labels=7), index.filtered(without_labels=[7]).search(queries, 5))
    near = filled.within(queries, 3)
    expected = index.within(queries, 3)
    assert (near.offsets == expected.offsets).all() and near.version == found.version
    same(near, expected)
    assert near.labels[0] == index.labels_of(near[0].ids)
    ranked, by_index = filled.search(queries, 5, rerank=100), index.search(queries, 5, rerank=100)
    assert isinstance(ranked, StoreRankedHits)
    # The index stores vectors in half precision.
    assert np.abs(ranked.scores - by_index.scores).max() < 2e-3
    assert filled.within(queries[:5], 3, rerank=100).scores is not None


def test_rows_that_are_short(filled, digits):
    X, y = digits
    sevens = int((y[:1500] == 7).sum())
    found = filled.search(X[:2], 1500, labels=7, rerank=1500)
    assert (found.found == sevens).all() and found.ids[0, -1] == NO_ID
    assert found.distances[0, -1] == NO_DISTANCE and np.isnan(found.scores[0, -1])
    assert [len(row) for row in found.labels] == [sevens, sevens]
    assert (filled.search(X[:2], 3, labels="never seen").found == 0).all()
    assert filled.search(X[:0], 3).ids.shape == (0, 3) and len(filled.within(X[:0], 3)) == 0


def test_it_is_there_again_when_it_is_opened_again(tmp_path, digits):
    X, y = digits
    path = tmp_path / "s"
    assert not Store.exists(path)
    store = made(path, held_out=0)
    done = store.put(np.arange(1000), X[:1000], y[:1000])
    assert done == (1000, 0, False, done.position)
    store.wait_learned(done.position)
    version = store.renew()
    found, function = store.search(X[1000:], 5), store.model().hash_function()
    with pytest.raises(BlockingIOError):
        Store.open(path)
    store.close()
    store.close()
    assert Store.exists(path) and "closed" in repr(store)
    for call in (lambda: len(store), lambda: store.search(X[:1]), lambda: store.put([1], X[:1]), store.renew):
        with pytest.raises(ValueError, match="the store is closed"):
            call()
    with Store.open(path, renewal="every:100000") as again:
        assert len(again) == 1000 and again.model().hash_function() == function
        same(again.search(X[1000:], 5), found)
        assert again.version >= version
        again.verify()
        assert "1000 items, 64 dimensions, 32 bits by brook" in repr(again)
    # The store's model equals a model that learned the same rows.
    model = Model("brook", dim=64, bits=32, warmup=200)
    model.learn(X[:1000], y[:1000])
    assert model.hash_function() == function


def test_labels_that_come_later_and_items_that_go(tmp_path, digits):
    X, y = digits
    with made(tmp_path / "a") as later, made(tmp_path / "b") as once:
        later.put(range(1000), X[:1000])
        assert later.get(5).labels == []
        done = later.label(range(1000), y[:1000])
        assert done.items == 1000
        later.wait_learned(done.position)
        done = once.put(range(1000), X[:1000], y[:1000])
        once.wait_learned(done.position)
        assert later.model().hash_function() == once.model().hash_function()
        assert later.get(5).labels == [str(y[5])]
        more = once.put(range(1000, 1200), X[1000:1200], [["new", "kind"]] * 200)
        once.wait_learned(more.position)
        assert once.get(1100).labels == ["new", "kind"]
        gone = once.remove([*range(1000, 1200), 77777])
        assert gone.removed == 200 and gone.unlearned and len(once) == 1000
        once.wait_learned(gone.position)
        # The names of the removed labels stay known; the bits equal those before.
        after, before = once.model().hash_function(), later.model().hash_function()
        assert (after.encode(X) == before.encode(X)).all()
        assert after.label_names == [*before.label_names, "new", "kind"]
        assert once.get(1100) is None
        once.label([5], [[]])
        assert once.get(5).labels == []
        replaced = once.put([5, 2000], X[:2], [None, 3])
        assert replaced.replaced == 1 and (once.get(5).vector == X[0]).all()


def test_ids_that_are_texts(tmp_path, digits):
    X, y = digits
    names = [f"digit {row}" for row in range(500)]
    with made(tmp_path / "s", ids="texts") as store:
        store.put(names, X[:500], y[:500])
        found = store.search(X[:3], 600)
        assert found.ids.dtype == object and found.ids[0, 0] == "digit 0" and found.ids[0, -1] is None
        assert (found.found == 500).all()
        near = store.within(items=["digit 7"], radius=0)
        assert "digit 7" in near[0].ids
        assert store.get("digit 9").id == "digit 9" and store.get("none") is None
        assert store.remove(["digit 9", "none"]).removed == 1
        with pytest.raises(ValueError, match="the ids of this store are texts"):
            store.put([1], X[:1])
        with pytest.raises(ValueError, match="more than once"):
            store.put(["a", "a"], X[:2])
        with pytest.raises(KeyError, match="there is no item"):
            store.label(["digit 9"], [1])
        with pytest.raises(KeyError, match="there is no item"):
            store.search(items=["digit 9"])
    with Store.open(tmp_path / "s") as store:
        assert store.search(X[:1], 1).ids[0, 0] == "digit 0"


def test_payloads(tmp_path, digits):
    X, _ = digits
    kept = [{"file": "é.png", "at": [1, 2.5]}, b"\xff\x00\x01", None, "text", b'{"a": 1}', 0]
    with made(tmp_path / "s") as store:
        store.put(range(6), X[:6], payloads=kept)
        store.put([9], X[:1])
        given = [store.get(id).payload for id in range(6)]
        assert given == [kept[0], kept[1], None, "text", {"a": 1}, 0]
        assert store.payload(4) == b'{"a": 1}' and store.payload(1) == kept[1] and store.payload(9) == b""
        assert store.payload(3) == b'"text"'
        with pytest.raises(KeyError):
            store.payload(10)
        with pytest.raises(TypeError, match="a payload is bytes"):
            store.put([1], X[:1], payloads=[object()])
        with pytest.raises(ValueError, match="a payload is bytes"):
            store.put([1], X[:1], payloads=[float("nan")])
        with pytest.raises(ValueError, match="payload"):
            store.put([1], X[:1], payloads=[1, 2])
        assert store.get(1).payload == kept[1]


def test_items_as_they_are_kept(tmp_path, digits):
    X, y = digits
    with made(tmp_path / "s", precision="f16", bits=20) as store:
        store.put(range(300), X[:300] / 3, y[:300])
        item = store.get(np.uint64(7))
        assert (item.vector == (X[7] / 3).astype(np.float16)).all() and item.vector.dtype == np.float32
        assert (item.code == store.hash_function().encode([item.vector])[0]).all()
        assert item.code.shape == (3,) and item.version == store.version
        stats = store.stats()
        assert stats["items"] == len(store) == 300 and stats["description"]["precision"] == "f16"
        assert store.description["ids"] == "numbers" and stats["learning"]["problem"] is None


@pytest.mark.parametrize("compact", [False, True])
def test_copies(tmp_path, filled, digits, compact):
    X, _ = digits
    position = filled.remove([77777]).position
    filled.snapshot(tmp_path / "copy", compact=compact)
    with Store.open(tmp_path / "copy", renewal="never") as copy:
        # The copy learns on from the last saved model.
        copy.wait_learned(position)
        same(copy.search(X[1500:], 5), filled.search(X[1500:], 5))
        assert copy.model().hash_function() == filled.model().hash_function()
    with pytest.raises(ValueError, match="has something in it"):
        filled.snapshot(tmp_path / "copy")


def test_threads_search_while_another_puts(tmp_path, digits):
    X, y = digits
    problems, stop = [], threading.Event()
    with made(tmp_path / "s", renewal="every:200", renewal_share=1) as store:
        store.put(range(100), X[:100], y[:100])

        def search():
            while not stop.is_set():
                found = store.search(X[:20], 5)
                if not (found.found == 5).all() or found.version > store.version:
                    problems.append(found)

        threads = [threading.Thread(target=search) for _ in range(3)]
        for thread in threads:
            thread.start()
        for start in range(100, 1700, 50):
            done = store.put(range(start, start + 50), X[start:start + 50], y[start:start + 50])
        store.wait_learned(done.position)
        store.renew()
        stop.set()
        for thread in threads:
            thread.join()
        assert not problems and len(store) == 1700
        index = Index(store.hash_function())
        index.add(range(1700), X[:1700])
        same(store.search(X, 5), index.search(X, 5))


def test_what_cannot_be(tmp_path, filled, digits):
    X, y = digits
    for wrong, problem in [
        (lambda: filled.put([1], X[:2]), "1 ids"),
        (lambda: filled.put([1, 2], X[:2], [1]), "label"),
        (lambda: filled.put([1, 1], X[:2]), "more than once"),
        (lambda: filled.put(["a"], X[:1]), "the ids of this store are numbers"),
        (lambda: filled.put([1], X[:1, :5]), "64"),
        (lambda: filled.put([1], np.full((1, 64), np.nan)), "finite"),
        (lambda: filled.search(X[:1, :5]), "64"),
        (lambda: filled.search(), "one of them"),
        (lambda: filled.search(X[:1], items=[1]), "one of them"),
        (lambda: filled.search(X[:1], labels=[]), "labels has no label"),
        (lambda: filled.search(codes=filled.get(1).code[None], rerank=5), "rerank ranks by vectors"),
        (lambda: filled.label([1], None), "expected labels for the items"),
        (lambda: made(tmp_path / "n", method="none"), "none"),
        (lambda: made(tmp_path / "n", nonsense=1), "nonsense"),
        (lambda: made(tmp_path / "n", ids="both"), 'ids is "numbers" or "texts"'),
        (lambda: made(tmp_path / "n", precision="f8"), "f32"),
        (lambda: made(tmp_path / "n", renewal="sometimes"), "every:ROWS"),
        (lambda: made(tmp_path / "n", renewal_share=float("nan")), "renewal_share"),
        (lambda: made(tmp_path / "n", compaction=1.5), "compaction"),
        (lambda: made(tmp_path / "n", center="mean"), "center is"),
        (lambda: made(tmp_path / "n", batch=0), "batch"),
        (lambda: made(tmp_path / "n", held_out=1), "held_out must be 0, or 2 or more"),
        (lambda: made(tmp_path / "n", bits=0), "bits"),
    ]:
        with pytest.raises(ValueError, match=problem):
            wrong()
    with pytest.raises(ValueError, match="has something in it"):
        made(tmp_path / "s")
    with pytest.raises(FileNotFoundError):
        Store.open(tmp_path / "none")
    with pytest.raises(TypeError, match="needs a radius"):
        filled.within(X[:1])
    with pytest.raises(TypeError, match="Store.create"):
        Store()
    assert not Store.exists(tmp_path / "n") and len(filled) == 1500


def test_precision_is_measured_on_held_out_items(tmp_path, digits):
    X, y = digits
    with made(tmp_path / "all", held_out=0) as store, made(tmp_path / "tenth", held_out=10) as tenth:
        for one in [store, tenth]:
            one.wait_learned(one.put(range(1500), X[:1500], y[:1500]).position)
            one.renew()
        assert (store.description["held_out"], tenth.description["held_out"]) == (0, 10)
        stats, quality = store.stats(), store.stats()["quality"]
        assert (stats["learning"]["rows"], quality["held_out_items"], quality["measured_on"]) == (1500, 0, "learned")
        stats, quality = tenth.stats(), tenth.stats()["quality"]
        assert stats["learning"]["rows"] == 1500 - quality["held_out_items"]
        assert quality["measured_on"] == "held_out" and 100 < quality["queries"] == quality["held_out_items"] < 200
        assert 0.5 < quality["precision_at_10"] <= 1 and 0.5 < quality["precision_at_10_per_class"] <= 1


def test_a_store_that_does_not_learn(tmp_path, digits):
    X, y = digits
    with made(tmp_path / "s", learn=False) as store:
        done = store.put(range(300), X[:300], y[:300])
        with pytest.raises(RuntimeError, match="not to learn"):
            store.wait_learned(done.position)
        assert store.model().seen == 0


def test_flipped_bytes_are_told(tmp_path, digits):
    X, y = digits
    with made(tmp_path / "s") as store:
        store.put(range(300), X[:300], y[:300])
    journal = max((path for path in (tmp_path / "s").rglob("*") if path.is_file()), key=lambda p: p.stat().st_size)
    data = bytearray(journal.read_bytes())
    data[len(data) // 2] ^= 1
    journal.write_bytes(data)
    with pytest.raises(FormatError), Store.open(tmp_path / "s") as store:
        store.verify()
    for wrong in ({}, {"to": tmp_path / "t", "in_place": True}):
        with pytest.raises(ValueError, match="either"):
            Store.repair(tmp_path / "s", **wrong)
    repaired = Store.repair(tmp_path / "s", tmp_path / "t")
    assert (repaired["losses"] or repaired["rebuilt"]) and repaired["damaged"] is None
    assert Store.repair(tmp_path / "s", in_place=True)["items"] == repaired["items"]
    for path in ("s", "t"):
        with Store.open(tmp_path / path, compaction=1) as store:
            store.verify()
            assert len(store) == repaired["items"] >= 299


def _use(store, told):
    try:
        store.search(np.zeros((1, 64), dtype=np.float32))
    except RuntimeError as problem:
        told.put(str(problem))
    del store


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_copy_of_the_process_says_that_it_is_one(filled):
    context = multiprocessing.get_context("fork")
    told = context.Queue()
    process = context.Process(target=_use, args=(filled, told))
    process.start()
    assert "copy (fork)" in told.get(timeout=30)
    process.join(30)
    assert process.exitcode == 0 and len(filled) == 1500


def test_ctrl_c_ends_the_waiting(tmp_path):
    script = f"""
import numpy as np
from hashbrook import Store
store = Store.create({str(tmp_path / "s")!r}, dim=64, renewal="never")
# So much that learning it takes seconds.
X = np.random.default_rng(1).normal(size=(50_000, 64)).astype(np.float32)
done = store.put(range(50_000), X, np.arange(50_000) % 10)
print("waits", flush=True)
try:
    store.wait_learned(done.position)
except KeyboardInterrupt:
    print("interrupted", len(store), flush=True)
import os
os._exit(0)
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "waits\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "interrupted 50000\n"


def test_padding_that_no_memory_has_room_for_is_refused(filled, digits):
    X, _ = digits
    for call in (lambda k: filled.search(X[:1], k), lambda k: filled.search(items=[7], k=k)):
        with pytest.raises(MemoryError, match="1 x 1000000000 results need .* use k up to 1500"):
            call(10**9)
