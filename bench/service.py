"""The service under load, beside LanceDB and pgvector. `bench/service` runs it; README.md tells what is measured."""

import argparse
import json
import pathlib
import shutil
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import real_codes
from real_codes import WORK, run
from service_load import Server, arrow
from service_peers import Lance, Postgres, throughput

HERE = pathlib.Path(__file__).parent
DIM, BITS, K = 128, 64, 10
# Number of items whose request bodies are prepared before they are sent.
AT_A_TIME = 200_000
# Items inserted per second while searches are measured. The rate is below the learning rate.
COME_IN = 5_000


def make_vectors(count, quick):
    """Returns a function that makes a range of items with their labels, and the queries. Vectors are MNIST pictures, shifted by up
    to two pixels and reduced to 128 dimensions by PCA, as users do with pictures. If the pictures do not suffice, they repeat
    with noise."""
    directory = real_codes.vectors("mnist", quick)
    pictures = np.load(directory / "items.npy", mmap_mode="r")
    labels, queries = np.load(directory / "labels.npy"), np.load(directory / "queries.npy")
    sample = pictures[:20_000].astype(np.float32)
    mean = sample.mean(axis=0)
    axes = np.linalg.eigh(np.cov(sample - mean, rowvar=False))[1][:, ::-1][:, :DIM].astype(np.float32)
    reduce = lambda rows: np.ascontiguousarray((rows.astype(np.float32) - mean) @ axes / 255)
    rng = np.random.default_rng(1)

    def part(first, rows):
        at = np.arange(first, first + rows) % len(pictures)
        made = reduce(pictures[at])
        if first + rows > len(pictures):
            made += rng.normal(0, 0.05, made.shape).astype(np.float32)
        return made, labels[at]

    return part, reduce(queries)


def lines(path, bodies):
    path.write_text("".join(json.dumps(body) + "\n" for body in bodies))
    return path


def is_learned(stats):
    return stats["learning"]["behind_bytes"] == 0


def is_at_rest(stats):
    return is_learned(stats) and stats["renewal"]["progress"] is None


def put_all(server, part, first, end, at_once):
    """Inserts items over two connections. Returns the seconds until the last item is durable."""
    durable = 0.0
    with ThreadPoolExecutor(2) as connections:
        for start in range(first, end, AT_A_TIME):
            firsts = range(start, min(start + AT_A_TIME, end), at_once)
            # The time excludes the client's work of making vectors and bodies, for hashbrook and for the other systems.
            bodies = [arrow(*part(first, min(at_once, end - first)), first) for first in firsts]
            begun = time.perf_counter()
            list(connections.map(server.put, bodies))
            durable += time.perf_counter() - begun
    return durable


def ingest(directory, part, count, at_once):
    """Inserts all items. Returns the times until the last item is durable, until it is learned, and until all codes are made."""
    shutil.rmtree(directory, ignore_errors=True)
    with Server(directory, "--bits", str(BITS)) as server:
        durable = put_all(server, part, 0, count, at_once)
        learned = durable + server.wait(is_learned)
        begun = time.perf_counter()
        server.call("POST", "/renew")
        server.wait(is_at_rest)
        renewed = time.perf_counter() - begun
        stats = server.stats()
    return {"durable_s": durable, "learned_s": learned, "renewal_s": renewed, "stats": stats}


def ingest_lance(directory, part, codes, count, at_once):
    peer, seconds = Lance(directory), 0.0
    for first in range(0, count, at_once):
        vectors, labels = part(first, min(at_once, count - first))
        rows = peer.rows(vectors, codes[first : first + len(vectors)], labels, first)
        begun = time.perf_counter()
        peer.put(rows)
        seconds += time.perf_counter() - begun
    return peer, {"durable_s": seconds}


def function_codes(server, part, queries, count):
    """Returns the codes in use, made with the hash function that the service exports, as a client would make them."""
    function = WORK / "service.function"
    function.write_bytes(server.call("GET", "/model"))
    made = np.empty((count, BITS // 8), np.uint8)
    for first in range(0, count, 100_000):
        rows = part(first, min(100_000, count - first))[0]
        made[first : first + len(rows)] = encode(function, rows)
    return made, encode(function, queries)


def encode(function, rows):
    np.save(WORK / "service-rows.npy", rows)
    made = WORK / "service-codes.npy"
    made.unlink(missing_ok=True)
    run("encode", "--data", WORK / "service-rows.npy", "--model", function, "--out", made)
    return np.load(made)


def check(server, codes, queries, found):
    """Fails if the distances of any system differ from those of an exact search."""
    for number, code in enumerate(queries[:50]):
        answer = json.loads(server.call("POST", "/search", json.dumps({"code": code.tobytes().hex(), "k": K})))
        ours = [hit["distance"] for hit in answer["results"]]
        truth = np.sort(np.bitwise_count(codes ^ code).sum(axis=1))[:K]
        for name, theirs in [("hashbrook", ours), *((name, by.get(number)) for name, by in found.items())]:
            if theirs is not None and list(theirs) != list(truth):
                raise RuntimeError(f"{name} finds {list(theirs)} for query {number}, not {list(truth)}")


def busy(server, bodies, part, count, seconds):
    """Runs rounds of searches at a fixed rate, on an idle service and while items are inserted and codes are re-encoded.
    Returns the rounds and the median of their ratios."""
    rounds = []
    for _ in range(3):
        rounds.append(busy_once(server, bodies, part, count, seconds))
        count += COME_IN * (seconds + 5)
        server.wait(is_at_rest)
        time.sleep(2)
    return {"rounds": rounds, "p99_ratio": statistics.median(one["p99_ratio"] for one in rounds)}


def busy_once(server, bodies, part, count, seconds):
    paced = dict(connections=8, pause=32)
    idle = server.load(bodies, seconds, **paced)
    before, stop = server.stats(), threading.Event()

    made = [arrow(*part(first, 1_000), first) for first in range(count, count + COME_IN * (seconds + 5), 1_000)]

    def put():
        begun = time.perf_counter()
        for number, body in enumerate(made):
            time.sleep(max(0, begun + number * 1_000 / COME_IN - time.perf_counter()))
            if stop.is_set():
                return
            server.put(body)

    def renew():
        while not stop.is_set():
            server.call("POST", "/renew")
            server.wait(lambda stats: stats["renewal"]["progress"] is None or stop.is_set())

    threads = [threading.Thread(target=work) for work in (put, renew)]
    [thread.start() for thread in threads]
    time.sleep(1)
    loaded = server.load(bodies, seconds, **paced)
    after = server.stats()
    stop.set()
    [thread.join() for thread in threads]
    return {"idle": idle, "busy": loaded, "p99_ratio": loaded["p99_ms"] / idle["p99_ms"],
            "items_put_a_second": (after["items"] - before["items"]) / (seconds + 1),
            "learned_a_second": (after["learning"]["rows"] - before["learning"]["rows"]) / (seconds + 1),
            "renewals": after["renewal"]["done"] - before["renewal"]["done"]}


def at_rest(directory, bodies, *options):
    """Measures a fresh process on an existing collection."""
    with Server(directory, *options) as server:
        opened = {"seconds": server.opened_seconds, "memory": server.memory(), "disk": server.disk()}
        server.load(bodies, 2, connections=2)
        time.sleep(1)
        opened["memory_after_searches"] = server.memory()
    return opened


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=20, help="of each load")
    parser.add_argument("--quick", action="store_true", help="few items: to see that all of it works")
    parser.add_argument("--open", action="store_true", help="only put the items in, and open the collection again")
    asked = parser.parse_args()
    count = 20_000 if asked.quick else asked.items
    seconds = 3 if asked.quick else asked.seconds
    part, queries = make_vectors(count, asked.quick)
    directory, results = WORK / "service", {"items": count, "dim": DIM, "bits": BITS}

    def tell(name, value):
        results[name] = value
        print(f"{name}: {json.dumps(value)}", flush=True)
        where = WORK if asked.quick else HERE / "results"
        (where / ("service-open.json" if asked.open else "service.json")).write_text(json.dumps(results, indent=1) + "\n")

    by_vector = lines(WORK / "by-vector.txt", ({"vector": [round(float(value), 5) for value in query], "k": K} for query in queries))
    if asked.open:
        # The function learned from the first items makes the codes of all items, because learning takes longer than everything else.
        tell("learned from", ingest(directory, part, 100_000, 10_000))
        with Server(directory, "--no-learn") as server:
            tell("others put in, s", put_all(server, part, 100_000, count, 10_000))
        tell("open", at_rest(directory, by_vector, "--no-learn"))
        return
    tell("ingest, 10,000 at a time", ingest(directory, part, count, 10_000))
    with Server(directory) as server:
        codes, query_codes = function_codes(server, part, queries, count)
    by_code = lines(WORK / "by-code.txt", ({"code": code.tobytes().hex(), "k": K} for code in query_codes))
    lance, took = ingest_lance(WORK / "service-lance", part, codes, count, 10_000)
    tell("LanceDB ingest, 10,000 at a time", took)
    tell("open", at_rest(directory, by_code))
    found = {}
    lance.tidy()
    rate, found["LanceDB"] = throughput(lance, query_codes, K, seconds)
    tell("LanceDB search", {"a_second": rate})
    postgres = Postgres(WORK / "service-postgres")
    try:
        postgres.fill(codes)
        rate, found["pgvector"] = throughput(postgres, query_codes, K, seconds)
        tell("pgvector search", {"a_second": rate})
    finally:
        postgres.close()
    with Server(directory, "--renewal", "never") as server:
        check(server, codes, query_codes, found)
        tell("search by code", server.load(by_code, seconds))
        tell("search by vector", server.load(by_vector, seconds))
        tell("while busy", busy(server, by_vector, part, count, seconds))


if __name__ == "__main__":
    main()
