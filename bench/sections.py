"""The sections of the report, independent of its output format."""

import dataclasses

from drawing import names_of, number, rate

FRESH, WARM, FLAT, COUNTING = "hashbrook fresh", "hashbrook warm", "FAISS IndexBinaryFlat", "FAISS IndexBinaryFlat, counting"
DATA = {"mnist": "MNIST, shifted", "tinyimagenet-cnn": "Tiny-ImageNet features"}


@dataclasses.dataclass
class Table:
    columns: list
    rows: list


@dataclasses.dataclass
class Section:
    level: int
    title: str
    paragraphs: list = dataclasses.field(default_factory=list)
    items: list = dataclasses.field(default_factory=list)
    table: Table = None
    cells: list = None


def grouped(cells, key):
    """Groups cells by `key`, in the order in which they were measured."""
    found = {}
    for cell in cells:
        found.setdefault(key(cell), []).append(cell)
    return found


def times(ratio):
    return f"{ratio:.{0 if ratio >= 100 else 1 if ratio >= 10 else 2}f} x"


def micros(row):
    return f"{number(1e6 * row['seconds'] / row['queries'])} us"


def entry(row, own=True):
    """Returns a table cell: queries per second, the time of one query, and further measurements of the row."""
    parts = [micros(row), times(row["ratio"])] if own else [micros(row)]
    # With fewer hits per query, the search for the hits dominates the time.
    if row.get("hits", 0) >= 10 * row["queries"]:
        parts.append(f"{number(1e9 * row['seconds'] / row['hits'])} ns a hit")
    if "recall" in row:
        parts.append(f"recall {row['recall']:.3f}")
    return f"{number(rate(row))} ({', '.join(parts)})"


def measured_with(part):
    versions = ", ".join(f"{name} {version}" for name, version in part["versions"].items())
    quick = " A quick run, of few codes: its figures mean little." if part.get("quick") else ""
    return (f"Machine: {part['machine']}. {versions}. {part['date']}. Medians of {part['rounds']} interleaved "
            f"round{'s' if part['rounds'] > 1 else ''}.{quick}")


def place(cell):
    return f"{DATA.get(cell['data'], cell['data'])}: {cell['count']:,} codes of {cell['bits']} bits"


def ratios(cells, contender):
    """Tables a contender's speed relative to FAISS IndexBinaryFlat, with a row for each set of codes and a column for each task."""
    titles = list(dict.fromkeys(cell["title"] for cell in cells))
    rows = []
    for codes, some in grouped(cells, lambda cell: (cell["data"], cell["method"], cell["bits"])).items():
        by_title = {cell["title"]: cell["rows"] for cell in some}
        values = [times(by_title[title][contender]["ratio"]) if title in by_title else "" for title in titles]
        rows.append([f"{DATA.get(codes[0], codes[0])}, {codes[1]}, {codes[2]} bits", *values])
    return Table(["codes", *titles], rows)


def of_place(cells, indexes):
    """Returns the table of one data set and code length, with every method and task."""
    rows = []
    for cell in cells:
        within = next((row["hits"] / row["queries"] for row in cell["rows"].values() if "hits" in row), None)
        title = cell["title"] + (f", {number(within)} hits each" if within is not None else "")
        fresh = cell["rows"][FRESH]
        command = f"{number(1e3 * fresh['wall'])} ms" if "wall" in fresh else ""
        rows.append([f"{cell['method']}: {title}", entry(fresh), entry(cell["rows"][WARM]),
                     entry(cell["rows"][FLAT], own=False),
                     entry(cell["rows"][COUNTING]) if COUNTING in cell["rows"] else "",
                     f"{cell['rows'][FLAT]['queries']:,}", command])
    distinct = ", ".join(f"{index['method']} {index['distinct']:,}" for index in indexes)
    return Table(["", FRESH, WARM, FLAT, COUNTING, "queries", "whole command"], rows), f"Distinct codes: {distinct}."


def of_others(part):
    """Returns the results of other libraries, on the codes that they searched."""
    cells = [cell for cell in part["cells"] if set(cell["rows"]) - {FRESH, WARM, FLAT, COUNTING}]
    cells = [{**cell, "shown": f"{cell['data'].split('-')[0]} {cell['method']} {cell['bits']}: {cell['title']}"}
             for cell in cells]
    if not cells:
        return []
    built = {}
    for index in part["indexes"]:
        for name, seconds in index["others_build_seconds"].items():
            if name == COUNTING:
                continue
            built.setdefault(name, []).append(f"{index['codes']} {seconds:,.1f} s")
    columns = [name for name in names_of(cells) if name != COUNTING]
    rows = [[cell["shown"], *(entry(cell["rows"][name], name != FLAT) if name in cell["rows"] else ""
                              for name in columns)] for cell in cells]
    items = [f"{name} was built in: {', '.join(seconds)}." for name, seconds in built.items()]
    return [Section(3, "Other libraries, on some of these codes", [
        "IVF (8 of its lists searched), HNSW (M 16) and MultiHash (4 maps) are not exact; their recall is the share of "
        "the k nearest distances, or of the hits within the radius, that they found. HNSW is built on brook's default "
        "codes of 64 bits alone, as it takes minutes. Slow ones are asked fewer queries; the ratio is per query."],
        items, Table(["", *columns], rows), cells)]


def of_weighted(part):
    if not part.get("weighted"):
        return []
    found = part["weighted"]
    missing = [f"Not measured, as this command has no such option: {', '.join(found['missing'])}."]
    rows = [[f"{row['way']}{' (`' + ' '.join(row['options']) + '`)' if row['options'] else ''}, top {row['k']}",
             number(rate(row)), f"{number(1e6 * row['seconds'] / row['queries'])} us", times(row["of_plain"])]
            for row in found["rows"]]
    return [Section(3, "Weighted queries beside plain ones", [
        f"{found['codes']}: a fresh process for each measurement, in alternation; the last column is the speed relative "
        "to plain search."], missing if found["missing"] else [],
        Table(["", "queries/s", "a query", "of plain"], rows))]


def of_real(part):
    found = [Section(2, "Codes of real pictures", [
        "One thread. hashbrook fresh is a new `hashbrook search` process for each measurement, on a file that `index "
        "build` wrote and that is in the page cache; hashbrook warm is one process that searches many times. Queries "
        "per second, the time of one, and how many times as fast as FAISS' IndexBinaryFlat in the same round. FAISS IndexBinaryFlat is "
        "that index as it comes; counting is its other way of selecting the nearest (`use_heap = False`), measured on "
        "some of the codes. hashbrook gives hits in order of distance and id; FAISS gives those within a radius in no "
        "order. The last column is a whole fresh command: started, opened, searched, results written."],
        [measured_with(part)])]
    cells, indexes = part["cells"], part["indexes"]
    if cells:
        found.append(Section(3, "hashbrook in a fresh process: how many times as fast as FAISS IndexBinaryFlat",
                             table=ratios(cells, FRESH)))
    for name, some in grouped(cells, place).items():
        here = [index for index in indexes if place(index) == name]
        table, distinct = of_place(some, here)
        shown = [{**cell, "shown": f"{cell['method']}: {cell['title']}",
                  "rows": {name: cell["rows"][name] for name in (FRESH, WARM, FLAT, COUNTING) if name in cell["rows"]}}
                 for cell in some]
        found.append(Section(3, name, [distinct], table=table, cells=shown))
    return found + of_others(part) + of_weighted(part)


def of_opening(part):
    if not part.get("opening"):
        return []
    found = part["opening"]
    rows = [[row["file"], f"{row['build_seconds']:.2f} s", f"{row['file_bytes'] / 1e6:,.0f} MB",
             f"{1e3 * row['first_answer_seconds']:.1f} ms", f"{1e3 * row['search_seconds']:.2f} ms"]
            for row in found["rows"]]
    missing = [f"Not measured, as this command has no such option: {', '.join(found['missing'])}."]
    return [Section(3, f"A file of {found['count']:,} codes: built, and opened to the first answer", [
        "One query, in a new process; from the start of the command to its end, and the search alone."],
        missing if found["missing"] else [],
        Table(["", "built in", "file", "first answer", "of it the search"], rows))]


def of_synthetic(part):
    found = [Section(2, "Synthetic codes", [
        "In a warm process. Queries per second, and in brackets the time of one and how many times as fast as FAISS' "
        "IndexBinaryFlat in the same round. scan: each query is compared with every code."], [measured_with(part)])]
    if part.get("ceilings"):
        ceilings = part["ceilings"]
        found[0].items += [f"One thread XORs and counts {ceilings['popcount']:.1f} G words/s in its cache, and reads "
                           f"{ceilings['read']:.2f} G words/s from memory."]
        # Each share was measured in alternation with the rate that it is a share of.
        found[0].items += [f"Share of that, one thread, clustered codes: {line}." for line in ceilings["shares"]]
    found += of_opening(part)
    named = lambda cell: f"{cell['count']:,} {cell['codes']} codes of {cell['bits']} bits"
    for name, cells in grouped(part.get("cells", []), named).items():
        columns = names_of(cells)
        rows = [[cell["title"], *(entry(cell["rows"][one], one != FLAT) if one in cell["rows"] else ""
                                  for one in columns)] for cell in cells]
        found.append(Section(3, name, table=Table(["", *columns], rows), cells=cells))
    return found


def all_of(results):
    found = []
    if "real" in results:
        found += of_real(results["real"])
    if "synthetic" in results:
        found += of_synthetic(results["synthetic"])
    return found


def for_docs(results):
    """Returns the tables of README.md and docs/speed.md, by the names in their `<!-- bench NAME -->` marks."""
    part = results.get("real", {"cells": [], "indexes": []})
    mnist = [cell for cell in part["cells"] if cell["data"] == "mnist"]
    short = [cell for cell in mnist if cell["bits"] == 64]
    if not short:
        return {}
    brook = [cell for cell in short if cell["method"] == "brook"]
    rows = [[cell["title"], *(number(rate(cell["rows"][name])) for name in (FRESH, WARM, FLAT)),
             times(cell["rows"][FRESH]["ratio"])] for cell in brook]
    return {"real-short": Table(["queries/s", "fresh process", "warm", "FAISS IndexBinaryFlat", "fresh beside FAISS"], rows),
            "real-ratios": ratios(part["cells"], FRESH)}
