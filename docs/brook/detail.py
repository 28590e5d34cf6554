"""Experiments on detail bits and on streams whose classes are not mixed: numpy models of brook, one split.

    python docs/brook/detail.py DATA shares|blends|directions|anchors [mnist|tiny] [SEED]

DATA holds mnist/ and tinyimagenet-cnn/. Codes of 64 bits; 200 queries of seen and of unseen classes (3 of 10, 50 of 202).
Needs numpy.
"""
import gzip
import sys

import numpy as np

K = 64


def load(data, name):
    if name == "mnist":
        def read(part, kind, skip):
            return np.frombuffer(gzip.open(f"{data}/mnist/{part}-{kind}-ubyte.gz").read(), np.uint8, offset=skip)
        x = np.concatenate([read(p, "images-idx3", 16) for p in ("train", "t10k")]).reshape(-1, 784)
        y = np.concatenate([read(p, "labels-idx1", 8) for p in ("train", "t10k")])
    else:
        x, y = (np.load(f"{data}/tinyimagenet-cnn/{part}.npy") for part in ("features", "labels"))
    x = x.astype(np.float32)
    x -= x.mean(0)
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(length > 0, length, 1), y.astype(int).ravel()


def rbf(x, a, gamma):
    squared = (x * x).sum(1)[:, None] + (a * a).sum(1)[None] - 2 * x @ a.T
    return np.exp(-gamma * np.maximum(squared, 0))


def gamma_of(a):
    return 0.5 / ((a * a).sum(1).mean() - (a.mean(0) ** 2).sum())


def class_codes(classes, bits, fit, seed, r=6.0):
    """Flips single bits while the objective falls. Assumes classes of equal size."""
    u = np.random.default_rng(seed).choice([-1.0, 1.0], size=(classes, bits))
    inner, p, step = u @ u.T, 1 / classes, 2 * r / bits
    closer, farther = np.exp(step) - 1, np.exp(-step) - 1
    for _ in range(30):
        changed = False
        for b in range(bits):
            for c in range(classes):
                price = 2 * bits / r**2 * np.exp(r * inner[c] / bits) * p
                price[c] = 0
                total, alike = price.sum(), u[c, b] * (price @ u[:, b])
                apart = p * ((total + alike) * farther + (total - alike) * closer)
                if apart - 4 * (fit[c, c] - u[c, b] * (fit[c] @ u[:, b])) < -1e-12:
                    changed = True
                    inner[c] -= 2 * u[c, b] * u[:, b]
                    inner[:, c] -= 2 * u[c, b] * u[:, b]
                    u[c, b], inner[c, c] = -u[c, b], bits
        if not changed:
            break
    return u


def scores(rank, relevant, first=1000):
    """Returns mAP and mAP@1000 of rankings by ascending values."""
    whole, top = [], []
    for row, rel in zip(rank, relevant):
        hits = rel[np.argsort(row, kind="stable")]
        places = np.flatnonzero(hits)
        precision = np.cumsum(hits)[places] / (places + 1)
        whole.append(precision.mean())
        if (places < first).any():
            top.append(precision[places < first].mean())
    return np.mean(whole), np.mean(top)


class Unseen:
    """brook's regression on a stream in which some classes are missing."""

    def __init__(self, x, y, seed, tiny):
        rng = np.random.default_rng(seed)
        self.x, self.y, self.seed, self.tiny = x, y, seed, tiny
        count = y.max() + 1
        unseen = rng.permutation(count)[: 50 if tiny else 3]
        order = rng.permutation(len(y))
        queries = np.concatenate([order[y[order] == c][: 10 if tiny else 100] for c in range(count)])
        self.db = order[~np.isin(order, queries)]
        self.known = self.db[~np.isin(y[self.db], unseen)]
        self.stream = self.known[: 60000 if tiny else 20000]
        self.first = self.stream[:3000]
        of_unseen = np.isin(y[queries], unseen)
        self.unseen = rng.permutation(queries[of_unseen])[:200]
        self.seen = rng.permutation(queries[~of_unseen])[:200]
        anchors = x[self.first]
        z = rbf(x, anchors, gamma_of(anchors))
        z -= z[self.stream].mean(0)
        zs = z[self.stream].astype(float)
        gram = zs.T @ zs
        self.classes = np.unique(y[self.stream])
        sums = np.stack([zs[y[self.stream] == c].sum(0) for c in self.classes], 1)
        ridge = 5e-4 * np.trace(gram) / len(zs)
        p = np.linalg.solve(gram + ridge * np.eye(len(gram)), sums)
        self.fit, n, c = sums.T @ p, len(zs), len(self.classes)
        explained = np.trace(self.fit) / n / (1 - 1 / c)
        self.fit *= min(60 * (1 - min(1, explained)) / c, 0.6) / n
        self.f = z @ p.astype(np.float32)
        near = x[self.seen] @ x[self.db].T
        self.nearest = np.argpartition(-near, 10, axis=1)[:, :10]
        self.labels = {}

    def label(self, bits):
        if bits not in self.labels:
            u = class_codes(len(self.classes), bits, self.fit, self.seed)
            share = np.array([(self.y[self.stream] == c).mean() for c in self.classes])
            self.labels[bits] = self.f @ u.astype(np.float32) + (share @ u).astype(np.float32)
        return self.labels[bits]

    def detail(self, bits, evened=0.0, axes=None):
        rows = self.x[self.first]
        mean = rows.mean(0)
        if axes is None:
            axes = np.linalg.svd(rows - mean, full_matrices=False)[2].T
        axes = axes[:, :bits]
        v = (rows - mean) @ axes
        axes, v = axes / v.std(0) ** (2 * evened), v / v.std(0) ** (2 * evened)
        r = np.linalg.qr(np.random.default_rng(0).standard_normal((bits, bits)))[0]
        for _ in range(50):
            left, _, right = np.linalg.svd(v.T @ np.where(v @ r > 0, 1.0, -1.0))
            r = left @ right
        p = (self.x - mean) @ (axes @ r).astype(np.float32)
        return p / np.sqrt((p[self.first] ** 2).mean())

    def report(self, name, *parts):
        b = np.where(np.concatenate(parts, 1) > 0, 1, -1).astype(np.float32)

        def measured(queries, database):
            same = self.y[queries][:, None] == self.y[database][None]
            return scores(-(b[queries] @ b[database].T), same)

        rank = -(b[self.seen] @ b[self.db].T)
        first = np.argsort(rank, axis=1, kind="stable")[:, :1000]
        kept = np.mean([np.isin(near, some).mean() for near, some in zip(self.nearest, first)])
        (alone, _), (_, among) = measured(self.seen, self.known), measured(self.unseen, self.db)
        print(f"{name:34s} seen mAP {alone:.3f}   unseen among all @1000 {among:.3f}   R1000 {kept:.3f}", flush=True)


def shares(w):
    w.report("all label bits", w.label(K))
    for bits in (4, 8, 16, 20, 24, 32):
        w.report(f"{K - bits} + {bits}", w.label(K - bits), w.detail(bits, 0.25))
    w.report("itq", w.detail(K))


def blends(w):
    bits = 4 if w.tiny else 16
    f, p, d = w.label(K - bits), w.detail(K - bits), w.detail(bits, 0.25)
    w.report("no blend", f, d)
    for beta in (0.1, 0.2, 0.3, 0.5):
        w.report(f"blend {beta}", f + beta * p, d)
        w.report(f"blend {beta}, bounded", f + beta * np.clip(2 * p, -1, 1), d)
    rows = w.x[w.first]
    g = rows.T @ rows
    fitted = np.linalg.solve(g + 0.01 * np.trace(g) / len(g) * np.eye(len(g)), rows.T @ f[w.first])
    for beta in (0.5, 1.0):
        w.report(f"linear fit of the label bits x {beta}", f + beta * (w.x @ fitted), d)


def directions(w):
    bits = 8 if w.tiny else 16
    f, rows, labels = w.label(K - bits), w.x[w.first], w.y[w.first]
    for evened in (0.0, 0.125, 0.25, 0.375):
        w.report(f"evened {evened}", f, w.detail(bits, evened))
    means = np.stack([rows[labels == c].mean(0) if (labels == c).any() else rows.mean(0) for c in range(w.y.max() + 1)])
    within = rows - means[labels]
    w.report("within classes", f, w.detail(bits, 0.0, np.linalg.svd(within, full_matrices=False)[2].T))
    s = within.T @ within / len(rows)
    for shrink in (0.1, 1.0):
        t = np.linalg.inv(np.linalg.cholesky(s + shrink * np.trace(s) / len(s) * np.eye(len(s))))
        v = np.linalg.eigh(t @ np.cov(rows.T) @ t.T)[1][:, ::-1]
        w.report(f"discriminant, shrunk by {shrink}", f, w.detail(bits, 0.0, t.T @ v))


def anchors(x, y, seed):
    """Compares choices of anchors on a stream whose classes arrive two at a time (MNIST). All bits are label bits."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    queries = np.concatenate([order[y[order] == c][:30] for c in range(10)])
    db = order[~np.isin(order, queries)]
    stream, classes = db[:20000], rng.permutation(10)
    groups = [stream[np.isin(y[stream], classes[2 * i : 2 * i + 2])] for i in range(5)]
    n, counts = len(stream), np.bincount(y[stream], minlength=10).astype(float)

    def sums(rows, a, gamma):
        z = rbf(x[rows], a, gamma).astype(float)
        return z.T @ z, np.stack([z[y[rows] == c].sum(0) for c in range(10)], 1), z.sum(0)

    def final(name, a, gamma, gram, s, total):
        gram, s = gram - np.outer(total, total) / n, s - np.outer(total, counts / n)
        p = np.linalg.solve(gram + 5e-4 * np.trace(gram) / n * np.eye(len(gram)), s)
        fit = s.T @ p
        u = class_codes(10, K, fit * min(6 * (1 - np.trace(fit) / n / 0.9), 0.6) / n, seed)
        w = p @ u
        offset = counts / n @ u - total / n @ w
        bits = [np.where(rbf(x[rows], a, gamma) @ w + offset > 0, 1, -1).astype(np.float32) for rows in (queries, db)]
        found = scores(-(bits[0] @ bits[1].T), y[queries][:, None] == y[db][None])
        print(f"{name:40s} {len(a)} anchors   mAP {found[0]:.3f}   @1000 {found[1]:.3f}", flush=True)

    for name, rows in (("mixed", stream), ("anchors of the first classes", np.concatenate(groups))):
        a = x[rows[:3000]]
        final(name, a, gamma_of(a), *sums(rows, a, gamma_of(a)))
    for first, more, replaced in ((3000, 375, False), (1400, 400, False), (3000, 1000, True)):
        a, seen = x[groups[0][:first]], y[groups[0][:first]]
        gamma = gamma_of(a)
        gram, s, total = sums(groups[0], a, gamma)
        for i in range(1, 5):
            new = groups[i]
            kept, added = np.arange(len(a)), new[:more]
            if replaced:
                each = first // (2 * i + 2)
                kept = np.concatenate([np.flatnonzero(seen == c)[:each] for c in np.unique(seen)])
                added = np.concatenate([new[:more][y[new[:more]] == c][:each] for c in np.unique(y[new])])
            b, seen = np.concatenate([a[kept], x[added]]), np.concatenate([seen[kept], y[added]])
            by = np.linalg.solve(rbf(a, a, gamma) + 1e-3 * np.eye(len(a)), rbf(a, b, gamma))
            gram, s, total = by.T @ gram @ by, by.T @ s, by.T @ total
            gram, s, total = (old + add for old, add in zip((gram, s, total), sums(new, b, gamma)))
            a = b
        final(f"{first} anchors, {'replaced' if replaced else 'and more'} by {more}", a, gamma, gram, s, total)


def main():
    data, what = sys.argv[1:3]
    name = sys.argv[3] if len(sys.argv) > 3 else "mnist"
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    x, y = load(data, name)
    if what == "anchors":
        anchors(x, y, seed)
    else:
        {"shares": shares, "blends": blends, "directions": directions}[what](Unseen(x, y, seed, name == "tiny"))


main()
