"""Bar charts of queries per second."""

import html
import math

COLOURS = {
    "hashbrook fresh": "#d55e00",
    "hashbrook warm": "#e69f00",
    "hashbrook": "#d55e00",
    "hashbrook scan": "#e69f00",
    "hashbrook avx2": "#d5a080",
    "hashbrook scan avx2": "#e6c88c",
    "FAISS IndexBinaryFlat": "#0072b2",
    "FAISS IndexBinaryFlat, counting": "#5a8fc0",
    "USearch exact": "#009e73",
    "LanceDB exact": "#7b4fa3",
    "numpy": "#777777",
    "FAISS IVF": "#56b4e9",
    "FAISS HNSW": "#cc79a7",
    "FAISS MultiHash": "#8c6d31",
    "LanceDB IVF": "#b39ddb",
}


def names_of(cells):
    """Returns the names of the contenders in the cells, always in the same order."""
    return [name for name in COLOURS if any(name in cell["rows"] for cell in cells)]


def rate(row):
    """Returns the queries per second of a row."""
    return row["queries"] / row["seconds"]


def number(value):
    return f"{value:,.{0 if value >= 100 else 1 if value >= 1 else 2}f}"


def bars(cells):
    """Draws rates as bars on a logarithmic axis from 1 to a million, with a group of bars for each cell. The value, and the recall
    of contenders that are not exact, is at the end of each bar."""
    place = lambda value: 330 + 440 * math.log10(min(max(value, 1), 1e6)) / 6
    parts, y = [], 8
    top = y
    for cell in cells:
        y += 10
        parts.append(f'<text x="0" y="{y + 12}">{html.escape(cell.get("shown", cell["title"]))}</text>')
        for name in names_of([cell]):
            row = cell["rows"][name]
            end, recall = place(rate(row)), f", recall {row['recall']:.3f}" if "recall" in row else ""
            told = f"{name}: {number(rate(row))} queries/s, {row['ratio']:.2f} x FAISS IndexBinaryFlat{recall}"
            parts.append(
                f'<rect x="330" y="{y}" width="{end - 330:.1f}" height="14" fill="{COLOURS[name]}">'
                f"<title>{html.escape(told)}</title></rect>"
                f'<text x="{end + 4:.1f}" y="{y + 12}">{html.escape(name)} {number(rate(row))}{recall}</text>'
            )
            y += 17
    grid = []
    for power in range(7):
        x = place(10**power)
        grid.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{y}" stroke="currentColor" stroke-opacity=".15"/>'
                    f'<text x="{x:.1f}" y="{y + 14}" text-anchor="middle">{10**power:,}</text>')
    return (f'<svg viewBox="0 0 960 {y + 24}" role="img" aria-label="queries per second">'
            f'{"".join(grid)}{"".join(parts)}</svg>')
