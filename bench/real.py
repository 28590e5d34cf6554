"""The first table: codes of real pictures, as a user has them, on one thread."""

import numpy as np

import real_codes
from contenders import WORK, Hashbrook, Usearch, build_index, flat, flat_counting, hnsw, ivf, multi_hash
from lance_table import Lance
from measuring import measure

# Hits within the radius that all queries together may have: supervised codes can have 100,000 for each.
HITS = 12_000_000
TASKS = [
    {"k": 10, "single": False, "title": "top 10"},
    {"k": 100, "single": False, "title": "top 100"},
    {"k": 1000, "single": False, "title": "top 1,000"},
    {"radius": 2, "single": False, "title": "within 2"},
    {"k": 10, "single": True, "title": "top 10, one at a time"},
]
FRESH, WARM = "hashbrook fresh", "hashbrook warm"


def grid(quick):
    """Data set, method and bits, those first that users meet first."""
    if quick:
        return [("mnist", method, 64) for method in ("brook", "lsh")] + [("tinyimagenet-cnn", "brook", 64)]
    return [(name, method, bits) for name in ("mnist", "tinyimagenet-cnn") for bits in (64, 128)
            for method in real_codes.METHODS]


def others_for(name, method, bits, database, items):
    """The libraries that are asked on some of the codes alone, as they are slow, or slow to build."""
    lists = 1024 if len(database) > 1_000_000 else 256
    # Fifty codes for each list: with more, training takes minutes and recall is the same.
    by_lists = lambda: ivf(bits, database, lists, 50 * lists)
    if bits == 64 or name != "mnist":
        yield flat_counting(bits, database)
    if (method, bits) == ("brook", 64):
        yield by_lists()
        yield hnsw(bits, database)
        yield multi_hash(bits, database, limit=40)
        yield Usearch(database, limit=20)
        yield Lance(items, WORK / "lance")
        yield Lance(items, WORK / "lance-ivf", index=True)
    elif method in ("brook", "brook detail=0", "brook detail=0.5", "lsh") and (bits == 64 or method == "brook"):
        yield by_lists()
        yield multi_hash(bits, database, limit=40)


def takes_part(it, task):
    """Which of the others are asked what: those that can, and what tells most."""
    if "radius" in task:
        return it.name in ("FAISS MultiHash", "LanceDB exact")
    if task["single"]:
        return it.name in ("FAISS IVF", "FAISS HNSW", "LanceDB exact", "LanceDB IVF")
    if it.name == "FAISS IndexBinaryFlat, counting":
        return True
    if it.name in ("FAISS IVF", "FAISS HNSW"):
        return task["k"] <= 100
    return task["k"] == 10


def queries_for(task, queries, index):
    """As many queries as the task can have: all, one hundred singly, within a radius those that fit."""
    if task["single"]:
        return queries[:100]
    if "radius" in task:
        some = index.run(queries[:50], {**task, "threads": 1})[1]
        each = some[:, :-1].sum() / len(some)
        return queries[: int(max(20, HITS // max(1, each)))]
    return queries


def run(options, part, save):
    """Measures everything, and calls `save` after each set of codes."""
    part["cells"], part["indexes"] = [], []
    for name, method, bits in grid(options.quick):
        made = real_codes.codes_of(name, method, bits, options.quick, options.anew)
        database, queries = np.load(made["items"]), np.load(made["queries"])
        index = WORK / "real.index"
        built = build_index(made["items"], index)
        # Into the page cache, if building has not left it there.
        size = len(index.read_bytes())
        codes = f"{name} {method}, {bits} bits"
        distinct = len(np.unique(database.view(f"V{database.shape[1]}")))
        reference = flat(bits, database)
        ours = [Hashbrook(index, FRESH, fresh=True), Hashbrook(index, WARM)]
        others = list(others_for(name, method, bits, database, made["items"]))
        part["indexes"].append({
            "codes": codes, "data": name, "method": method, "bits": bits, "count": len(database),
            "distinct": distinct, "crc32": made["crc32"], "build_seconds": built, "file_bytes": size,
            "others_build_seconds": {it.name: it.build_seconds for it in others if hasattr(it, "build_seconds")},
        })
        for task in TASKS:
            task = {**task, "threads": 1}
            asked = queries_for(task, queries, reference)
            contenders = [*ours, reference, *(it for it in others if takes_part(it, task))]
            rows = measure(contenders, asked, task, options.rounds)
            part["cells"].append({"codes": codes, "data": name, "method": method, "bits": bits,
                                  "count": len(database), "task": task, "title": task["title"], "rows": rows})
            said = ", ".join(f"{it} {rows[it]['queries'] / rows[it]['seconds']:,.0f} queries/s "
                             f"({rows[it]['ratio']:.2f} x FAISS IndexBinaryFlat)" for it in (FRESH, WARM))
            print(f"{codes}, {len(database):,} codes, {task['title']}: {said}", flush=True)
        save()
