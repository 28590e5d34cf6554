"""Writes what was measured, as a text with tables and as a page with plots.

    python report.py           # results/RESULTS.md and results/report.html, from results/results.json
    python report.py --docs    # and the tables in README.md and docs/speed.md that are marked as coming from here
"""

import html
import json
import pathlib
import sys

import sections
from drawing import bars

HERE = pathlib.Path(__file__).parent
TITLE = "The index beside other libraries"
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


def table_text(table):
    lines = ["| " + " | ".join(table.columns) + " |", "|---" * len(table.columns) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in table.rows])


def text(found):
    lines = [f"# {TITLE}", "", "`bench/run` writes this; [bench/README.md](../README.md) says what is measured.", ""]
    for section in found:
        lines += [f"{'#' * section.level} {section.title}", ""]
        lines += [part + "\n" for part in section.paragraphs]
        if section.items:
            lines += [f"* {item}" for item in section.items] + [""]
        if section.table:
            lines += [table_text(section.table), ""]
    return "\n".join(lines)


def page(found):
    out = ['<!doctype html><html lang="en"><meta charset="utf-8">',
           '<meta name="viewport" content="width=device-width, initial-scale=1">',
           f"<title>{TITLE}</title><style>{STYLE}</style><h1>{TITLE}</h1>"]
    for section in found:
        out.append(f"<h{section.level}>{html.escape(section.title)}</h{section.level}>")
        out += [f"<p>{html.escape(part)}</p>" for part in section.paragraphs]
        if section.items:
            out.append("<ul>" + "".join(f"<li>{html.escape(item)}</li>" for item in section.items) + "</ul>")
        if section.cells:
            out.append(bars(section.cells))
        if section.table:
            head = "".join(f"<th>{html.escape(name)}</th>" for name in section.table.columns)
            rows = ("".join(f"<td>{html.escape(value)}</td>" for value in row) for row in section.table.rows)
            out.append(f"<table><tr>{head}</tr>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>")
    return "\n".join(out) + "</html>\n"


def write(results, folder):
    found = sections.all_of(results)
    (folder / "RESULTS.md").write_text(text(found))
    (folder / "report.html").write_text(page(found))


def fill(path, blocks):
    """Puts tables between `<!-- bench NAME -->` and `<!-- bench end -->`; nothing else in the file changes."""
    content = path.read_text()
    for name, block in blocks.items():
        begin, end = f"<!-- bench {name} -->\n", "<!-- bench end -->"
        if begin in content:
            before, rest = content.split(begin, 1)
            if end not in rest:
                sys.exit(f"{path}: expected {end} after {begin.strip()}, found none")
            content = before + begin + block + "\n" + end + rest.split(end, 1)[1]
    path.write_text(content)


def main():
    results = json.loads((HERE / "results/results.json").read_text())
    write(results, HERE / "results")
    if "--docs" in sys.argv[1:]:
        blocks = {name: table_text(table) for name, table in sections.for_docs(results).items()}
        for path in ("README.md", "docs/speed.md"):
            fill(HERE.parent / path, blocks)


if __name__ == "__main__":
    main()
