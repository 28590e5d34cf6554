"""Which arithmetic reproduces which golden case: BSODH in its dense form, in numpy.

`double`  all in double precision
`plain`   B S~ in single precision, added up in plain order; P exact
`blas`    B S~ and P as single-precision matrix products
"""

import gzip
import json
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent
DIGITS = HERE / "../../src/dataset/digits.csv.gz"


def digits():
    table = np.loadtxt(gzip.open(DIGITS), delimiter=",")
    x = table[:, :-1] - table[:, :-1].mean(axis=0)
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).T, table[:, -1]


def learn(case, order, arithmetic, x, y):
    w = np.load(HERE / case["initial_w"])
    k, d = case["bits"], len(x)
    zero = 1.0 if order == "released" else -1.0
    sgn = lambda v: np.where(v > 0, 1.0, np.where(v < 0, -1.0, zero))
    solve = lambda xs, b: np.linalg.solve(
        xs @ xs.T + case["ridge"] / case["fit_weight"] * np.eye(d), xs @ b.T
    )

    def existing(b, s):  # sgn(B_s S~)
        if arithmetic == "double":
            return sgn(b @ s)
        b, s = b.astype(np.float32), s.astype(np.float32)
        if arithmetic == "blas":
            return sgn(b @ s)
        sums = np.zeros((k, s.shape[1]), np.float32)
        for i in range(len(s)):
            sums += b[:, i : i + 1] * s[i]
        return sgn(sums)

    def targets(e, s, scale, pull):  # scale B_e S~^T + pull
        if arithmetic == "blas":
            product = e.astype(np.float32) @ s.T.astype(np.float32)
            return np.float32(scale) * product + pull.astype(np.float32)
        return scale * (e @ s.T) + pull

    def settle(b, e, p, once):
        while True:
            before = b.copy()
            for r in range(k):
                others = np.arange(k) != r
                b[r] = sgn(p[r] - (e[r] @ e[others].T) @ b[others])
            if once or (before == b).all():
                return b

    e, seen = None, None
    for start in range(0, case["rows"], case["batch"]):
        rows = slice(start, min(start + case["batch"], case["rows"]))
        xs, ys = x[:, rows], y[rows]
        b = sgn(w.T @ xs)
        if e is None:
            e, seen = b, ys
            continue
        s = np.where(ys[:, None] == seen, case["similar_weight"], -case["dissimilar_weight"])
        pull = w.T @ xs
        if order == "printed":
            w = solve(xs, b)
            e = existing(b, s)
            b = settle(b, e, targets(e, s, k, case["fit_weight"] * (w.T @ xs)), False)
        elif order == "alternating":
            e = existing(b, s)
            b = settle(b, e, targets(e, s, k, case["fit_weight"] * pull), False)
            w = solve(xs, b)
        else:
            for i in range(len(ys)):
                same = np.flatnonzero(seen == ys[i])
                if len(same):
                    b[:, i] = e[:, same[0]]
            b = settle(b, e, targets(e, s, k * k, pull), True)
            e = existing(b, s)
            w = solve(xs, b)
        e, seen = np.hstack([e, b]), np.concatenate([seen, ys])
    return w


def main():
    x, y = digits()
    arithmetics = ["double", "plain", "blas"]
    totals = dict.fromkeys(arithmetics, 0)
    print(f"{'bits that differ':32}" + "".join(f"{a:>8}" for a in arithmetics))
    for case in json.loads((HERE / "golden.json").read_text())["cases"]:
        labels = HERE / case["labels"]
        labels = np.load(labels).ravel() if labels.exists() else y
        for order in ["released", "alternating", "printed"]:
            golden = x.T @ np.load(HERE / case[order]) > 0
            row = f"{case['name']}, {order}"
            differing = []
            for arithmetic in arithmetics:
                w = learn(case, order, arithmetic, x, labels)
                differing.append(int((golden != (x.T @ w > 0)).sum()))
                totals[arithmetic] += differing[-1] == 0
            print(f"{row:32}" + "".join(f"{n:>8}" for n in differing))
    print(f"{'cases that match, of 18':32}" + "".join(f"{totals[a]:>8}" for a in arithmetics))


if __name__ == "__main__":
    main()
