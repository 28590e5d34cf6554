"""A stream in which new classes appear: handwritten digits, first 0 to 4, later 5 to 9 as well.

A model learns on from batch to batch, and an index re-encodes all its items with the new function. A second index keeps
the function that it began with. After each batch both are searched with digits that neither has seen: how many of the
ten nearest show the same digit? A table and a picture show the answer, class by class. Needs matplotlib:

    pip install matplotlib
    python python/examples/new_classes.py --out new-classes.svg
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np

import hashbrook

OLD, NEW, NEAREST = range(0, 5), range(5, 10), 10

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--bits", type=int, default=64, help="of a code (64)")
parser.add_argument("--first", type=int, default=450, help="rows of 0 to 4 before the others come (450)")
parser.add_argument("--batch", type=int, default=150, help="rows that come at a time after them (150)")
parser.add_argument("--out", default="new-classes.svg", help="the picture: .svg, .png or .pdf (new-classes.svg)")
asked = parser.parse_args()

# 300 digits are queries. The stream begins with some digits 0 to 4, followed by all other digits, mixed.
X, y = hashbrook.datasets.digits()
rng = np.random.default_rng(1)
mixed = rng.permutation(len(X))
queries, stream = mixed[:300], mixed[300:]
old = stream[y[stream] <= 4]
if not 100 <= asked.first <= len(old) or asked.batch < 1:
    parser.error(f"--first takes 100 to {len(old)} rows, and --batch at least one")
begin = old[: asked.first]
stream = np.concatenate([begin, stream[~np.isin(stream, begin)]])


def right(index):
    """Returns for each class the share of the ten nearest to a query that show the same digit."""
    found = index.search(X[queries], NEAREST)
    same = (y[found.ids] == y[queries][:, None]).mean(axis=1)
    return [same[y[queries] == digit].mean() for digit in range(10)]


# The first rows are the warm-up: their mean is subtracted from all vectors. From then on the model only learns.
model = hashbrook.Model("brook", dim=64, bits=asked.bits, warmup=len(begin))
model.learn(X[begin], y[begin])
renewed = hashbrook.Index(model.hash_function(), vectors="f16")
kept = hashbrook.Index(model.hash_function())
for index in (renewed, kept):
    index.add(begin, X[begin], y[begin])
rows, shares = [len(begin)], [(right(renewed), right(kept))]

for start in range(len(begin), len(stream), asked.batch):
    batch = stream[start : start + asked.batch]
    model.learn(X[batch], y[batch])
    renewed.renew(model.hash_function())  # re-encodes all items from the vectors stored in the index
    for index in (renewed, kept):
        index.add(batch, X[batch], y[batch])
    rows.append(start + len(batch))
    shares.append((right(renewed), right(kept)))

shares = np.array(shares)  # batches x (renewed, kept) x classes
print(f"the {NEAREST} nearest that show the same digit, of {len(queries)} queries by codes of {asked.bits} bits")
print("        learned on, renewed     codes as they began")
print("  rows      0-4      5-9           0-4      5-9")
for seen, (with_it, without) in zip(rows, shares):
    one, two, three, four = (each[group].mean() for each in (with_it, without) for group in (OLD, NEW))
    print(f"{seen:6d}{one:9.1%}{two:9.1%}{three:14.1%}{four:9.1%}")

plt.rcParams.update({"text.color": "gray", "axes.labelcolor": "gray", "xtick.color": "gray", "ytick.color": "gray",
                     "axes.edgecolor": "gray", "svg.hashsalt": "hashbrook"})
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for axis, part, title in zip(axes, (0, 1), ("learned on, codes renewed", "codes as they began")):
    for group, colour, name in ((OLD, "#3b8ed0", "0 to 4"), (NEW, "#e8833a", "5 to 9")):
        axis.plot(rows, 100 * shares[:, part, group], color=colour, alpha=0.45, linewidth=1)
        axis.plot(rows, 100 * shares[:, part, group].mean(axis=1), color=colour, linewidth=3, label=name)
    for digit in NEW if part == 1 else ():
        axis.annotate(str(digit), (rows[-1], 100 * shares[-1, part, digit]), (4, -3), textcoords="offset points")
    axis.set(title=title, xlabel="rows learned" if part == 0 else "rows in the index", ylim=(-3, 103))
    axis.grid(alpha=0.3)
axes[0].set_ylabel("% of the ten nearest that are right")
axes[1].legend(loc="lower right", labelcolor="gray", framealpha=0)
figure.savefig(asked.out, transparent=True, metadata={"Date": None} if asked.out.endswith(".svg") else None)
