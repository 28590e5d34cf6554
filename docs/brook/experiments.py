"""The experiments that brook's rules come from. Needs numpy, scipy and numba (pip install them).

    python docs/brook/experiments.py DATA EXPERIMENT [mnist|tiny|cifar] [BITS]

DATA is the directory with `mnist`, `tinyimagenet-cnn` and `cifar10-cnn`. EXPERIMENT is one of

    ridge       accuracy and generalised cross-validation over the ridge, by number of rows, linear
    lift        the RBF lift over gamma and ridge; random Fourier features of the same width
    objective   forms of the price of two codes, each over the weight of fit, linear
    rule        the weight of fit, linear and lifted, for some numbers of classes
    offset      with and without an offset per bit, linear and lifted
    gauss       codes by their expected bits under Gaussian classes, linear
    restarts    the best of several starts, by the objective, linear
    unit        lifted vectors scaled to unit length, or only centred
    subclasses  classes cut into clusters that have codes of their own, linear

Each prints mAP, mAP@1000 and precision within radius 2 for one split (seed 1), on a sample of the
queries. The library's own tables, on all queries and several splits, are those to quote.
"""

import gzip
import sys

import numba
import numpy as np
from scipy.special import erf

QUERIES = {"mnist": 100, "cifar": 100, "tiny": 20}
ROWS = {"mnist": 20_000, "cifar": 20_000, "tiny": 100_000}
DIRECTORIES = {"cifar": "cifar10-cnn", "tiny": "tinyimagenet-cnn"}


def load(directory, name):
    """Returns vectors, centred on their mean and scaled to unit length, and labels."""
    if name == "mnist":
        def idx(part, kind, header):
            path = f"{directory}/mnist/{part}-{kind}-ubyte.gz"
            return np.frombuffer(gzip.open(path).read(), np.uint8)[header:]
        parts = ["train", "t10k"]
        x = np.concatenate([idx(p, "images-idx3", 16).reshape(-1, 784) for p in parts])
        y = np.concatenate([idx(p, "labels-idx1", 8) for p in parts])
    else:
        x, y = (np.load(f"{directory}/{DIRECTORIES[name]}/{f}.npy") for f in ["features", "labels"])
    x = x.astype(np.float32)
    x -= x.mean(0)
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    return x, y.astype(int)


class Split:
    """Queries, database and stream of one split."""

    def __init__(self, x, y, queries, rows, seed=1):
        rng = np.random.default_rng(seed)
        self.queries = np.concatenate(
            [rng.choice(np.nonzero(y == c)[0], queries, replace=False) for c in np.unique(y)])
        kept = np.ones(len(y), bool)
        kept[self.queries] = False
        self.database = rng.permutation(np.nonzero(kept)[0])
        self.stream = self.database[:rows]


class Sums:
    """The sums that brook stores of a stream, and the solution of its regression."""

    def __init__(self, z, y, classes, ridge):
        n = self.n = len(z)
        self.counts = np.bincount(y, minlength=classes).astype(float)
        self.shares = self.counts / n
        self.a = (z.T @ z).astype(float)
        self.s = np.stack([z[y == c].sum(0) for c in range(classes)], 1).astype(float)
        self.total = self.s.sum(1)
        ac = self.a - np.outer(self.total, self.total) / n
        sc = self.s - np.outer(self.total, self.shares)
        self.ridge = ridge * np.trace(ac) / n
        self.p = np.linalg.solve(ac + self.ridge * np.eye(len(ac)), sc)
        self.m = sc.T @ self.p
        self.ac = ac
        self.explained = np.trace(self.m) / n / (1 - (self.shares**2).sum())

    def function(self, codes):
        w = self.p @ codes
        return w, self.shares @ codes - (self.total / self.n) @ w


@numba.njit(cache=True)
def flip(codes, shares, fit, price, attract, same, seed):
    """Flips bits while 1/k sum p p' price(u . u') - tr(U' fit U) falls. Pairs of one class use `attract` instead of `price`."""
    np.random.seed(seed)
    classes, k = codes.shape
    v = codes.astype(np.int64)
    inner = (codes @ codes.T).astype(np.int64)
    fits = fit @ codes
    for _ in range(80):
        changed = 0
        for r in range(k):
            for c in np.random.permutation(classes):
                u = v[c, r]
                change = 0.0
                for j in range(classes):
                    if j != c:
                        now, then = inner[c, j] + k, inner[c, j] - 2 * u * v[j, r] + k
                        if same[c, j]:
                            change += shares[j] * (attract[then] - attract[now])
                        else:
                            change += shares[j] * (price[then] - price[now])
                if 2 / k * shares[c] * change - 4 * (fit[c, c] - u * fits[c, r]) < -1e-12:
                    for j in range(classes):
                        if j != c:
                            inner[c, j] -= 2 * u * v[j, r]
                            inner[j, c] = inner[c, j]
                        fits[j, r] -= 2 * u * fit[j, c]
                    v[c, r] = -u
                    changed += 1
        if changed == 0:
            break
    return v.astype(np.float64)


def prices(bits, classes):
    """Returns forms of the price of two codes, as functions of their inner product."""
    e = np.arange(-bits, bits + 1) / bits
    square = bits * bits * (e + 1 / (classes - 1)) ** 2
    forms = {"square": square, "one-sided square": np.where(e + 1 / (classes - 1) > 0, square, 0)}
    for slack, power in [(0.2, 3), (0.5, 4), (1, 6)]:
        side = np.maximum(0, e + 1 / (classes - 1) + slack)
        forms[f"one-sided, slack {slack}, power {power}"] = bits * bits * 2 / power * side**power
    for r in [3, 4, 6, 8]:
        forms[f"exponential, {r}"] = bits * bits * 2 / r**2 * np.exp(r * e)
    return forms


def solve(sums, bits, fit_weight, price, seed=1):
    classes = len(sums.shares)
    start = np.random.default_rng(seed).choice([-1.0, 1.0], (classes, bits))
    none = np.zeros((classes, classes), np.bool_)
    return flip(start, sums.shares, fit_weight / sums.n * sums.m, price, price, none, seed)


def evaluate(z, y, split, w, b, most=1000):
    """Returns mAP, mAP@1000 and precision within radius 2, on a sample of the queries."""
    queries = split.queries
    if len(queries) > most:
        queries = queries[np.random.default_rng(0).choice(len(queries), most, replace=False)]
    k = w.shape[1]
    sign = lambda rows: ((z[rows] @ w + b > 0) * 2 - 1).astype(np.float32)
    asked, stored, labels = sign(queries), sign(split.database), y[split.database]
    whole, top, near = [], [], []
    for start in range(0, len(asked), 100):
        distances = ((k - asked[start:start + 100] @ stored.T) / 2).round().astype(np.uint8)
        for distance, label in zip(distances, y[queries[start:start + 100]]):
            relevant = labels == label
            ranked = relevant[np.argsort(distance, kind="stable")]
            places = np.nonzero(ranked)[0]
            precisions = np.cumsum(ranked)[places] / (places + 1)
            whole.append(precisions.mean())
            if (places < 1000).any():
                top.append(precisions[places < 1000].mean())
            ball = distance <= 2
            near.append(relevant[ball].mean() if ball.any() else 0.0)
    return "mAP %.3f  mAP@1000 %.3f  P r<=2 %.3f" % (np.mean(whole), np.mean(top), np.mean(near))


def rbf(x, split, anchors=2000, gamma=None):
    a = x[split.stream[:anchors]]
    distances = np.maximum(2 - 2 * a @ a.T, 0)
    gamma = gamma or 1 / distances[np.triu_indices(anchors, 1)].mean()
    z = np.empty((len(x), anchors), np.float32)
    for i in range(0, len(x), 5000):
        z[i:i + 5000] = np.exp(-gamma * np.maximum(2 - 2 * x[i:i + 5000] @ a.T, 0))
    return z - z[split.stream[:anchors]].mean(0), gamma


def fourier(x, split, width, gamma):
    r = np.random.default_rng(9).normal(size=(x.shape[1], width // 2)).astype(np.float32)
    z = np.empty((len(x), width), np.float32)
    for i in range(0, len(x), 5000):
        t = x[i:i + 5000] @ (r * np.sqrt(2 * gamma))
        z[i:i + 5000] = np.hstack([np.cos(t), np.sin(t)]) * np.sqrt(2 / width)
    return z - z[split.stream[:2000]].mean(0)


def rule(sums):
    return min(0.6, 60 * (1 - sums.explained) * (sums.shares**2).sum())


def main(directory, experiment, name="mnist", bits="64"):
    x, y = load(directory, name)
    classes, bits = y.max() + 1, int(bits)
    split = Split(x, y, QUERIES[name], ROWS[name])
    price = prices(bits, classes)
    usual = price["exponential, 6"]
    stream_labels = y[split.stream]

    def show(what, z, sums, codes):
        apart = (bits - codes @ codes.T) / 2
        np.fill_diagonal(apart, bits)
        w, b = sums.function(codes)
        found = evaluate(z, y, split, w, b)
        print(f"{name}, {bits} bits, {what}: {found}, nearest codes {apart.min():.0f}", flush=True)

    if experiment == "ridge":
        for n in [500, 1000, 3000, 20_000]:
            rows = split.stream[:n]
            mean, one_hot = x[rows].mean(0), np.eye(classes)[y[rows]]
            z, t = (x[rows] - mean).astype(float), one_hot - one_hot.mean(0)
            values, vectors = np.linalg.eigh(z.T @ z)
            values, s = np.maximum(values, 0), vectors.T @ (z.T @ t)
            for part in [0.1, 0.3, 1, 3, 10, 30]:
                ridge = part * values.sum() / n
                w = vectors @ (s / (values + ridge)[:, None])
                left = (t**2).sum() - (s**2 / (values + ridge)[:, None]).sum() - ridge * (w**2).sum()
                gcv = left / n / (1 - ((values / (values + ridge)).sum() + 1) / n) ** 2
                guess = np.argmax((x[split.queries] - mean) @ w + one_hot.mean(0), 1)
                right = (guess == y[split.queries]).mean()
                print(f"{name}, {n} rows, ridge {part} x mean square: right {right:.3f}, gcv {gcv:.3f}")
    elif experiment == "lift":
        _, best = rbf(x, split)
        for factor in [0.2, 0.5, 1, 2, 4]:
            z, gamma = rbf(x, split, gamma=best * factor)
            for ridge in [5e-5, 5e-4, 5e-3] if factor == 1 else [5e-4]:
                sums = Sums(z[split.stream], stream_labels, classes, ridge)
                what = f"rbf, gamma {factor} x rule, ridge {ridge}"
                show(what, z, sums, solve(sums, bits, rule(sums), usual))
        for ridge in [1e-6, 1e-5, 1e-4]:
            z = fourier(x, split, 2000, best)
            sums = Sums(z[split.stream], stream_labels, classes, ridge)
            show(f"fourier, ridge {ridge}", z, sums, solve(sums, bits, rule(sums), usual))
    elif experiment == "objective":
        sums = Sums(x[split.stream], stream_labels, classes, 1)
        for form, price in price.items():
            for part in [15, 30, 60, 120]:
                weight = part * (1 - sums.explained) / classes
                show(f"{form}, fit_weight {weight:.3f}", x, sums, solve(sums, bits, weight, price))
    elif experiment == "rule":
        for lifted in [False, True]:
            z = rbf(x, split)[0] if lifted else x
            for few in sorted({10, min(50, classes), classes}):
                rows = split.stream[stream_labels < few]
                sums = Sums(z[rows], y[rows], few, 5e-4 if lifted else 1)
                asked = split.queries[y[split.queries] < few]
                part = Split.__new__(Split)
                part.queries, part.database = asked, split.database[y[split.database] < few]
                kind = "lifted" if lifted else "linear"
                for weight in [0, 0.03, 0.1, 0.3, 0.6, 1, 3]:
                    w, b = sums.function(solve(sums, bits, weight, prices(bits, few)["exponential, 6"]))
                    found = evaluate(z, y, part, w, b)
                    print(f"{name}, {kind}, {few} classes, rule {rule(sums):.3f}, fit_weight {weight}: {found}")
    elif experiment == "offset":
        for lifted in [False, True]:
            z = rbf(x, split)[0] if lifted else x
            sums = Sums(z[split.stream], stream_labels, classes, 5e-4 if lifted else 1)
            codes = solve(sums, bits, rule(sums), usual)
            show("lifted, offset" if lifted else "linear, offset", z, sums, codes)
            w = np.linalg.solve(sums.a + sums.ridge * np.eye(len(sums.a)), sums.s) @ codes
            print("  without:", evaluate(z, y, split, w, 0))
    elif experiment == "gauss":
        sums = Sums(x[split.stream], stream_labels, classes, 1)
        show("exponential, 6, by the rule", x, sums, solve(sums, bits, rule(sums), usual))
        show("expected bits", x, sums, expected_bits(sums, bits))
    elif experiment == "restarts":
        sums = Sums(x[split.stream], stream_labels, classes, 1)
        weight, found = rule(sums), []
        for tries in range(1, 17):
            codes = solve(sums, bits, weight, usual, seed=tries)
            inner = (codes @ codes.T).astype(int)
            cost = np.outer(sums.shares, sums.shares) * usual[inner + bits] / bits
            np.fill_diagonal(cost, 0)
            objective = cost.sum() - weight / sums.n * np.trace(codes.T @ sums.m @ codes)
            found.append((objective, tries, codes))
            if tries in [1, 4, 16]:
                best = min(found, key=lambda one: one[0])
                show(f"best of {tries}, J {best[0]:.3f}", x, sums, best[2])
    elif experiment == "unit":
        z, _ = rbf(x, split)
        for what in ["centred", "centred, of unit length"]:
            if what != "centred":
                z /= np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-12)
            sums = Sums(z[split.stream], stream_labels, classes, 5e-4)
            show(what, z, sums, solve(sums, bits, rule(sums), usual))
    elif experiment == "subclasses":
        for clusters in [1, 2, 4, 8]:
            sub, of = clustered(x[split.stream], stream_labels, classes, clusters)
            sums = Sums(x[split.stream], sub, classes * clusters, 1)
            same = of[:, None] == of[None, :]
            e = np.arange(-bits, bits + 1) / bits
            for pull in [0.3, 1, 3] if clusters > 1 else [0]:
                start = np.random.default_rng(1).choice([-1.0, 1.0], (len(of), bits))
                codes = flip(start, sums.shares, 0.6 / sums.n * sums.m, usual,
                             pull * bits * bits * (1 - e) ** 2, same, 1)
                show(f"{clusters} clusters a class, pull {pull}", x, sums, codes)
    else:
        sys.exit(__doc__)


def expected_bits(sums, bits, seed=1):
    """Returns codes whose expected bits fit the similarity, for Gaussian classes with a shared covariance."""
    classes, rng = len(sums.shares), np.random.default_rng(seed)
    within = sums.p.T @ sums.ac @ sums.p - sums.m @ np.diag(1 / sums.counts) @ sums.m
    target = np.full((classes, classes), -bits / (classes - 1))
    np.fill_diagonal(target, bits)
    weight = np.outer(sums.shares, sums.shares)
    np.fill_diagonal(weight, np.diag(weight) * (classes - 1))

    def expected(u):
        spread = np.sqrt(2 * (u @ within @ u) / sums.n)
        return erf(sums.m @ u / sums.counts / spread)

    codes = solve(sums, bits, 0.0, prices(bits, classes)["square"])
    q = np.stack([expected(codes[:, r]) for r in range(bits)], 1)
    inner = q @ q.T
    best = (weight * (inner - target) ** 2).sum()
    for _ in range(30):
        changed = False
        for r in rng.permutation(bits):
            for c in rng.permutation(classes):
                u = codes[:, r].copy()
                u[c] *= -1
                new = expected(u)
                moved = inner - np.outer(q[:, r], q[:, r]) + np.outer(new, new)
                price = (weight * (moved - target) ** 2).sum()
                if price < best - 1e-12:
                    best, inner, codes[:, r], changed = price, moved, u, True
                    q[:, r] = new
        if not changed:
            break
    return codes


def clustered(z, y, classes, clusters, seed=1):
    """Returns a label for each k-means cluster within each class, and the class of each such label."""
    rng, labels = np.random.default_rng(seed), np.zeros(len(y), int)
    for c in range(classes):
        rows = np.nonzero(y == c)[0]
        centers = z[rows[rng.choice(len(rows), clusters, replace=False)]]
        for _ in range(15):
            near = np.argmin((centers**2).sum(1) - 2 * z[rows] @ centers.T, 1)
            centers = np.stack([z[rows][near == t].mean(0) if (near == t).any() else centers[t]
                                for t in range(clusters)])
        labels[rows] = c * clusters + near
    return labels, np.repeat(np.arange(classes), clusters)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) > 2 else sys.exit(__doc__)
