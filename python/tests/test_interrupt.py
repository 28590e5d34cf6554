"""Ctrl-C in long calls: each runs in a separate process, which another thread signals during the call."""

import subprocess
import sys

import pytest

START = """
import os, signal, threading, time
import numpy as np
from hashbrook import Index, Model, _hashbrook

rng = np.random.default_rng(1)
X, y = rng.normal(size=(60_000, 32)).astype(np.float32), rng.integers(0, 5, 60_000)
model = Model(dim=32, warmup=1000, anchors=1000, precision="full")
model.learn(X[:2000], y[:2000])
function = model.hash_function()

def stopped(call):
    def stop():
        while not _hashbrook.under_way():
            pass
        time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=stop).start()
    try:
        call()
    except KeyboardInterrupt:
        return True
    return False

def stopped_in_its_midst(call):
    # Python raises what was signalled at the latest when a call is over: that it was over sooner tells.
    start = time.perf_counter()
    call()
    whole = time.perf_counter() - start
    start = time.perf_counter()
    assert stopped(call)
    assert time.perf_counter() - start < whole / 2
"""

CALLS = {
    "learn": """
before = model.to_bytes()
def call():
    while True:
        model.learn(X, y)
        assert False, "too fast to be stopped"
assert stopped(call)
assert model.to_bytes() == before, "as it was"
""",
    "learn_in_batches": """
assert stopped(lambda: model.learn(X, y, batch=500))
rows = model.seen
assert 2000 <= rows < 62_000 and rows % 500 == 0
again = Model(dim=32, warmup=1000, anchors=1000, precision="full")
again.learn(X[:2000], y[:2000])
again.learn(X[:rows - 2000], y[:rows - 2000])
assert model.hash_function() == again.hash_function()
""",
    "encode": """
rows = np.tile(X, (6, 1))
stopped_in_its_midst(lambda: function.encode(rows))
""",
    "search": """
index = Index(function)
index.set_search_structure("none")
index.add(range(60_000), X)
rows = np.tile(X, (20, 1))
stopped_in_its_midst(lambda: index.search(rows[:100_000], 100))
assert stopped(lambda: index.within(rows, 20))
assert len(index.search(X[:2], 3).ids) == 2
""",
    "a_handler_that_asks_the_model": """
asked = []
def handler(*_):
    try:
        asked.append(model.seen)
    except RuntimeError as error:
        asked.append(str(error))
signal.signal(signal.SIGINT, handler)
assert not stopped(lambda: model.learn(X, y))
assert asked == ["the model is learning in this very thread, and cannot be asked before it is done"], asked
assert model.seen == 62_000
""",
}


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c(call):
    run = subprocess.run([sys.executable, "-c", START + CALLS[call]], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


FAILS_AFTER_CTRL_C = """
import os, signal, sys, threading, time
import numpy as np
from hashbrook import Store

rows = np.random.default_rng(1).normal(size=(50_000, 64)).astype(np.float32)
store = Store.create(sys.argv[1], dim=64, bits=32, method="lsh")
for start in range(0, 400_000, 50_000):
    store.put(range(start, start + 50_000), rows)
with open(os.path.join(sys.argv[1], "journal", "00000000.journal"), "r+b") as journal:
    journal.seek(-1000, os.SEEK_END)
    journal.write(bytes(100))
reported = threading.Event()
failures = []
def hook(failure):
    failures.append(failure.exc_value)
    reported.set()
sys.unraisablehook = hook
threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    store.verify()
    raise SystemExit("too fast to be stopped")
except KeyboardInterrupt:
    pass
assert reported.wait(60), "nobody was told that verification failed"
assert "journal" in str(failures[0]), failures
"""


def test_a_call_that_fails_after_ctrl_c_is_reported(tmp_path):
    run = subprocess.run([sys.executable, "-c", FAILS_AFTER_CTRL_C, tmp_path / "s"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
