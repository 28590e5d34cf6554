"""The experiments that brook's targets for several labels come from. Needs numpy (pip install it).

    python docs/brook/several_labels.py DATA [SET ...]

DATA is the directory with `mnist` and `tinyimagenet-cnn`. SET is one or more of

    pairs        MNIST, pictures averaged two at a time, with the labels of both
    mixed3 10 25 MNIST, of which so many per cent are pairs and the others single pictures
    fours        MNIST, pictures averaged four at a time
    nested       MNIST, each digit with one of three superclasses
    super        Tiny-ImageNet, each class with one of 20 superclasses, dealt out at random
    tiny20 ..    pairs of so many classes of Tiny-ImageNet (20, 30, 45, 100)
    tiny100-10   the same, of which so many per cent are pairs (10, 25, 50)

For each it prints mAP (at least one label shared), nDCG@100 (gain: labels shared) and precision within
radius 2 at 64 bits, one seed, 1,500 anchors, 10,000 rows learned, 300 queries against 15,000 rows.
"""

import gzip
import sys

import numpy as np

BITS = 64
SETS = ("pairs mixed3 mixed10 mixed25 fours nested super tiny20 tiny30 tiny45 tiny100 "
        "tiny100-10 tiny100-25 tiny100-50").split()


def load(directory, name):
    if name == "tiny":
        return [np.load(f"{directory}/tinyimagenet-cnn/{f}.npy") for f in ["features", "labels"]]
    def idx(part, kind, header):
        path = f"{directory}/mnist/{part}-{kind}-ubyte.gz"
        return np.frombuffer(gzip.open(path).read(), np.uint8)[header:]
    parts = ["train", "t10k"]
    return [np.concatenate([idx(p, "images-idx3", 16).reshape(-1, 784) for p in parts]),
            np.concatenate([idx(p, "labels-idx1", 8) for p in parts])]


class Set:
    """A data set, and f, the regression of each label's presence on the lifted vectors."""

    def __init__(self, directory, name, anchors=1500, rows=10_000, queries=300, database=15_000):
        rng = np.random.default_rng(1)
        x, y = load(directory, "tiny" if name[0] in "ts" else "mnist")
        x, y = x.astype(np.float32), y.astype(int)
        if name.startswith("tiny"):
            classes = rng.permutation(202)[:int(name[4:].split("-")[0])]
            number = np.full(202, -1)
            number[classes] = np.arange(len(classes))
            x, y = x[number[y] >= 0], number[y[number[y] >= 0]]
        share = {"m": lambda: int(name[5:]), "t": lambda: int((name + "-100").split("-")[1])}
        share = share.get(name[0], lambda: 100)() / 100
        has = np.eye(y.max() + 1, dtype=np.float32)[y]
        many = {"fours": 4, "nested": 1, "super": 1}.get(name, 2)
        if many == 1:
            count = {"nested": 3, "super": 20}[name]
            group = rng.permutation(np.arange(y.max() + 1) % count)
            has = np.hstack([has, np.eye(count, dtype=np.float32)[group[y]]])
        order = rng.permutation(len(x))
        def draw(pictures, n):
            chosen = rng.choice(pictures, (n, many))
            single = rng.random(n) >= share
            chosen[single] = chosen[single, :1]
            return x[chosen].mean(1), has[chosen].max(1)
        (xq, self.asked), (xd, self.stored) = draw(order[:3000], queries), draw(order[3000:], database)
        mean = xd.mean(0)
        unit = lambda v: (v - mean) / np.maximum(np.linalg.norm(v - mean, axis=1)[:, None], 1e-12)
        xq, xd = unit(xq), unit(xd)
        a = xd[:anchors]
        gamma = anchors * (anchors - 1) / (2 - 2 * a @ a.T).sum()
        lift = lambda v: np.exp(-gamma * np.maximum(2 - 2 * v @ a.T, 0))
        z, y = lift(xd[:rows]), self.stored[:rows]
        center, self.p = z.mean(0), y.mean(0).astype(float)
        z = (z - center).astype(float)
        s, gram = z.T @ (y - self.p), z.T @ z
        w = np.linalg.solve(gram + 5e-4 * np.trace(gram) / rows * np.eye(anchors), s)
        self.m = s.T @ w / rows
        self.fq, self.fd = (self.p + (lift(v) - center) @ w for v in (xq, xd))
        self.shared = (self.asked @ self.stored.T).astype(int)
        self.means = self.m / self.p[:, None]

    def measure(self, distances):
        ap, ndcg, near = [], [], []
        discount = 1 / np.log2(np.arange(100) + 2)
        for distance, gain in zip(distances, self.shared):
            ball = distance <= 2
            near.append((gain[ball] > 0).mean() if ball.any() else 0)
            if gain.any():
                ranked = gain[np.argsort(distance, kind="stable")]
                places = np.nonzero(ranked)[0] + 1
                ap.append((np.arange(len(places)) + 1) @ (1 / places) / len(places))
                ndcg.append(ranked[:100] @ discount / (np.sort(gain)[::-1][:100] @ discount))
        return "%.3f %.3f %.3f" % (np.mean(ap), np.mean(ndcg), np.mean(near))

    def bits(self, weights, thresholds=None):
        thresholds = self.p @ weights if thresholds is None else thresholds
        asked, stored = (np.where(f @ weights > thresholds, 1.0, -1.0) for f in (self.fq, self.fd))
        return self.measure((weights.shape[1] - asked @ stored.T) / 2)


def flipped(s, rng, r=6.0):
    """Returns brook's codes of classes, which lower J by flips of single bits."""
    p, k = s.p, BITS
    u = rng.choice([-1.0, 1.0], (len(p), k))
    concentration = (p**2).sum()
    fit = s.m * min(0.6, 60 * max(0, 1 - np.trace(s.m) / (1 - concentration)) * concentration)
    closer, farther = np.exp(2 * r / k) - 1, np.exp(-2 * r / k) - 1
    price = np.exp(r * (u @ u.T) / k) * 2 * k / r**2
    np.fill_diagonal(price, 0)
    fits = fit @ u
    for _ in range(20):
        before = u.copy()
        for b in range(k):
            for c in range(len(p)):
                alike, costs = u[:, b] == u[c, b], price[c] * p
                change = 2 * p[c] * (costs[alike].sum() * farther + costs[~alike].sum() * closer)
                if change - 4 * (fit[c, c] - u[c, b] * fits[c, b]) < -1e-12:
                    price[c] *= np.where(alike, 1 + farther, 1 + closer)
                    price[c, c], price[:, c] = 0, price[c]
                    fits[:, b] -= 2 * u[c, b] * fit[:, c]
                    u[c, b] *= -1
        if (u == before).all():
            break
    return u


def turned(points, rng, signs=None):
    """Returns the weights of each bit by iterative quantisation of the points."""
    signs = rng.choice([-1.0, 1.0], (len(points), BITS)) if signs is None else signs
    for _ in range(50):
        u, size, v = np.linalg.svd(points.T @ signs, full_matrices=False)
        keep = size > 1e-6 * size[0]
        weights = u[:, keep] @ v[keep]
        before, signs = signs, np.where(points @ weights > 0, 1.0, -1.0)
        if (signs == before).all():
            break
    return weights


def presence(s, low, high, scaled=True):
    """Distributes the bits over the labels. Thresholds of a label's bits lie between the fractions `low` and `high` of its range."""
    labels = len(s.p)
    own = np.full(labels, BITS // labels)
    own[np.argsort(-s.p, kind="stable")[:BITS % labels]] += 1
    weights = np.repeat(np.eye(labels), own, axis=1)
    part = np.concatenate([low + (high - low) * (np.arange(n) + 0.5) / n for n in own])
    rise = np.diag(s.m) / (s.p * (1 - s.p))
    without = s.p * (1 - rise)
    return weights, np.repeat(without, own) + np.repeat(rise, own) * part if scaled else part


def main(directory, *names):
    for name in names or SETS:
        s, rng = Set(directory, name), np.random.default_rng(0)
        labels = len(s.p)
        def show(what, found):
            print(f"{name}, {labels} labels, {s.p.sum():.2f} a row, {what}: {found}", flush=True)
        clip = lambda f: np.clip(f, 0, 1)
        show("no bits, inner product of f", s.measure(-(clip(s.fq) @ clip(s.fd).T) + 1e9))
        show("random codes", s.bits(rng.choice([-1.0, 1.0], (labels, BITS))))
        show("codes of classes", s.bits(flipped(s, rng)))
        sparse = (rng.random((labels, BITS)) < 0.3).astype(float)
        show("or of sparse codes, threshold .5", s.bits(sparse, 0.5))
        show("or of sparse codes, threshold at the mean", s.bits(sparse))
        show("rotation of rows (anchors)", s.bits(turned(s.fd[:1500] - s.p, rng)))
        show("rotation of the labels' means", s.bits(turned(s.means, rng)))
        if labels <= BITS:
            show("presence, thresholds .2 to .7", s.bits(*presence(s, 0.2, 0.7, False)))
            for low, high in [(0.1, 0.7), (0.2, 0.7), (0.2, 0.8), (0.3, 0.8)]:
                found = s.bits(*presence(s, low, high))
                show(f"presence, thresholds {low} to {high} of the label's range", found)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) > 1 else sys.exit(__doc__)
