"""Threads: calls run in parallel, and return correct results while other threads change the index."""

import multiprocessing
import subprocess
import sys
import threading

import numpy as np

from hashbrook import Index, Model, _hashbrook

STEP = 100


def run(*calls):
    """Runs calls in threads, and raises their exceptions."""
    raised = []

    def caught(call):
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread of the test
            raised.append(error)

    threads = [threading.Thread(target=caught, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def test_two_search_while_a_third_adds():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(6000, 16)).astype(np.float32)
    queries = X[:20]
    function = Model("lsh", dim=16, bits=64).hash_function()
    codes = function.encode(X)
    distances = np.unpackbits(codes[:20, None, :] ^ codes[None, :, :], axis=2).sum(axis=2)
    # Expected hits for each number of items in the index.
    expected = {
        there: np.stack([np.lexsort((np.arange(there), row[:there]))[:5] for row in distances])
        for there in range(STEP, 6001, STEP)
    }
    index = Index(function)
    index.add(range(STEP), X[:STEP])
    done, answers = threading.Event(), [set(), set()]

    def add():
        try:
            for start in range(STEP, 6000, STEP):
                index.add(range(start, start + STEP), X[start : start + STEP])
        finally:
            done.set()

    def search(seen):
        last = False
        while not last:
            last = done.is_set()
            before = len(index)
            found = index.search(queries, 5).ids
            after = len(index)
            between = [there for there in range(before, after + 1, STEP) if (found == expected[there]).all()]
            assert between, f"no state of {before} to {after} items answers so"
            seen.add(between[0])
            snapshot = index.snapshot()
            found = snapshot.search(queries, 5).ids
            assert (found == expected[len(snapshot)]).all()

    run(add, lambda: search(answers[0]), lambda: search(answers[1]))
    assert all(max(seen) == 6000 for seen in answers)
    assert len(index) == 6000


def test_searches_run_side_by_side_without_pythons_lock():
    """A thread that runs Python, and so holds Python's lock, sees two searches running."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50_000, 16)).astype(np.float32)
    index = Index(Model("lsh", dim=16, bits=64).hash_function())
    index.set_search_structure("none")
    index.add(range(50_000), X)
    seen, stop = [], threading.Event()

    def search():
        for _ in range(300):
            if stop.is_set():
                return
            index.search(X[:500], 10)

    def look():
        while len(ended) < 2:
            if _hashbrook.under_way() == 2:
                seen.append(True)
                stop.set()
                return

    ended = []

    def counted():
        try:
            search()
        finally:
            ended.append(True)

    run(counted, counted, look)
    assert seen, "300 searches each, and never two at once"
    assert _hashbrook.under_way() == 0


def test_threads_that_learn_take_turns(digits):
    X, y = digits
    model, alone = (Model(dim=64, bits=32, anchors=50, warmup=100) for _ in range(2))
    model.learn(X[:200], y[:200])
    alone.learn(X, y)

    def learn(start):
        for at in range(start, 1797, 400):
            model.learn(X[at : at + 200], y[at : at + 200])
            assert model.hash_function().bits == 32

    run(lambda: learn(200), lambda: learn(400))
    assert model.seen == 1797
    # The sums of the model do not depend on the order of rows.
    assert (model.hash_function().encode(X) == alone.hash_function().encode(X)).all()


def test_models_merged_into_each_other_do_not_wait_for_ever(digits):
    X, y = digits
    one = Model(dim=64, bits=16, anchors=30, warmup=100)
    one.learn(X[:100], y[:100])
    other = one.sibling()
    other.learn(X[100:200], y[100:200])
    for _ in range(20):
        a, b = one.copy(), other.copy()

        def merge(into, of):
            try:
                into.merge(of)
            except ValueError as error:
                assert "the very same" in str(error) or "cannot be merged" in str(error)

        run(lambda: merge(a, b), lambda: merge(b, a))


FORK = """
import os
import hashbrook

X, y = hashbrook.datasets.digits()
function = hashbrook.Model("lsh", dim=64).hash_function()
{before}
if os.fork() == 0:
    try:
        index = hashbrook.Index(function)
        index.add(range(len(X)), X)
        print(index.search(X[:1], 1).ids, flush=True)
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""


def test_copies_of_a_process_say_so_and_do_not_wait_for_ever():
    def told(before):
        run = subprocess.run([sys.executable, "-c", FORK.format(before=before)], capture_output=True, text=True,
                             timeout=120)
        return run.stdout

    assert "is a copy (fork) of one that has used hashbrook" in told("function.encode(X)")


def _encode(rows):
    return Model("lsh", dim=64).hash_function().encode(rows)


def test_processes_started_anew_compute(digits):
    X, _ = digits
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert (pool.apply(_encode, (X,)) == _encode(X)).all()
