"""Search among 1,000 classes: codes of several lengths compared with vectors, sign bits and a linear classifier.

    bench/many-classes [--rows 100000] [--bits 64,128,256,512,1024] [--target target/release]

The data is generated (`examples/thousand_classes.rs`): 768 dimensions, a long tail, 10 % of the labels wrong and 5 % missing. Every
way searches all rows with the same 2,000 queries. Precision@10 is the share of the first ten that have the query's label."""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import faiss
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
UNLABELLED = -1


def run(program, *command):
    """Runs the command. Returns its JSON output and its duration in seconds."""
    started = time.perf_counter()
    done = subprocess.run([program, *map(str, command)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1]), time.perf_counter() - started


def labels_of(path):
    return np.array([int(line) if line else UNLABELLED for line in path.read_text().split("\n")[:-1]])


def precision(found, labels, query_labels):
    return float((labels[found] == query_labels[:, None]).mean())


def unit(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def by_cosine(items, queries, k):
    index = faiss.IndexFlatIP(items.shape[1])
    index.add(items)
    return index.search(queries, k)[1]


def by_signs(items, queries, oversampling):
    """Searches the signs of centred vectors by Hamming distance, and re-ranks the first `10 * oversampling` hits by cosine."""
    mean = items.mean(axis=0)
    packed = [np.packbits(rows > mean, axis=1) for rows in (items, queries)]
    index = faiss.IndexBinaryFlat(items.shape[1])
    index.add(packed[0])
    candidates = index.search(packed[1], 10 * oversampling)[1]
    if oversampling == 1:
        return candidates
    scores = np.einsum("qcd,qd->qc", unit(items)[candidates], unit(queries))
    best = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    return np.take_along_axis(candidates, best, axis=1)


def by_classifier(items, labels, queries):
    """Predicts labels by ridge regression. The hits of a query are the first ten items with its predicted label."""
    labelled = labels != UNLABELLED
    classes, numbers = np.unique(labels[labelled], return_inverse=True)
    mean = items[labelled].mean(axis=0)
    rows = items[labelled] - mean
    sums = np.zeros((items.shape[1], len(classes)))
    np.add.at(sums.T, numbers, rows)
    gram = rows.T.astype(np.float64) @ rows
    counts = np.bincount(numbers)
    # Gives rare classes more weight: otherwise the classifier would never predict a label of the tail.
    weights = np.linalg.solve(gram + np.eye(len(gram)) * gram.trace() / len(gram) * 1e-3, sums / np.sqrt(counts))
    predicted = classes[np.argmax((queries - mean) @ weights, axis=1)]
    first = {label: np.flatnonzero(labels == label) for label in classes}
    return np.array([np.resize(first[label], 10) for label in predicted])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--bits", default="64,128,256,512,1024")
    parser.add_argument("--target", type=Path, default=ROOT / "target/release", help="where cargo has built the command")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        directory = Path(directory)
        subprocess.run([options.target / "examples/thousand_classes", directory, str(options.rows)], check=True)
        program = options.target / "hashbrook"
        data = ["--data", directory / "features.npy", "--labels", directory / "labels.csv"]
        items, queries = (np.load(directory / f"{name}.npy") for name in ("features", "queries"))
        labels, query_labels = labels_of(directory / "labels.csv"), labels_of(directory / "query-labels.csv")
        print(f"{options.rows:,} rows, {len(queries):,} queries, {len(set(labels)) - 1:,} labels\n")
        print(f"{'way':44} {'P@10':>6} {'bytes':>6} {'learned in':>10}")

        def line(way, value, size, seconds=None):
            took = "" if seconds is None else f"{seconds:8.1f} s"
            print(f"{way:44} {value:6.3f} {size:6,} {took:>10}", flush=True)

        line("cosine of the vectors (IndexFlatIP)", precision(by_cosine(unit(items), unit(queries), 10), labels, query_labels), 3072)
        for oversampling in (1, 4, 100):
            found = by_signs(items, queries, oversampling)
            name = "signs of the vectors" + (f", {10 * oversampling} re-scored by cosine" if oversampling > 1 else "")
            line(name, precision(found, labels, query_labels), 96 + (3072 if oversampling > 1 else 0))
        started = time.perf_counter()
        found = by_classifier(items, labels, queries)
        line("items of the class a ridge classifier predicts", precision(found, labels, query_labels), 4, time.perf_counter() - started)
        searched = ["--queries", directory / "queries.npy", "--query-labels", directory / "query-labels.csv", "--json"]
        for name, settings in (("itq", ["--method", "itq"]), ("brook, anchors=3000", ["--set", "anchors=3000"]), ("brook", [])):
            for bits in options.bits.split(","):
                model = directory / "codes.model"
                _, seconds = run(program, "learn", "--bits", bits, *settings, *data, "--out", model, "--json")
                measured, _ = run(program, "eval", "--model", model, *data, *searched)
                line(f"{name}, {bits} bits", measured["precision@10"], int(bits) // 8, seconds)
                model.unlink()


if __name__ == "__main__":
    sys.exit(main())
