"""Near-duplicates in a directory of photographs: smaller, recompressed, cropped or brighter copies.

A photograph becomes 224 numbers (brightness, edge directions and colours by region), and these become a code of
48 bits. Photographs whose codes differ in at most 6 bits form a group. Nothing is labelled, so the example uses a
method that takes no labels. A contact sheet shows the groups. Needs Pillow:

    pip install Pillow
    python python/examples/near_duplicate_photos.py DIRECTORY --out groups.png

Without DIRECTORY the example creates the directory `photos-3`, with parts of the two photographs that scikit-learn
includes (pip install scikit-learn) and four copies of each part, and prints how many of them it found.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

from hashbrook import Index, Model


def features(picture):
    """Returns brightness (8 x 8), edge directions (8 directions in 4 x 4 regions) and colours (4 x 4 x 2).

    The numbers are rounded to a grid at the end, and no edge lies between two directions. The numbers, and so the
    groups, are therefore the same on machines whose arithmetic differs in the last digit.
    """
    gray = np.asarray(picture.convert("L").resize((64, 64), Image.Resampling.BOX), dtype=np.float64)
    bright = gray.reshape(8, 8, 8, 8).mean(axis=(1, 3))
    bright -= bright.mean()
    down, right = np.gradient(gray)
    direction = np.rint(np.arctan2(down, right) / np.pi * 8).astype(int) % 8
    place = np.arange(64)[:, None] // 16 * 4 + np.arange(64) // 16
    edges = np.bincount((place * 8 + direction).ravel(), np.hypot(down, right).ravel(), minlength=128)
    colours = np.asarray(picture.convert("YCbCr").resize((4, 4), Image.Resampling.BOX), dtype=np.float64)[:, :, 1:]
    parts = bright / (np.linalg.norm(bright) + 1e-6), np.sqrt(edges / (edges.sum() + 1e-6)), colours / 128 - 1
    return np.concatenate([part.ravel() for part in parts]).round(3)


def make_photographs(directory, across):
    """Writes square parts of two photographs, each with a smaller, recompressed, cropped and brighter copy."""
    from sklearn.datasets import load_sample_images

    directory.mkdir(exist_ok=True)
    side = 640 // across
    for name, pixels in zip(("china", "flower"), load_sample_images().images):
        for number in range(across * (427 // side)):
            left, top, file = number % across * side, number // across * side, directory / f"{name}-{number}"
            part = Image.fromarray(pixels).crop((left, top, left + side, top + side))
            part.save(f"{file}.jpg", quality=90)
            part.resize((side // 2, side // 2)).save(f"{file}.small.jpg", quality=90)
            part.save(f"{file}.recompressed.jpg", quality=15)
            ImageOps.crop(part, side // 26).save(f"{file}.cropped.jpg", quality=90)
            ImageEnhance.Brightness(part).enhance(1.3).save(f"{file}.brighter.jpg", quality=90)


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("directory", nargs="?", type=Path, metavar="DIRECTORY", help="pictures (default: made: photos-3)")
parser.add_argument("--method", default="itq", help="one that takes no labels: itq (the default), lsh, sketchhash")
parser.add_argument("--bits", type=int, default=48)
parser.add_argument("--radius", type=int, default=6, help="in how many bits near-duplicates may differ (6)")
parser.add_argument("--out", type=Path, default="groups.png", help="the contact sheet, a PNG file (groups.png)")
parser.add_argument("--across", type=int, default=3, choices=range(2, 11), metavar="N",
                    help="without DIRECTORY: how many parts side by side (3)")
asked = parser.parse_args()
directory = asked.directory or Path(f"photos-{asked.across}")
if asked.directory is None:
    make_photographs(directory, asked.across)
names, vectors = [], []
for file in sorted(file for file in directory.rglob("*") if file.suffix.lower() in Image.registered_extensions()):
    try:
        vectors.append(features(Image.open(file).convert("RGB")))
        names.append(str(file.relative_to(directory)))
    except OSError as problem:
        print(f"left out {file}: {problem}", file=sys.stderr)
if len(names) < 2:
    parser.error(f"found {len(names)} pictures in {directory}: it takes a directory with two or more")

model = Model(asked.method, dim=224, bits=asked.bits)
model.learn(vectors)
index = Index(model.hash_function())
index.add(names, vectors)
groups = index.duplicates(asked.radius)

for group in groups:
    print(*group)
print(f"{len(names)} pictures, {len(groups)} groups within {asked.radius} of {asked.bits} bits by {asked.method}")
if asked.directory is None:
    of = [{name.split(".")[0] for name in group} for group in groups]
    whole = sum(len(group) == 5 and len(photographs) == 1 for group, photographs in zip(groups, of))
    mixed = sum(len(photographs) > 1 for photographs in of)
    print(f"{whole} of {len(names) // 5} photographs have all their copies in one group; {mixed} groups mix photographs")
if groups:
    side = 72
    sheet = Image.new("RGBA", (max(map(len, groups)) * side, len(groups) * side))      # transparent
    for row, group in enumerate(groups):
        for column, name in enumerate(group):
            picture = Image.open(directory / name).convert("RGB")
            sheet.paste(ImageOps.pad(picture, (68, 68), color="white"), (column * side + 2, row * side + 2))
    sheet.quantize(128).save(asked.out)
