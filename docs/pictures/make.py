"""Makes the pictures of the guide that do not come from the report, with the Python package alone:

    python docs/pictures/make.py overview hits renewal bits        # into docs/pictures/"""

import json
import math
import pathlib
import sys

import numpy as np

import hashbrook

HERE = pathlib.Path(__file__).parent
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"]


def svg(name, width, height, label, parts):
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{label}" '
        'font-family="sans-serif" font-size="13"><style>text{fill:#666}@media (prefers-color-scheme:dark){text{fill:#ccc}}</style>'
    )
    (HERE / name).write_text(head + "\n".join(parts) + "</svg>\n", encoding="utf-8")


def digit(pixels, x, y, size):
    """Draws a digit of 8 x 8 pixels with values from 0 to 16, dark on white."""
    parts = [f'<g transform="translate({x} {y}) scale({size / 8:g})"><path d="M0 0h8v8h-8z" fill="#fff" stroke="#999" stroke-width=".2"/>']
    for value in sorted(set(pixels) - {0}):
        grey = round(255 * (1 - value / 16))
        squares = "".join(f"M{at % 8} {at // 8}h1v1h-1z" for at in np.flatnonzero(pixels == value))
        parts.append(f'<path fill="#{grey:02x}{grey:02x}{grey:02x}" d="{squares}"/>')
    return "".join(parts) + "</g>"


def lines(name, label, series, across, up, ticks, low, high):
    """Draws a line chart. `series` has the name, the x values and the y values of each line."""
    width, height, left, top, right, bottom = 640, 330, 60, 14, 24, 84
    places = series[0][1]
    x = lambda value: left + (width - left - right) * (value - places[0]) / (places[-1] - places[0])
    y = lambda value: top + (height - top - bottom) * (high - value) / (high - low)
    parts, apart = [], min(220, (width - left) // len(series))
    for tick in np.arange(low, high + 1e-9, (high - low) / 5):
        parts.append(f'<path d="M{left} {y(tick):.1f}H{width - right}" stroke="#888" stroke-opacity=".35"/>')
        parts.append(f'<text x="{left - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.2g}</text>')
    for tick in ticks:
        parts.append(f'<text x="{x(tick):.1f}" y="{height - bottom + 18}" text-anchor="middle">{tick:,}</text>')
    parts.append(f'<text x="{(left + width) / 2}" y="{height - bottom + 38}" text-anchor="middle">{across}</text>')
    parts.append(f'<text transform="translate(14 {(top + height - bottom) / 2}) rotate(-90)" text-anchor="middle">{up}</text>')
    for number, (key, at, values) in enumerate(series):
        colour = COLOURS[number]
        path = "L".join(f"{x(place):.1f} {y(value):.1f}" for place, value in zip(at, values))
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x(place):.1f}" cy="{y(value):.1f}" r="3" fill="{colour}"/>' for place, value in zip(at, values)]
        parts.append(f'<rect x="{left + number * apart}" y="{height - 26}" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{left + number * apart + 16}" y="{height - 17}">{key}</text>')
    svg(name, width, height, label, parts)


def hits():
    """Draws three query digits with their hits: the nearest by code, and the best of the 100 nearest after re-ranking by vectors."""
    X, y = hashbrook.datasets.digits()
    model = hashbrook.Model("brook", dim=64, bits=64, seed=1)
    model.learn(X[:500], y[:500])
    model.end_warmup()
    index = hashbrook.Index(model.hash_function(), vectors="f16")
    index.add(range(500), X[:500], y[:500])
    parts, size, gap = [], 44, 10
    for line, query in enumerate((1500, 1507, 1502)):
        top = 30 + line * 138
        parts.append(digit(X[query], 10, top + 34, size))
        parts.append(f'<text x="{10 + size / 2}" y="{top + 34 + size + 16}" text-anchor="middle">query</text>')
        by_code = index.search(X[query:query + 1], 8)
        ranked = index.search(X[query:query + 1], 8, rerank=100)
        rows = [("by code", by_code.ids[0], [f"{d} bits" for d in by_code.distances[0]]),
                ("rerank", ranked.ids[0], [f"{c:.2f}" for c in ranked.scores[0]])]
        for which, (name, ids, texts) in enumerate(rows):
            above = top + which * 66
            parts.append(f'<text x="132" y="{above + 26}" text-anchor="end">{name}</text>')
            for place, (id, text) in enumerate(zip(ids, texts)):
                left = 144 + place * (size + gap + 4)
                parts.append(digit(X[int(id)], left, above, size))
                parts.append(f'<text x="{left + size / 2}" y="{above + size + 13}" font-size="11" text-anchor="middle">{text}</text>')
    svg("hits.svg", 144 + 8 * (size + gap + 4), 30 + 3 * 138 - 10, "Three digits, the eight nearest of each by code, and ranked again", parts)


def renewal():
    """Draws precision at 10 on a stream whose classes arrive two at a time, with and without re-encoding."""
    X, y = hashbrook.datasets.digits()
    known, asked = np.arange(1500), np.arange(1500, 1797)
    order = np.concatenate([known[np.isin(y[known], pair)] for pair in ((0, 1), (2, 3), (4, 5), (6, 7), (8, 9))])
    model = hashbrook.Model("brook", dim=64, bits=64, seed=1, warmup=250)
    at, old, new = [], [], []
    indexes = None
    for start in range(0, 1500, 125):
        rows = order[start:start + 125]
        model.learn(X[rows], y[rows])
        if start + 125 < 250:
            continue
        if indexes is None:
            function = model.hash_function()
            indexes = [hashbrook.Index(function, vectors="f16") for _ in range(2)]
            rows = order[:start + 125]
        for index in indexes:
            index.add(rows, X[rows], y[rows])
        indexes[1].renew(model.hash_function())
        seen = asked[np.isin(y[asked], y[order[:start + 125]])]
        for index, found in zip(indexes, (old, new)):
            ids = index.search(X[seen], 10).ids.astype(int)
            found.append(float((y[ids] == y[seen][:, None]).mean()))
        at.append(start + 125)
    print(at, np.round(old, 3), np.round(new, 3))
    lines("renewal.svg", "Precision at 10 while classes come two at a time", [("items re-encoded", at, new), ("codes of the first 250 rows", at, old)],
          "rows seen; two more of the ten digits about every 300", "precision at 10", [250, 500, 750, 1000, 1250, 1500], 0.5, 1.0)


def bits():
    """Draws mAP by code length, for the digits."""
    X, y = hashbrook.datasets.digits()
    lengths, series = [8, 16, 32, 48, 64, 96, 128], []
    for method in ("brook", "bsodh", "itq", "lsh"):
        values = []
        for length in lengths:
            model = hashbrook.Model(method, dim=64, bits=length, seed=1, warmup=500)
            model.learn(X[:1500], y[:1500], batch=250)
            values.append(hashbrook.evaluate(model.hash_function(), X[1500:], y[1500:], X[:1500], y[:1500])["mAP"])
        series.append((method, lengths, values))
        print(method, np.round(values, 3))
    lines("bits.svg", "mAP by the length of codes", series, "bits", "mAP", lengths, 0.0, 1.0)


def overview():
    """Draws quality by bytes per item (tables of many-classes.md) and queries per second (results of bench/run)."""
    rows = [[cell.strip(" *`") for cell in line.strip("|\n").split("|")] for line in open(HERE.parent / "many-classes.md") if line.startswith("| ")]
    lengths = [64, 128, 256, 512, 1024]
    row = lambda start: next(cells[1:] for cells in rows if cells[0].startswith(start))
    # Rows are identified by their names in the tables.
    codes = [(name, [bits // 8 for bits in lengths], [float(value) for value in row(name)[1:6]]) for name in ("brook", "itq")]
    whole = [(title, float(row(name)[0].replace(",", "")), float(row(name)[1]))
             for title, name in (("cosine of the vectors", "cosine of the vectors"), ("signs of the vectors", "signs of the vectors"))]
    parts = ['<text x="50" y="18" font-weight="bold">precision@10, 1,000 classes, by bytes an item</text>']
    x = lambda size: 50 + 300 * (math.log2(size) - 3) / (math.log2(4096) - 3)
    y = lambda value: 250 - 220 * value
    for tick in (0, .25, .5, .75, 1):
        parts.append(f'<path d="M50 {y(tick):.0f}H350" stroke="#888" stroke-opacity=".35"/><text x="42" y="{y(tick) + 4:.0f}" text-anchor="end">{tick:g}</text>')
    for tick in (8, 32, 128, 512, 2048):
        parts.append(f'<text x="{x(tick):.0f}" y="270" text-anchor="middle">{tick:,}</text>')
    for number, (name, at, values) in enumerate(codes):
        points = [f"{x(size):.0f} {y(value):.0f}" for size, value in zip(at, values)]
        parts.append(f'<path d="M{"L".join(points)}" fill="none" stroke="{COLOURS[number]}" stroke-width="2"/>')
        parts.append(f'<text x="{x(at[-1]) + 8:.0f}" y="{y(values[-1]) + 4:.0f}">{name}</text>')
    for name, size, value in whole:
        parts.append(f'<circle cx="{x(size):.0f}" cy="{y(value):.0f}" r="4" fill="{COLOURS[3]}"/>')
        parts.append(f'<text x="{x(size) - 8:.0f}" y="{y(value) - 8:.0f}" text-anchor="{"end" if size > 1000 else "middle"}">{name}</text>')
    results = json.loads((HERE.parent.parent / "bench/results/results.json").read_text(encoding="utf-8"))
    cell = next(cell for cell in results["real"]["cells"] if (cell["codes"], cell["title"]) == ("mnist brook, 64 bits", "top 10"))
    names = {"hashbrook fresh": "hashbrook", "FAISS IndexBinaryFlat": "FAISS exact", "FAISS HNSW": "FAISS HNSW", "USearch exact": "USearch exact",
             "LanceDB exact": "LanceDB exact"}
    parts.append(f'<text x="400" y="18" font-weight="bold">queries a second, top 10 of {cell["count"]:,} codes</text>')
    for line, (key, name) in enumerate(names.items()):
        found = cell["rows"][key]
        rate = found["queries"] / found["seconds"]
        recall = f' (recall {found["recall"]:.2f})' if "recall" in found else ""
        top, width = 40 + 44 * line, 340 * math.log10(rate) / 6
        parts.append(f'<text x="400" y="{top}">{name}{recall}: {rate:,.0f}</text>')
        parts.append(f'<rect x="400" y="{top + 6}" width="{width:.0f}" height="14" fill="{COLOURS[0 if key.startswith("hashbrook") else 3]}"/>')
    parts.append('<text x="400" y="270">one thread; bars are logarithmic</text>')
    svg("overview.svg", 760, 284, "Precision by bytes an item, and queries a second, compared with the alternatives", parts)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        {"overview": overview, "hits": hits, "renewal": renewal, "bits": bits}[name]()
