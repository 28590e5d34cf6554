"""hashbrook on Apache Spark: what outgrows one machine, with the same kernels and the same results.

::

    import hashbrook.spark as hs                      # pip install hashbrook[spark]

    model = hs.learn(df, column="vector", label_column="label", bits=64)
    codes = hs.encode(df, model.hash_function())      # all columns but the vectors, and "code"
    hits = hs.search(codes, queries, k=10, function=model.hash_function())

* :func:`learn` learns brook from a frame: the model is that of one machine, to the last bit.
* :func:`encode` makes codes, :func:`search` and :func:`within` find the nearest, :func:`dedup` near-duplicates,
  :func:`evaluate` measures; what they find is what one index of all codes finds.
* :func:`renew` writes codes of a newer function beside the old ones and switches at once; :func:`read_codes` reads
  them, :func:`versions` lists what there is, and :func:`vacuum` removes what is old.
* :func:`learn_stream` learns from a stream, each batch exactly once.

Frames have a column of vectors (``vector``), which are arrays of numbers, or bytes of float32, which Spark moves far faster; a column of ids, whole numbers or texts (``id``), and all others
that you like; what is null, ragged or not finite is told by its partition and row. Tasks hold a bounded number of rows,
however large a partition is.
"""

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
