"""Writes what was measured, as a text with tables and as a page with plots."""

import html

COLOURS = {
    "hashbrook": "#d55e00",
    "hashbrook scan": "#e69f00",
    "hashbrook avx2": "#d5a080",
    "hashbrook scan avx2": "#e6c88c",
    "FAISS Flat": "#0072b2",
    "USearch exact": "#009e73",
    "numpy": "#777777",
    "FAISS IVF": "#56b4e9",
    "FAISS HNSW": "#cc79a7",
    "FAISS MultiHash": "#8c6d31",
}

STYLE = """
:root { color-scheme: light dark; --ink: #222; --ground: #fff; --line: #ccc; }
@media (prefers-color-scheme: dark) { :root { --ink: #ddd; --ground: #181818; --line: #444; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground);
       max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; margin: 1rem 0; }
td, th { padding: .2rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; }
svg { width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
"""


def named(cell):
    return f"{cell['count']:,} {cell['codes']} codes of {cell['bits']} bits"


def groups(results):
    """The cells of each set of codes, in the order in which they were measured."""
    found = {}
    for cell in results["cells"]:
        found.setdefault(named(cell), []).append(cell)
    return found


def rate(cell, row):
    """Queries per second."""
    return row["codes_per_second"] / cell["count"]


def entry(cell, row):
    recall = f", recall {row['recall']:.3f}" if "recall" in row else ""
    found = rate(cell, row)
    digits = 0 if found >= 100 else 1
    return f"{found:,.{digits}f} ({row['ratio']:.1f} x{recall})"


def names_of(cells):
    return [name for name in COLOURS if any(name in cell["rows"] for cell in cells)]


def remarks(results):
    ceilings, versions = results["ceilings"], results["versions"]
    lines = [
        f"Machine: {results['machine']}. FAISS {versions['FAISS']}, USearch {versions['USearch']}, numpy "
        f"{versions['numpy']}. {results['date']}. Medians of {results['rounds']} interleaved rounds.",
        f"One thread XORs and counts {ceilings['popcount']:.1f} G words/s in its cache, and reads "
        f"{ceilings['read']:.2f} G words/s from memory.",
    ]
    # Each measured in turn with what it is a share of.
    lines += [f"Share of that, one thread, clustered codes: {line}." for line in ceilings["shares"]]
    return lines


def text(results):
    lines = ["# The index beside other libraries", ""]
    lines += ["Queries per second, and in brackets how many times as fast as FAISS' IndexBinaryFlat in the "
              "same round. `bench/run` prints and writes this.", ""]
    lines += [f"* {line}" for line in remarks(results)] + [""]
    for name, cells in groups(results).items():
        columns = names_of(cells)
        lines += [f"## {name}", "", "| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
        for cell in cells:
            values = [entry(cell, cell["rows"][c]) if c in cell["rows"] else "" for c in columns]
            lines.append(f"| {cell['title']} | " + " | ".join(values) + " |")
        lines.append("")
    return "\n".join(lines)


def bars(cells):
    """Rates as bars, on a logarithmic scale, with the value at the end of each."""
    import math

    rows = [(cell, name, cell["rows"][name]) for cell in cells for name in names_of([cell])]
    low, high = 1, 1e6
    place = lambda value: 330 + 440 * math.log10(min(max(value, low), high)) / 6
    parts, y, before = [], 8, None
    for cell, name, row in rows:
        title = cell["title"]
        if title != before:
            y += 10
            parts.append(f'<text x="0" y="{y + 12}">{html.escape(title)}</text>')
            before = title
        end = place(rate(cell, row))
        parts.append(
            f'<rect x="330" y="{y}" width="{end - 330:.1f}" height="14" fill="{COLOURS[name]}">'
            f"<title>{html.escape(name)}: {entry(cell, row)}</title></rect>"
            f'<text x="{end + 4:.1f}" y="{y + 12}">{html.escape(name)} {rate(cell, row):,.0f}</text>'
        )
        y += 17
    return f'<svg viewBox="0 0 960 {y + 10}" role="img">{"".join(parts)}</svg>'


def page(results):
    out = ['<!doctype html><html lang="en"><meta charset="utf-8">',
           '<meta name="viewport" content="width=device-width, initial-scale=1">',
           f"<title>The index beside other libraries</title><style>{STYLE}</style>",
           "<h1>The index beside other libraries</h1>",
           "<p>Queries per second (bars on a logarithmic scale), and in brackets how many times as fast as FAISS' "
           "IndexBinaryFlat in the same round.</p><ul>"]
    out += [f"<li>{html.escape(line)}</li>" for line in remarks(results)] + ["</ul>"]
    for name, cells in groups(results).items():
        columns = names_of(cells)
        out.append(f"<h2>{html.escape(name)}</h2>{bars(cells)}<table><tr><th></th>")
        out += [f"<th>{html.escape(c)}</th>" for c in columns] + ["</tr>"]
        for cell in cells:
            values = "".join(f"<td>{entry(cell, cell['rows'][c]) if c in cell['rows'] else ''}</td>" for c in columns)
            out.append(f"<tr><td>{html.escape(cell['title'])}</td>{values}</tr>")
        out.append("</table>")
    return "\n".join(out) + "</html>\n"


def write(results, folder):
    (folder / "RESULTS.md").write_text(text(results))
    (folder / "report.html").write_text(page(results))
