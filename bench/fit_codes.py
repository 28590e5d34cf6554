"""Measures how the codes of real items are distributed. `cli/src/commands/size/codes.rs` generates codes with these numbers.

    bench/run --real                                        # once: makes the codes
    cd bench && .env/bin/python fit_codes.py work/tinyimagenet-cnn

Prints how many bits of an item's code differ from the centre of its class, at the middle of each sixteenth of the items.
Then compares the real codes with synthetic codes. Synthetic codes vary in the number of similar classes of a class, and in
the preference for flipping bits in which similar classes differ. For each set of codes the script prints the share of
distinct codes, and the mean distances of the nearest, the 10th and the 100th code.
"""

import pathlib
import sys

import numpy as np

BITS = 64
SIXTEENTHS = np.arange(1, 32, 2) / 32
QUERIES = 300


def words(path):
    return np.load(path).view(np.uint64).ravel()


def turned_bits(codes, labels):
    """Returns the number of bits in which each code differs from the majority of its class."""
    bits = np.unpackbits(codes.view(np.uint8).reshape(len(codes), -1), axis=1, bitorder="little")
    turned = np.empty(len(codes), int)
    for label in np.unique(labels):
        rows = bits[labels == label]
        turned[labels == label] = (rows != (rows.mean(0) > 0.5)).sum(1)
    return turned


def made_up(count, classes, turned, alike, preference, seed):
    """Generates codes of classes with flipped bits, mostly bits in which a similar class differs."""
    rng = np.random.default_rng(5)
    centres = rng.integers(0, 2, (classes, BITS)).astype(bool)
    others = rng.integers(0, classes, (classes, alike))
    rng = np.random.default_rng(seed)
    of = rng.integers(0, classes, count)
    other = others[of, rng.integers(0, alike, count)]
    # Gumbel-max trick: the largest keys are a weighted random sample of the bits.
    keys = rng.gumbel(size=(count, BITS)) + np.log(preference) * (centres[of] != centres[other])
    rank = np.argsort(np.argsort(-keys, axis=1), axis=1)
    bits = centres[of] ^ (rank < turned[rng.integers(0, len(turned), count)][:, None])
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint64).ravel()


def describe(name, codes, queries):
    found = np.array([np.partition(np.bitwise_count(codes ^ query), [0, 9, 99])[[0, 9, 99]] for query in queries[:QUERIES]])
    nearest = "  ".join(f"{distance:5.2f}" for distance in found.mean(0))
    print(f"{name:34} {len(np.unique(codes)) / len(codes):.3f} distinct; nearest, 10th, 100th: {nearest}")


def main():
    directory = pathlib.Path(sys.argv[1])
    codes, queries = words(directory / "brook-64.items.npy"), words(directory / "brook-64.queries.npy")
    labels = np.load(directory / "labels.npy").ravel()
    classes = len(np.unique(labels))
    turned = np.quantile(turned_bits(codes, labels), SIXTEENTHS).astype(int)
    print(f"{len(codes):,} codes of {classes} classes; bits turned: {turned.tolist()}")
    describe("real", codes, queries)
    for alike in (4, 8, classes - 1):
        for preference in (1, 8, 16, 32):
            made = (made_up(count, classes, turned, alike, preference, seed) for seed, count in ((2, len(codes)), (3, 1000)))
            describe(f"{alike} alike, {preference} times preferred", *made)


if __name__ == "__main__":
    main()
