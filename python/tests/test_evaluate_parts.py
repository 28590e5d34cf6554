"""Evaluation of a database in parts: results equal those of the whole database, to the last bit."""

import numpy as np
import pytest

import hashbrook
from hashbrook import _hashbrook as native
from hashbrook._labels import labels


def in_parts(bits, queries, query_labels, parts, names=None):
    """Evaluates in two passes over the parts. In the second pass each part is ranked in two pieces."""
    asked = (bits, queries, labels(query_labels))
    tallies = [native.tally_part(asked, codes, labels(y)) for codes, y in parts]
    total = np.sum(tallies, axis=0, dtype=np.uint64)
    before = np.cumsum([np.zeros_like(total), *tallies], axis=0, dtype=np.uint64)
    ranks = []
    for at, (codes, y) in enumerate(parts):
        moved, half = before[at], len(codes) // 2
        for piece in (slice(0, half), slice(half, None)):
            found, moved = native.rank_part(asked, codes[piece], labels(y[piece]), total, moved, names)
            ranks.append(np.frombuffer(found.tobytes(), dtype=np.uint64))
        assert (moved == before[at + 1]).all()
    return native.score_parts(asked, total, ranks[::-1], names)


@pytest.fixture(scope="module")
def codes(function, digits):
    X, y = digits
    return function.encode(X), y


@pytest.mark.parametrize("cuts", [[], [1, 800], [700, 700, 1400]])
def test_parts_give_what_the_whole_gives(codes, cuts):
    codes, y = codes
    database, there, queries, asked = codes[:1500], y[:1500], codes[1500:], y[1500:]
    whole = hashbrook.evaluate(64, queries, asked, database, there)
    parts = list(zip(np.split(database, cuts), np.split(there, cuts)))
    assert in_parts(64, queries, asked, parts) == whole
    names = ["ndcg@7", "mAP"]
    found = in_parts(64, queries, asked, parts, names)
    assert found == hashbrook.evaluate(64, queries, asked, database, there, metrics=names)


def test_rows_may_have_several_labels_or_none(codes):
    codes, y = codes
    texts = [[], ["odd"] if y[0] % 2 else ["even"], *[[str(d), "odd" if d % 2 else "even"] for d in y[2:]]]
    database, there, queries, asked = codes[100:900], texts[100:900], codes[:100], texts[:100]
    # These labels occur in no query and have different numbers in each part.
    there[::3] = [[f"none-{at}", *row] for at, row in enumerate(there[::3])]
    whole = hashbrook.evaluate(64, queries, asked, database, there)
    parts = [(database[a:b], there[a:b]) for a, b in [(0, 10), (10, 500), (500, 800)]]
    assert in_parts(64, queries, asked, parts) == whole


def test_what_does_not_fit_is_refused(codes):
    codes, y = codes
    asked = (64, codes[:10], labels(y[:10]))
    part = (codes[10:200], labels(y[10:200]))
    total = native.tally_part(asked, *part)
    nothing = np.zeros_like(total)
    ranks, moved = native.rank_part(asked, *part, total, nothing)
    assert (moved == total).all()
    with pytest.raises(ValueError, match="as tallied, not 380"):
        native.score_parts(asked, total, [ranks, ranks])
    with pytest.raises(ValueError, match="as tallied, not 0"):
        native.score_parts(asked, total, [])
    with pytest.raises(ValueError, match="as tallied"):
        native.rank_part(asked, *part, total, total)
    with pytest.raises(ValueError, match="a tally must be"):
        native.rank_part(asked, *part, total[1:], nothing)
    with pytest.raises(ValueError, match="ranks must be"):
        native.score_parts(asked, total, [ranks[:-1]])
    with pytest.raises(ValueError, match="database must be 1 or more"):
        native.score_parts(asked, nothing, [])
