"""Client of a running service: results equal those of a store in this process."""

import errno
import signal
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

from hashbrook import NO_ID, Client, Index, Model, Store, _bodies, _client


class Service:
    """`hashbrook serve` with a store in a directory."""

    def __init__(self, binary, directory, *options):
        self.arguments = [binary, "serve", "--dir", directory / "served", "--bits", "32", "--warmup", "200",
                          "--renewal", "never", "--held-out", "0", "--snapshots", directory / "copies", *options]
        self.start("127.0.0.1:0")

    def start(self, listen):
        self.process = subprocess.Popen([*map(str, self.arguments), "--listen", listen],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if line.startswith("listening on "):
                self.url = line.split()[-1]
                return
        raise AssertionError(f"it does not serve: {self.process.wait()}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)


@pytest.fixture
def service(binary, tmp_path):
    service = Service(binary, tmp_path)
    yield service
    service.stop()


@pytest.fixture
def client(service):
    with Client(service.url) as client:
        yield client


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "here", dim=64, bits=32, warmup=200, renewal="never", held_out=0) as store:
        yield store


def same(there, here):
    assert there.ids.dtype == here.ids.dtype and there.distances.dtype == here.distances.dtype
    assert there.ids.shape == here.ids.shape and (there.ids == here.ids).all()
    assert (there.distances == here.distances).all() and there.labels == here.labels
    assert type(there) is type(here)
    if getattr(here, "scores", None) is not None:
        assert np.array_equal(there.scores, here.scores, equal_nan=True)


def test_it_answers_as_a_store_does(client, store, digits, tmp_path):
    X, y = digits
    for one in (client, store):
        done = one.put(range(1500), X[:1500], y[:1500])
        assert done[:3] == (1500, 0, False)
        one.wait_learned(done.position)
        one.renew()
    queries, packed = X[1500:], store.hash_function().encode(X[1500:])
    assert client.hash_function() == store.hash_function() and len(client) == len(store) == 1500
    assert client.model().hash_function() == store.model().hash_function()
    for arguments in [
        {"k": 10},
        {"k": np.int64(5), "label_weight": 4, "detail_weight": np.int32(1)},
        {"k": 5, "float_query": True},
        {"k": 5, "labels": [7, "8"]},
        {"k": 5, "without_labels": 7},
        {"k": 200, "labels": 3},
        {"k": 5, "rerank": 100},
        {"k": 3, "labels": "never seen"},
    ]:
        same(client.search(queries, **arguments), store.search(queries, **arguments))
    found = client.search(queries, 10)
    assert found.version == client.version
    same(client.search(codes=packed, k=4), store.search(codes=packed, k=4))
    same(client.search(items=[3, 9], k=4), store.search(items=[3, 9], k=4))
    same(client.search(queries[:0], 4), store.search(queries[:0], 4))
    for arguments in [{}, {"rerank": 50}, {"labels": [1]}]:
        there, here = client.within(queries, 3, **arguments), store.within(queries, 3, **arguments)
        same(there, here)
        assert (there.offsets == here.offsets).all()
    there, here = client.get(7), store.get(7)
    assert there[0] == here[0] and (there.vector == here.vector).all() and there.labels == here.labels
    assert (there.code == here.code).all() and there.payload is here.payload is None
    for one in (client, store):
        assert one.get(5000) is None
        assert one.label([3, 4], ["new", ["a", "b"]])[:2] == (2, 2)
        assert one.get(4).labels == ["a", "b"]
        assert one.remove([9, 5000])[:2] == (1, True)
        assert one.put([5, 1500], X[:2], [None, 1])[:2] == (2, 1)
        with pytest.raises(KeyError, match="there is no item 5000"):
            one.label([5000], [1])
        with pytest.raises(KeyError, match="there is no item 5000"):
            one.search(items=[5000])
        one.wait_learned(0)
    assert client.put([7], X[:1], [3], wait="learned").replaced == 1
    assert client.put([7], X[:1], [3], wait=True).replaced == 1
    client.wait()
    client.wait(0, timeout=1)
    with pytest.raises(ValueError, match='wait is True, False, "learned" or "searchable"'):
        client.put([7], X[:1], [3], wait="found")
    for _ in range(2):
        store.wait(store.put([7], X[:1], [3]).position)
    assert client.model().hash_function() == store.model().hash_function()
    assert set(store.stats()) <= set(client.stats()) and repr(client).startswith("<Client of 'http://127.0.0.1:")
    client.snapshot("first")
    with Store.open(tmp_path / "copies" / "first") as copy:
        assert len(copy) == len(client)
    with pytest.raises(ValueError, match="there is a snapshot"):
        client.snapshot("first")


@pytest.mark.parametrize("kind", ["npy", "arrow", "json"])
def test_items_go_in_bodies_of_each_kind(kind, client, digits, monkeypatch):
    X, y = digits
    if kind == "arrow":
        pytest.importorskip("pyarrow")
    else:
        monkeypatch.setattr(_bodies, "_arrow_pays", lambda _: False)
    # The items are sent in many requests, the last of which is short.
    monkeypatch.setattr(_bodies, "ROWS", 90)
    labels = None if kind == "npy" else [[str(a), "a, b"] if a % 2 else [] for a in y[:1000]]
    payloads = None if kind == "npy" else [None if a % 3 else {"é": [int(a), 0.1]} for a in range(1000)]
    sent = []
    request = client._connections.request
    monkeypatch.setattr(client._connections, "request",
                        lambda *given, **more: sent.append(given) or request(*given, **more))
    done = client.put(range(5, 1005), X[:1000] / 7, labels, payloads)
    assert done.items == 1000 and len(client) == 1000
    kinds = {given[3] for given in sent if given[0] == "POST"}
    assert kinds == {{"npy": _bodies.NPY, "arrow": _bodies.ARROW, "json": _bodies.JSON}[kind]}
    assert sum(given[0] == "POST" for given in sent) == 12
    for id in (5, 6, 95, 500, 1004):
        item = client.get(id)
        assert (item.vector == X[id - 5] / np.float32(7)).all()
        assert sorted(item.labels) == ([] if labels is None else labels[id - 5])
        assert item.payload == (None if payloads is None else payloads[id - 5])
    with pytest.raises(ValueError, match="more than once"):
        client.put([1] * 200, X[:200])
    assert len(client) == 1000


def test_ids_that_are_texts(client, digits, monkeypatch):
    X, y = digits
    names = ["a/b ?#%é", *(f"digit {row}" for row in range(1, 300))]
    client.put(names[:150], X[:150], y[:150])
    monkeypatch.setattr(_bodies, "_arrow_pays", lambda _: False)
    client.put(names[150:], X[150:300], y[150:300])
    found = client.search(X[:3], 400)
    assert found.ids.dtype == object and found.ids[0, 0] == names[0] and found.ids[0, -1] is None
    assert (found.found == 300).all()
    assert client.get(names[0]).id == names[0] and client.get("none") is None
    assert client.search(X[:2], 3, labels="none").ids.tolist() == [[None] * 3] * 2
    assert names[0] in client.within(items=[names[0]], radius=0)[0].ids
    assert client.remove(names[:2]).removed == 2
    with pytest.raises(ValueError, match="ids of this store are texts"):
        client.put([1], X[:1])


def test_before_the_first_items(client, store, digits):
    X, _ = digits
    assert len(client) == 0 and client.version == 0 and client.stats()["description"] is None
    assert client.get(1) is None
    # Results equal those of an empty store and of an empty index.
    same(client.search(X[:2], 3), store.search(X[:2], 3))
    found, empty = client.search(X[:2], 3), Index(store.hash_function()).search(X[:2], 3)
    assert (found.ids == empty.ids).all() and (found.ids == NO_ID).all() and found.found.tolist() == [0, 0]
    assert (found.distances == empty.distances).all() and found.labels == [[], []]
    assert len(client.within(X[:2], 30)[1].ids) == 0
    assert (client.search(X[:2], 3, labels="no such").found == 0).all()
    assert client.remove([1]).removed == 0
    with pytest.raises(ValueError, match="no items"):
        client.put([], X[:0])
    with pytest.raises(ValueError):
        client.model()


def test_many_queries_are_answered_by_one_version(client, digits, monkeypatch):
    X, y = digits
    client.put(range(1000), X[:1000], y[:1000], wait=True)
    client.renew()
    whole = client.search(X, 5)
    monkeypatch.setattr(_client, "RESULTS", 500)
    same(client.search(X, 5), whole)
    # Items are re-encoded between two requests, so the client repeats the whole search.
    ask, asked = client._ask, []

    def renewing(method, path, *rest, **more):
        if path == "/search":
            asked.append(path)
            if len(asked) == 3:
                client.put(range(1000, 1500), X[1000:1500], y[1000:1500], wait=True)
                ask("POST", "/renew", {})
        return ask(method, path, *rest, **more)

    monkeypatch.setattr(client, "_ask", renewing)
    found = client.search(X, 5)
    assert len(asked) == 2 * 18 and found.version == client.version > whole.version
    monkeypatch.undo()
    same(client.search(X, 5), found)


def test_what_the_service_refuses(client, digits):
    X, y = digits
    client.put(range(300), X[:300], y[:300])
    for wrong, problem in [
        (lambda: client.put([1], X[:1, :5]), "64"),
        (lambda: client.put([1], np.full((1, 64), np.inf)), "row 0, column 0 is"),
        (lambda: client.put([1, 2], X[:1]), "2 ids for 1 vectors"),
        (lambda: client.put([1], X[:1], [1, 2]), "2 labels for 1 vectors"),
        (lambda: client.put([1], X[:1], payloads=[1, 2]), "2 payloads for 1 vectors"),
        (lambda: client.put([1], X[:1], payloads=[b"\xff"]), "no JSON"),
        (lambda: client.label([1], [1, 2]), "2 labels for 1 ids"),
        (lambda: client.search(X[:1], 20_000), "--max-k"),
        (lambda: client.search(X[:1, :3]), "64"),
        (lambda: client.search(np.full((1, 64), np.nan)), "not finite"),
        (lambda: client.search(), "one of them"),
        (lambda: client.search(X[:1], label_weight=50_000), "50000"),
        (lambda: client.get("seven"), "whole numbers"),
        (lambda: client.snapshot("../up"), "the name of a snapshot"),
        (lambda: Client("localhost:7878"), "expected the address"),
        (lambda: Client("ftp://localhost"), "expected the address"),
        (lambda: Client("http://localhost/?a=b"), "has no user"),
        (lambda: Client(client._url + "/elsewhere").stats(), "nothing at this path"),
    ]:
        with pytest.raises(ValueError, match=problem):
            wrong()
    with pytest.raises(TypeError, match="needs a radius"):
        client.within(X[:1])
    assert len(client) == 300


def test_tokens(binary, tmp_path, digits):
    X, _ = digits
    (tmp_path / "tokens").write_text("read reader\nwrite writer\n")
    service = Service(binary, tmp_path, "--tokens", tmp_path / "tokens")
    try:
        writer, reader = Client(service.url, "writer"), Client(service.url, token="reader")
        writer.put([1], X[:1])
        assert reader.get(1).id == 1 and len(reader) == 1
        with pytest.raises(PermissionError, match="may read, and not write"):
            reader.put([1], X[:1])
        for nobody in (Client(service.url), Client(service.url, "other")):
            with pytest.raises(PermissionError, match="token"):
                nobody.get(1)
        assert "writer" not in repr(writer)
    finally:
        service.stop()


def test_a_service_that_stops_and_comes_back(service, digits):
    X, _ = digits
    client = Client(service.url, timeout=20)
    client.put([1], X[:1])
    address = service.url.removeprefix("http://")
    service.stop()
    with pytest.raises(ConnectionRefusedError) as refused:
        client.get(1)
    assert str(refused.value) == (
        f"cannot connect to {service.url}: connection refused; is `hashbrook serve` running there?"
    )
    assert refused.value.errno == errno.ECONNREFUSED
    with pytest.raises(OSError, match="cannot connect to http://no.such.host.invalid:1: "):
        Client("http://no.such.host.invalid:1").stats()
    service.start(address)
    # The idle connection is closed by now.
    assert client.get(1).id == 1
    service.stop()
    service.start(address)
    assert client.put([2], X[1:2]).items == 1 and len(client) == 2


def test_connections_are_kept(service, client, digits, monkeypatch):
    X, _ = digits
    made = []
    new = client._connections._new
    monkeypatch.setattr(client._connections, "_new", lambda: made.append(1) or new())
    client.put(range(100), X[:100])
    for _ in range(20):
        client.search(X[:1], 3)
    # An error response does not close the connection.
    with pytest.raises(ValueError):
        client.search(X[:1, :3])
    client.stats()
    assert len(made) == 1
    problems = []

    def search():
        for _ in range(20):
            if client.search(X[:2], 1).ids[1, 0] != 1:
                problems.append(1)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and len(made) <= 4
    client.close()
    assert len(client) == 100


def answering(*answers):
    """Starts a server that sends the given answers. Returns its address, and the requests that it received."""
    listener = socket.create_server(("127.0.0.1", 0))
    got = []

    def serve():
        for answer in answers:
            connection, _ = listener.accept()
            with connection:
                got.append(connection.recv(65536))
                connection.sendall(answer)
        listener.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}", got


def answer(status, body, *headers):
    lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def test_what_the_service_is_to_blame_for():
    error = '{"error": {"status": 0, "message": "said so"}}'
    for status, kind in [(500, OSError), (503, OSError), (507, OSError), (408, TimeoutError), (413, ValueError),
                         (409, ValueError), (401, PermissionError), (403, PermissionError)]:
        url, _ = answering(answer(status, error))
        with pytest.raises(kind, match="said so"):
            Client(url).stats()
    url, _ = answering(answer(502, "<html>"))
    with pytest.raises(OSError, match="answered 502"):
        Client(url).stats()
    url, _ = answering(b"nonsense\r\n\r\n")
    with pytest.raises(ConnectionError, match=f"{url} did not answer in HTTP"):
        Client(url).stats()
    url, _ = answering(b"")
    with pytest.raises(ConnectionError):
        Client(url).stats()
    url, _ = answering(b"HTTP/1.1 200 x\r\nContent-Length: 50\r\n\r\n{}")
    with pytest.raises(ConnectionError, match="IncompleteRead"):
        Client(url).stats()


def test_too_much_at_once_is_asked_again():
    busy = answer(429, '{"error": {"status": 429, "message": "busy"}}', "Retry-After: 0")
    url, got = answering(busy, busy, answer(200, '{"items": 3}'))
    assert len(Client(url, "secret")) == 3
    assert len(got) == 3 and all(b"Authorization: Bearer secret" in one for one in got)
    url, _ = answering(answer(429, '{"error": {"status": 429, "message": "busy"}}', "Retry-After: 60"))
    with pytest.raises(BlockingIOError, match="busy"):
        Client(url, timeout=1).stats()


def test_no_answer_in_time():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = Client(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=0.2)
        with pytest.raises(TimeoutError):
            client.stats()


def test_it_needs_numpy_alone():
    script = "import sys, hashbrook; sys.exit('pyarrow' in sys.modules or 'http.server' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_a_model_of_a_service_learns_on_here(client, digits):
    X, y = digits
    client.put(range(1000), X[:1000], y[:1000], wait=True)
    there = client.model()
    there.learn(X[1000:], y[1000:])
    here = Model("brook", dim=64, bits=32, warmup=200)
    here.learn(X, y)
    assert there.hash_function() == here.hash_function()
