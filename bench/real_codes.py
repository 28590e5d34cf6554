"""Makes codes of real pictures, as a user would: learns and encodes with the `hashbrook` command."""

import gzip
import json
import os
import pathlib
import subprocess
import zlib

import numpy as np

HERE = pathlib.Path(__file__).parent
WORK = HERE / "work"
PROGRAM = pathlib.Path(os.environ.get("HASHBROOK", HERE.parent / "target/release/hashbrook"))

METHODS = {
    "brook": ["--method", "brook"],
    "brook detail=0": ["--method", "brook", "--set", "detail=0"],
    "brook detail=0.5": ["--method", "brook", "--set", "detail=0.5"],
    "bsodh": ["--method", "bsodh"],
    "mihash": ["--method", "mihash"],
    "lsh": ["--method", "lsh"],
}
LEARNED_ROWS = 20_000
QUERIES = 1_000


class NoData(Exception):
    """The data sets are not on this machine. The message names the directories that were searched."""


def data_folder():
    """Returns the directory that HASHBROOK_DATA names, or else ../shared/data or ./data, as the tests do."""
    named = os.environ.get("HASHBROOK_DATA")
    places = [pathlib.Path(named)] if named else [HERE.parent.parent / "shared/data", HERE.parent / "data"]
    for place in places:
        if (place / "mnist").is_dir() and (place / "tinyimagenet-cnn").is_dir():
            return place
    looked = " and ".join(str(place) for place in places)
    raise NoData(f"expected the directories mnist and tinyimagenet-cnn in {looked}, found no such; "
                 "HASHBROOK_DATA=DIRECTORY says where they are")


def read_idx(path):
    data = gzip.decompress(path.read_bytes())
    axes = data[3]
    shape = [int.from_bytes(data[4 + 4 * axis : 8 + 4 * axis], "big") for axis in range(axes)]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape(shape)


def shifted(pictures, down, right):
    """Returns the pictures shifted by some pixels, with black pixels at the uncovered edges."""
    moved = np.zeros_like(pictures)
    size = pictures.shape[1]
    to = lambda by: slice(max(0, by), size + min(0, by))
    moved[:, to(down), to(right)] = pictures[:, to(-down), to(-right)]
    return moved


def make_mnist(data, directory, reach):
    """Writes 1,000 pictures as queries, and the others as items, shifted by up to `reach` pixels both ways, in random order."""
    parts = [(data / "mnist" / f"{part}-{what}-ubyte.gz") for what in ("images-idx3", "labels-idx1")
             for part in ("train", "t10k")]
    pictures = np.concatenate([read_idx(path) for path in parts[:2]])
    labels = np.concatenate([read_idx(path) for path in parts[2:]])
    rng = np.random.default_rng(1)
    order = rng.permutation(len(pictures))
    pictures, labels = pictures[order], labels[order]
    queries, pictures, labels = pictures[:QUERIES], pictures[QUERIES:], labels[QUERIES:]
    shifts = [(down, right) for down in range(-reach, reach + 1) for right in range(-reach, reach + 1)]
    count, pixels = len(pictures), pictures[0].size
    places = rng.permutation(len(shifts) * count)
    items = np.lib.format.open_memmap(directory / "items.npy", "w+", np.uint8, (len(places), pixels))
    item_labels = np.empty(len(places), np.uint8)
    for at, (down, right) in enumerate(shifts):
        here = places[at * count : (at + 1) * count]
        items[here] = shifted(pictures, down, right).reshape(count, pixels)
        item_labels[here] = labels
    items.flush()
    np.save(directory / "labels.npy", item_labels)
    np.save(directory / "queries.npy", queries.reshape(len(queries), pixels))


def make_tiny(data, directory, per_class):
    """Writes `per_class` rows of each class as queries, of which 1,000 are used, and the other rows as items."""
    rows = np.load(data / "tinyimagenet-cnn/features.npy")
    labels = np.load(data / "tinyimagenet-cnn/labels.npy")
    order = np.random.default_rng(1).permutation(len(rows))
    rows, labels = rows[order], labels[order]
    is_query = np.zeros(len(rows), bool)
    for label in np.unique(labels):
        is_query[np.flatnonzero(labels == label)[:per_class]] = True
    np.save(directory / "items.npy", rows[~is_query])
    np.save(directory / "labels.npy", labels[~is_query])
    np.save(directory / "queries.npy", rows[is_query][:QUERIES])


def vectors(name, quick):
    """Returns the directory with a data set's items, labels and queries. Creates the directory if it does not exist."""
    directory = WORK / (f"{name}-quick" if quick else name)
    if not (directory / "made").exists():
        print(f"{directory.name}: making items and queries", flush=True)
        directory.mkdir(parents=True, exist_ok=True)
        if name == "mnist":
            make_mnist(data_folder(), directory, 0 if quick else 2)
        else:
            make_tiny(data_folder(), directory, 20)
        (directory / "made").touch()
    return directory


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"hashbrook {' '.join(map(str, arguments))} failed: {done.stderr.strip()}")
    return done.stdout


def codes_of(name, method, bits, quick, anew=False):
    """Returns the files of a data set's codes (items and queries) and of the model. Creates the files if they do not exist.

    Existing codes are those of the program version that first made them; `anew` makes them again with the current program."""
    directory = vectors(name, quick)
    stem = f"{method.replace(' ', '-').replace('=', '')}-{bits}"
    made = {what: directory / f"{stem}.{what}" for what in ("items.npy", "queries.npy", "model")}
    asked = [*METHODS[method], "--bits", str(bits), "--rows", str(LEARNED_ROWS)]
    note = directory / f"{stem}.json"
    fresh = note.exists() and json.loads(note.read_text())["asked"] == asked
    if anew or not fresh or not all(path.exists() for path in made.values()):
        print(f"{directory.name}: learning and encoding by {method}, {bits} bits", flush=True)
        for path in (note, *made.values()):
            path.unlink(missing_ok=True)
        run("learn", "--data", directory / "items.npy", "--labels", directory / "labels.npy", *asked,
            "--out", made["model"])
        for what in ("items", "queries"):
            run("encode", "--data", directory / f"{what}.npy", "--model", made["model"], "--out", made[f"{what}.npy"])
        checksum = zlib.crc32(made["items.npy"].read_bytes())
        note.write_text(json.dumps({"asked": asked, "crc32": f"{checksum:08x}"}) + "\n")
    return {"directory": directory, "items": made["items.npy"], "queries": made["queries.npy"],
            "model": made["model"], "crc32": json.loads(note.read_text())["crc32"]}
