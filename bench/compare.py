"""Lets hashbrook and other libraries search the same codes in turn, and writes what they took."""

import argparse
import importlib.metadata
import json
import pathlib
import platform
import sys
import time

import real
import real_codes
import report
import synthetic
import ways
from contenders import HERE, WORK
from measuring import Differs

LIBRARIES = {"FAISS": "faiss-cpu", "USearch": "usearch", "LanceDB": "lancedb", "numpy": "numpy"}


def description(rounds, quick):
    """Returns the machine, the date, the library versions and the number of rounds of a part."""
    machine = platform.processor() or platform.machine()
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            machine = line.split(":")[1].strip()
    versions = {name: importlib.metadata.version(package) for name, package in LIBRARIES.items()}
    return {"machine": machine, "date": time.strftime("%Y-%m-%d"), "versions": versions, "rounds": rounds,
            "quick": quick}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", action="store_true", help="codes of real pictures alone")
    parser.add_argument("--synthetic", action="store_true", help="synthetic codes alone")
    parser.add_argument("--quick", action="store_true", help="few codes, one round: to see that all of it works")
    parser.add_argument("--rounds", type=int, help="how often each is measured in turn [default: 3; quick: 1]")
    parser.add_argument("--anew", action="store_true", help="learn and encode again what is in bench/work")
    parser.add_argument("--out", type=pathlib.Path, help="a directory [default: results, and with --quick work, beside this file]")
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 3)
    out = options.out or (WORK / "quick" if options.quick else HERE / "results")
    WORK.mkdir(exist_ok=True)
    out.mkdir(exist_ok=True, parents=True)
    both = options.real == options.synthetic
    # Keeps the results of parts that this run does not measure.
    results = json.loads((out / "results.json").read_text()) if (out / "results.json").exists() else {}

    def save():
        """Writes the results. Called after each set of codes, so that a stopped run keeps its measurements."""
        (out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
        report.write(results, out)

    def measured(name, *works):
        part = results[name] = description(options.rounds, options.quick)
        start = time.perf_counter()
        for work in works:
            work(part)
            part["minutes"] = (time.perf_counter() - start) / 60
            save()

    if options.real or both:
        try:
            real_codes.data_folder()
        except real_codes.NoData as error:
            if not both:
                sys.exit(f"bench: {error}")
            print(f"left out: codes of real pictures: {error}", file=sys.stderr)
        else:
            measured("real", lambda part: real.run(options, part, save), lambda part: ways.weighted(options, part))
    if options.synthetic or both:
        measured("synthetic", lambda part: ways.opening(options, part),
                 lambda part: synthetic.run(options, part, save))
    print(f"written: {out / 'RESULTS.md'} and {out / 'report.html'}")


if __name__ == "__main__":
    try:
        main()
    except Differs as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit("bench: stopped; what was measured is written")
