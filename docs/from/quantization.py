"""Compares sign bits with learned codes, for docs/from/binary-quantization.md:

    python docs/from/quantization.py DIRECTORY        # DIRECTORY has features.npy and labels.npy

Searches all other rows with 20 queries of each class. `label` is the share of the ten hits that have the label of the query.
`nearest` is the share of the ten nearest rows by cosine that are among the hits."""

import pathlib
import sys
import warnings

import numpy as np

import hashbrook

warnings.simplefilter("ignore")
directory = pathlib.Path(sys.argv[1])
X, y = np.load(directory / "features.npy").astype(np.float32), np.load(directory / "labels.npy")
order = np.random.default_rng(1).permutation(len(X))
of_class = np.argsort(y[order], kind="stable")
first = np.searchsorted(y[order][of_class], np.unique(y))
asked = order[of_class[(first[:, None] + np.arange(20)).ravel()]]
known = np.setdiff1d(order, asked, assume_unique=True)
Q, D, labels = X[asked], X[known], y[known]
center = D.mean(axis=0)


def unit(rows):
    return (rows - center) / np.linalg.norm(rows - center, axis=1, keepdims=True)


def largest(cosines):
    """Returns the indexes of the ten largest cosines of each query, largest first."""
    first = np.argpartition(-cosines, 10, axis=1)[:, :10]
    order = np.argsort(-np.take_along_axis(cosines, first, 1), axis=1, kind="stable")
    return np.take_along_axis(first, order, 1)


directions, parts = unit(D), [slice(at, at + 200) for at in range(0, len(Q), 200)]
nearest = np.concatenate([largest(unit(Q[part]) @ directions.T) for part in parts])


def report(name, bytes_, ids):
    ids = ids.astype(np.int64)
    label = (labels[ids] == y[asked][:, None]).mean()
    found = np.mean([len(np.intersect1d(one, other)) / 10 for one, other in zip(ids, nearest)])
    print(f"{name:<28} {bytes_:>5} {label:>8.3f} {found:>8.3f}", flush=True)


print(f"{len(Q):,} queries among {len(D):,} rows\n{'':<28} {'bytes':>5} {'label':>8} {'nearest':>8}")
report("cosine of float32", 4 * X.shape[1], nearest)


def signs(rows):
    return np.packbits(rows - center > 0, axis=1, bitorder="little")


index = hashbrook.Index.of_codes(X.shape[1])
index.add_codes(range(len(D)), signs(D))
report("sign bits", X.shape[1] // 8, index.search_codes(signs(Q), 10).ids)
candidates = index.search_codes(signs(Q), 100).ids.astype(np.int64)
first = [largest(np.einsum("qd,qrd->qr", unit(Q[part]), directions[candidates[part]])) for part in parts]
report("sign bits, 100 rescored", X.shape[1] // 8, np.take_along_axis(candidates, np.concatenate(first), 1))
for method, bits in (("itq", X.shape[1]), ("brook", 64), ("brook", 128), ("brook", 256)):
    model = hashbrook.Model(method, dim=X.shape[1], bits=bits)
    stream = np.random.default_rng(2).permutation(len(D))
    model.learn(D[stream], labels[stream])
    index = hashbrook.Index(model.hash_function(), vectors="f16")
    index.add(range(len(D)), D, labels)
    report(f"{method}, {bits} bits", bits // 8, index.search(Q, 10).ids)
    report(f"{method}, {bits} bits, rerank=100", bits // 8, index.search(Q, 10, rerank=100).ids)
