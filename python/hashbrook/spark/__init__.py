"""hashbrook on Apache Spark: data that outgrows one machine, with the same kernels and the same results.

::

    import hashbrook.spark as hs                      # pip install hashbrook[spark]

    model = hs.learn(df, column="vector", label_column="label", bits=64)
    codes = hs.encode(df, model.hash_function())      # all columns but the vectors, and "code"
    hits = hs.search(codes, queries, k=10, function=model.hash_function())

* :func:`learn` learns brook from a frame: the model equals that of one machine, to the last bit.
* :func:`encode` computes codes, :func:`search` and :func:`within` find the nearest items, :func:`dedup` finds
  near-duplicates, and :func:`evaluate` measures quality. All results equal those of one index of all codes.
* :func:`renew` writes codes of a newer function next to the old codes and switches atomically. :func:`read_codes` reads
  the codes, :func:`versions` lists their versions, and :func:`vacuum` removes old versions.
* :func:`learn_stream` learns from a stream, each batch exactly once.

Frames have a column of vectors (``vector``), a column of ids (``id``), and any other columns. Vectors are arrays of
numbers, or bytes of float32, which Spark moves far faster. Ids are integers or strings. Errors for null, ragged or
non-finite vectors name the partition and row. Tasks hold a bounded number of rows, however large a partition is.
"""

# Notes for maintainers. This package is Python alone: every call is one or two passes of `mapInArrow`, in which a task turns columns of
# Arrow into arrays (`_columns.py`, which reports errors of a row by partition and number) and calls what one machine calls.
#
# * `learn`: the driver learns the warm-up and each partition a sibling of that model. Neighbours are merged in order, in groups of eight
#   (`Model::merge_part`), so that labels get the numbers that they would get in one stream.
# * `search`, `within`: an index for every million codes of a partition, while they are searched. Ids are mapped to numbers in the same
#   order (`_columns.to_numbers`), so that ties are ordered as in one index. Spark merges by distance and id.
# * `dedup`: a code is sent, once for each of `radius + 1` parts, to the task of all codes with that part. There the index finds groups,
#   and stars of pairs are joined until every item points to the smallest id of its chain.
# * `evaluate`: `eval::parts`, a pass that counts and a pass that ranks.
# * `renew`, `learn_stream`: a table is a directory with data and a log. A change counts when its file in the log exists, which is written
#   to a temporary name and renamed. A stream names its query and batch there and in the name of the model's file, so that a repeated
#   batch is recognised.

from ._dedup import dedup
from ._encode import encode
from ._evaluate import evaluate
from ._learn import learn
from ._search import search, within
from ._stream import learn_stream, load_model
from ._table import read_codes, renew, vacuum, versions

__all__ = [
    "dedup",
    "encode",
    "evaluate",
    "learn",
    "learn_stream",
    "load_model",
    "read_codes",
    "renew",
    "search",
    "vacuum",
    "versions",
    "within",
]
