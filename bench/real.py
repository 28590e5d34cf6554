"""The first table: codes of real pictures, made as a user would make them, searched on one thread."""

import numpy as np

import real_codes
from contenders import WORK, Hashbrook, Usearch, build_index, flat, flat_counting, hnsw, ivf, multi_hash
from lance_table import Lance
from measuring import measure

# Maximum number of hits within the radius, for all queries together. With supervised codes, one query can have 100,000 hits.
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
    """Returns data sets, methods and numbers of bits, beginning with those that users meet first."""
    if quick:
        return [("mnist", method, 64) for method in ("brook", "lsh")] + [("tinyimagenet-cnn", "brook", 64)]
    return [(name, method, bits) for name in ("mnist", "tinyimagenet-cnn") for bits in (64, 128)
            for method in real_codes.METHODS]


def others_for(name, method, bits, database, items):
    """Yields the libraries that search only some of the codes, because their search or their build is slow."""
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
    """Returns whether a library runs a task: it must support the task, and its result must be informative."""
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
    """Returns the queries of a task: one hundred for single queries, as many as `HITS` allows within a radius, otherwise all."""
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
        # Reads the file into the page cache, in case the build has not left it in the cache.
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
