"""Texts with labels, searched by codes of 64 bits: which function does what I want, and in which module?

The texts are the descriptions of about 2,200 functions and classes of numpy, scipy and scikit-learn, which every
installation of scikit-learn includes. The label of a text is its module. Examples and dotted names are removed, because
they name the module. TF-IDF and a truncated SVD convert the texts to vectors of 128 numbers, and brook learns codes of
the vectors. A quarter of the texts is held out for evaluation: are texts of the same module found first?

    pip install scikit-learn matplotlib
    python python/examples/texts.py "grow a forest of decision trees" --picture texts.svg
"""

import argparse
import importlib
import inspect
import re

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import label_ranking_average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import hashbrook

MODULES = """numpy numpy.fft numpy.linalg numpy.ma numpy.polynomial numpy.random scipy.cluster scipy.fft scipy.integrate
    scipy.interpolate scipy.io scipy.linalg scipy.ndimage scipy.optimize scipy.signal scipy.sparse scipy.spatial
    scipy.special scipy.stats sklearn.cluster sklearn.covariance sklearn.datasets sklearn.decomposition sklearn.ensemble
    sklearn.feature_extraction sklearn.feature_selection sklearn.gaussian_process sklearn.linear_model sklearn.manifold
    sklearn.metrics sklearn.mixture sklearn.model_selection sklearn.naive_bayes sklearn.neighbors
    sklearn.neural_network sklearn.preprocessing sklearn.svm sklearn.tree"""


def read_texts():
    """Returns names, texts and labels of the public functions and classes of the modules, each text once."""
    found = {}
    for module in MODULES.split():
        held = vars(importlib.import_module(module))
        for name in sorted(held.get("__all__", held)):
            text = inspect.getdoc(held[name]) if callable(held.get(name)) and name[0] != "_" else None
            text = re.sub(r"\w+(\.\w+)+", " ", re.split(r"\n(?:Examples|See Also|References)\n", text or "")[0])
            if len(text) >= 200:
                found.setdefault(text, (f"{module}.{name}", module))
    names, labels = zip(*found.values())
    return np.array(names), list(found), np.array(labels)


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("query", nargs="?", default="grow a forest of decision trees")
parser.add_argument("-k", type=int, default=5, help="how many to find (5)")
parser.add_argument("--bits", type=int, default=64, help="of a code (64)")
parser.add_argument("--picture", metavar="FILE", help="draw mAP over the length of codes: .svg, .png or .pdf")
asked = parser.parse_args()

names, texts, labels = read_texts()
held, kept = np.split(np.random.default_rng(1).permutation(len(texts)), [len(texts) // 4])
words = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=2, token_pattern="[A-Za-z]{3,}")
to_vectors = make_pipeline(words, TruncatedSVD(128, random_state=1), Normalizer())
X = to_vectors.fit_transform([texts[row] for row in kept]).astype(np.float32)
Q = to_vectors.transform([texts[row] for row in held]).astype(np.float32)
query = to_vectors.transform([asked.query]).astype(np.float32)
if not query.any():
    parser.error(f"no text has a word of {asked.query!r}")


def learned(bits):
    # Nothing is subtracted from the vectors (center=None): short queries lie far from the mean of long texts.
    model = hashbrook.Model("brook", dim=128, bits=bits, center=None)
    model.learn(X, labels[kept])
    measured = hashbrook.evaluate(model.hash_function(), Q, labels[held], X, labels[kept], metrics=["mAP"])
    return model.hash_function(), measured["mAP"]


# Codes find 300 candidates, which are re-ranked by the vectors stored in the index.
h, by_codes = learned(asked.bits)
index = hashbrook.Index(h, vectors="f16")
index.add(names[kept], X, labels[kept])
hits = index.search(query, asked.k, rerank=300)
print(f"{asked.query}:")
for name, cosine, label in zip(hits.ids[0], hits.scores[0], index.labels_of(hits.ids[0])):
    print(f"  {cosine:.2f}  {name}  [{label[0]}]")

same = labels[held][:, None] == labels[kept]
there = same.any(axis=1)  # queries with at least one text of the same module
by_cosine = label_ranking_average_precision_score(same[there], (Q @ X.T)[there])
print(f"{len(kept)} texts of {len(set(labels))} modules, {there.sum()} others to search with:")
print(f"  mAP {by_codes:.3f} by codes of {asked.bits} bits, {h.encode(X).nbytes:,} bytes")
print(f"  mAP {by_cosine:.3f} by cosines of 128 numbers, {X.nbytes:,} bytes")
if asked.picture:
    import matplotlib.pyplot as plt

    plt.rcParams.update({f"{of}color": "gray" for of in ("text.", "axes.label", "axes.edge", "xtick.", "ytick.")})
    figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
    axis.plot(range(6), [learned(8 << step)[1] for step in range(6)], "o-", label="codes, by brook")
    axis.plot([9], [by_cosine], "s", label="cosines of 128 numbers")
    axis.set(xlabel="bytes of a text", ylabel="mAP", ylim=(0, 1))
    axis.set_xticks(range(10), [1 << step for step in range(10)])
    axis.legend(loc="lower left", labelcolor="gray", framealpha=0)
    figure.savefig(asked.picture, transparent=True)
