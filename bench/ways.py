"""Measures the cost of search options compared with plain search, and the cost and benefit of the search structure in an index file.

Options that the command does not have are reported by name, and their rows are omitted."""

import json
import statistics
import subprocess

import numpy as np

import real_codes
from contenders import PROGRAM, WORK, build_index
from measuring import clocked
from synthetic import codes_of

# Name and options of `search`. The first entry is the baseline of the others.
WAYS = [
    ("plain", []),
    ("label bits weigh 4 times", ["--label-weight", "4"]),
    ("float queries", ["--float-query"]),
]


def help_of(*command):
    return subprocess.run([PROGRAM, *command, "--help"], check=True, capture_output=True, text=True).stdout


def searched(index, queries, options, repeat=1):
    """Searches in a new process. Returns the total seconds of the process, and the seconds of the search alone."""
    command = [PROGRAM, "search", "--index", index, *queries, "--json", "--out", WORK / "found.npz", "--threads", "1"]
    command += [*options, "--repeat", str(repeat)]
    wall, done = clocked(lambda: subprocess.run(command, check=True, capture_output=True, text=True))
    return wall, json.loads(done.stdout.splitlines()[-1])["seconds"]


def weighted(options, part):
    """Measures weighted searches in alternation with plain searches, on codes in which half of the bits are detail bits."""
    made = real_codes.codes_of("mnist", "brook detail=0.5", 64, options.quick)
    # Built from vectors, so that the index contains the hash function, which distinguishes label bits from detail bits.
    index = WORK / "weighted.index"
    items = made["directory"] / "items.npy"
    real_codes.run("index", "build", "--model", made["model"], "--data", items, "--out", index, "--force")
    index.read_bytes()
    known = help_of("search")
    there = [(name, asked) for name, asked in WAYS if not asked or asked[0] in known]
    part["weighted"] = {"codes": "mnist brook detail=0.5, 64 bits", "rows": [],
                        "missing": [asked[0] for _, asked in WAYS if asked and asked[0] not in known]}
    queries = ["--queries", made["directory"] / "queries.npy"]
    count = len(np.load(made["directory"] / "queries.npy", mmap_mode="r"))
    for k in (10, 100):
        times = {name: [] for name, _ in there}
        for _ in range(options.rounds):
            for name, asked in there:
                times[name].append(searched(index, queries, ["-k", str(k), *asked])[1])
        for name, asked in there:
            relative = statistics.median(plain / own for plain, own in zip(times["plain"], times[name]))
            part["weighted"]["rows"].append({"way": name, "options": asked, "k": k, "queries": count,
                                             "seconds": statistics.median(times[name]), "of_plain": relative})
    index.unlink()


def opening(options, part):
    """Measures the time to build a file with and without a search structure, and the time of a new process to its first answer."""
    count = 1_000_000 if options.quick else 10_000_000
    np.save(WORK / "codes.npy", codes_of("clustered", 64, count, 1))
    np.save(WORK / "asked.npy", codes_of("clustered", 64, 1, 2))
    part["opening"] = {"count": count, "rows": [], "missing": []}
    for structure in ("full", "small", "none"):
        name, asked = f"with --structure {structure}", ["--structure", structure]
        index = WORK / "opening.index"
        built = statistics.median(build_index(WORK / "codes.npy", index, *asked) for _ in range(options.rounds))
        size = len(index.read_bytes())
        runs = [searched(index, ["--codes", WORK / "asked.npy"], ["-k", "10"]) for _ in range(9)]
        part["opening"]["rows"].append({
            "file": name, "build_seconds": built, "file_bytes": size,
            "first_answer_seconds": statistics.median(wall for wall, _ in runs),
            "search_seconds": statistics.median(seconds for _, seconds in runs),
        })
        index.unlink()
