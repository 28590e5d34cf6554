"""Exchange of codes with FAISS, USearch, LanceDB, PostgreSQL with pgvector, and ``numpy.packbits``.

hashbrook, FAISS, USearch and LanceDB pack codes least significant bit first. PostgreSQL's ``bit(n)`` and
``numpy.packbits`` with default settings have the most significant bit first (:func:`reverse_bits`). Distances do not
depend on the order as long as queries and items have the same order. A wrong order is therefore detected in two cases
only (:func:`check_codes`): if bits beyond the length of the codes are set, or if vectors are given and the function
encodes the vectors to other codes.

An engine needs to be installed only when its function is called (``pip install hashbrook[faiss]`` and so on).

>>> import numpy
>>> bits = numpy.array([[1, 0, 0, 0, 0, 0, 0, 0, 1, 1]])
>>> codes_from_bits(bits)
array([[1, 3]], dtype=uint8)
>>> reverse_bits(codes_from_bits(bits))
array([[128, 192]], dtype=uint8)
>>> bits_of(codes_from_bits(bits), 10).tolist() == bits.tolist()
True
"""

from __future__ import annotations

import hashlib
import importlib
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from ._convert import Path, codes, features, path, to_array
from ._function import HashFunction
from ._reader import Holder, as_given
from ._types import Bytes, Numbers

#: Header of a binary COPY of PostgreSQL (signature, flags, length of the extension), and its trailer.
_COPY_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_COPY_END = b"\xff\xff"
_REVERSED = np.packbits(np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)[:, ::-1], axis=1)[:, 0]


def _partner(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"this needs {module}: pip install hashbrook[{extra}]") from None


def codes_from_bits(bits: Any) -> Bytes:
    """Packs rows of zeros and ones (or of booleans) as :meth:`HashFunction.encode` packs codes."""
    array = to_array(bits)
    if array.ndim != 2 or array.dtype.kind not in "biu":
        raise TypeError(f"bits must be whole numbers or booleans of 2 dimensions, not {array.dtype} of {array.ndim}")
    if array.size and (int(array.min()) < 0 or int(array.max()) > 1):
        raise ValueError(f"bits must be 0 or 1, not from {int(array.min())} to {int(array.max())}")
    return np.packbits(array.astype(np.uint8), axis=1, bitorder="little")


def bits_of(packed: Any, bits: int) -> Bytes:
    """Unpacks codes to one column per bit, the inverse of :func:`codes_from_bits`."""
    return np.unpackbits(check_codes(packed, bits), axis=1, bitorder="little", count=bits)


def reverse_bits(packed: Any) -> Bytes:
    """Reverses the order of bits within each byte, between least and most significant bit first."""
    return _REVERSED[codes(packed)]


def check_codes(packed_: Any, bits: int, function: Optional[HashFunction] = None, X: Any = None) -> Bytes:
    """Checks that codes can be codes of ``bits`` bits in hashbrook's bit order, and returns them as an array.

    Raises ``ValueError`` if bits beyond the last are set. If a function and the vectors of the first rows are
    given, also raises ``ValueError`` if the function encodes these vectors to other codes; the message says
    whether reversed bits would match.
    """
    packed = codes(packed_)
    if packed.shape[1] != (bits + 7) // 8:
        raise ValueError(f"codes of {bits} bits have {(bits + 7) // 8} bytes each, these have {packed.shape[1]}")
    if bits % 8 and (packed[:, -1] >> (bits % 8)).any():
        row = int(np.flatnonzero(packed[:, -1] >> (bits % 8))[0])
        raise ValueError(
            f"the code in row {row} has bits set beyond the last of {bits}; "
            "if they are packed most significant bit first, use reverse_bits"
        )
    if X is not None:
        if function is None:
            raise ValueError("vectors are compared with codes by a function, and none is given")
        expected = function.encode(features(X))
        given = packed[: len(expected)]
        if given.shape != expected.shape:
            raise ValueError(f"there are {len(packed)} codes of {bits} bits for {len(expected)} vectors "
                             f"of a function of {function.bits} bits")
        if not np.array_equal(given, expected):
            hint = "they are packed most significant bit first: use reverse_bits"
            if not np.array_equal(_REVERSED[given], expected):
                hint = "nor does it with reversed bits"
            wrong = int((given != expected).any(axis=1).sum())
            raise ValueError(f"the function makes other codes of {wrong} of {len(expected)} vectors; {hint}")
    return packed


def codes_of(index: Holder) -> tuple[npt.NDArray[Any], Bytes]:
    """Returns all ids of an index or a snapshot, in the order of :meth:`Index.ids`, and their codes."""
    now = index._now()
    found = as_given(now, now.ids())
    packed = np.empty((len(found), (now.bits + 7) // 8), dtype=np.uint8)
    for row, id in enumerate(found.tolist()):
        item = now.get(id)
        if item is None:
            raise RuntimeError(f"a snapshot lists the id {id} and does not have it")
        packed[row] = item[0]
    return found, packed


def _numbers(index: Holder, engine: str) -> tuple[Numbers, Bytes]:
    if index._now().text_ids:
        raise ValueError(f"ids of {engine} are numbers, and those of this index are texts; number them yourself")
    return codes_of(index)


def _signed(ids: Numbers, engine: str) -> npt.NDArray[np.int64]:
    if len(ids) and int(ids.max()) >= 2**63:
        raise ValueError(f"ids of {engine} go up to 2^63 - 1, and one is {int(ids.max())}")
    return ids.astype(np.int64)


def to_faiss(index: Holder) -> Any:
    """Returns the codes as a FAISS ``IndexBinaryFlat``, in an ``IndexBinaryIDMap`` unless ids count up from 0.

    FAISS codes consist of whole bytes, so codes of other lengths are padded with zero bits, which do not change
    distances.
    """
    faiss = _partner("faiss", "faiss")
    ids, packed = _numbers(index, "FAISS")
    made = faiss.IndexBinaryFlat(packed.shape[1] * 8)
    if np.array_equal(ids, np.arange(len(ids))):
        made.add(packed)
        return made
    mapped = faiss.IndexBinaryIDMap(made)
    mapped.add_with_ids(packed, _signed(ids, "FAISS"))
    return mapped


def from_faiss(index: Any) -> tuple[Numbers, Bytes]:
    """Returns ids and codes of a FAISS binary index that stores codes unchanged: flat or HNSW, also with ids."""
    faiss = _partner("faiss", "faiss")
    inner = faiss.downcast_IndexBinary(index)
    ids = np.arange(inner.ntotal)
    if hasattr(inner, "id_map"):
        ids = faiss.vector_to_array(inner.id_map)
        inner = faiss.downcast_IndexBinary(inner.index)
    if hasattr(inner, "storage"):
        inner = faiss.downcast_IndexBinary(inner.storage)
    if not hasattr(inner, "xb"):
        raise TypeError(f"codes are read of flat and HNSW indexes of FAISS, not of {type(inner).__name__}")
    if len(ids) and int(ids.min()) < 0:
        raise ValueError(f"ids must be from 0 to 2^64 - 1, and one in the index of FAISS is {int(ids.min())}")
    packed = faiss.vector_to_array(inner.xb).reshape(inner.ntotal, inner.code_size)
    return ids.astype(np.uint64), packed


def to_usearch(index: Holder) -> Any:
    """Returns the codes as a USearch index of bits (``b1``) with Hamming distance.

    The ``search`` of USearch is approximate unless called with ``exact=True``.
    """
    usearch = _partner("usearch.index", "usearch")
    ids, packed = _numbers(index, "USearch")
    made = usearch.Index(ndim=packed.shape[1] * 8, metric=usearch.MetricKind.Hamming, dtype="b1")
    if len(ids):
        made.add(ids, packed)
    return made


def function_id(function: Optional[HashFunction]) -> str:
    """Returns a unique name of a function, which tags the version of a table that has its codes."""
    return "codes" if function is None else "function-" + hashlib.sha256(function.to_bytes()).hexdigest()[:16]


def to_lance(index: Holder, path_: Path, table: str = "codes") -> int:
    """Writes ids and codes (``FixedSizeList<uint8>``) to a LanceDB table as a new version; returns its number.

    The version is tagged with the function's name (:func:`function_id`), so that one table can store codes of
    several functions without mixing them.
    """
    lancedb, pa = _partner("lancedb", "lance"), _partner("pyarrow", "lance")
    ids, packed = codes_of(index)
    column = pa.FixedSizeListArray.from_arrays(pa.array(packed.reshape(-1)), packed.shape[1])
    schema = pa.schema(
        [("id", pa.string() if ids.dtype == object else pa.uint64()), ("code", column.type)], metadata={"hashbrook.bits": str(index.bits)}
    )
    rows = pa.table([pa.array(ids, schema.field("id").type), column], schema=schema)
    made = lancedb.connect(path(path_)).create_table(table, rows, mode="overwrite")
    name, version = function_id(index.function), int(made.version)
    if name in made.tags.list():
        made.tags.update(name, version)
    else:
        made.tags.create(name, version)
    return version


def from_lance(
    path_: Path, table: str = "codes", function: Optional[HashFunction] = None
) -> tuple[int, npt.NDArray[Any], Bytes]:
    """Reads the version that :func:`to_lance` wrote for a function: number of bits, ids and codes."""
    opened = _partner("lancedb", "lance").connect(path(path_)).open_table(table)
    name, tags = function_id(function), opened.tags.list()
    if name not in tags:
        raise ValueError(f"the table has no version of {name}; it has {', '.join(sorted(tags)) or 'none'}")
    opened.checkout(name)
    rows = opened.to_arrow()
    packed = to_array(rows["code"])
    bits = int((rows.schema.metadata or {}).get(b"hashbrook.bits", packed.shape[1] * 8))
    ids = to_array(rows["id"])
    return bits, ids if ids.dtype == object else ids.astype(np.uint64), check_codes(packed, bits)


def _copied(bits: int) -> np.dtype[Any]:
    """Returns the type of a row of a binary COPY: number of columns, then each column after its length, big-endian."""
    width = (bits + 7) // 8
    return np.dtype([("columns", ">i2"), ("id_bytes", ">i4"), ("id", ">i8"), ("code_bytes", ">i4"),
                     ("bits", ">i4"), ("code", "u1", (width,))])


def codes_to_pgvector(packed: Any, bits: int) -> list[str]:
    """Returns codes as strings of ``bit(n)``. The first bit is the leftmost, which ``get_bit(code, 0)`` returns.

    >>> import numpy
    >>> codes_to_pgvector(numpy.array([[0b01, 0b1]], dtype="uint8"), 9)
    ['100000001']
    """
    return ["".join(map(str, row)) for row in bits_of(packed, bits).tolist()]


def _table(table: str) -> Any:
    return _partner("psycopg.sql", "pgvector").Identifier(*table.split("."))


def copy_to_postgres(connection: Any, table: str, index: Holder) -> int:
    """Creates a table (``id bigint primary key, code bit(n)``) and copies ids and codes into it.

    Returns the number of rows. ``connection`` is a psycopg connection; the transaction is not committed. Search with
    pgvector's Hamming distance: ``ORDER BY code <~> %s::bit(64)``, with a query of :func:`codes_to_pgvector`.
    """
    sql = _partner("psycopg.sql", "pgvector")
    ids, packed = _numbers(index, "this table of PostgreSQL")
    bits = index.bits
    rows = np.zeros(len(ids), dtype=_copied(bits))
    rows["columns"], rows["id_bytes"], rows["id"] = 2, 8, _signed(ids, "PostgreSQL")
    rows["code_bytes"], rows["bits"], rows["code"] = 4 + packed.shape[1], bits, reverse_bits(packed)
    with connection.cursor() as cursor:
        made = sql.SQL("CREATE TABLE {} (id bigint PRIMARY KEY, code bit({}) NOT NULL)")
        cursor.execute(made.format(_table(table), sql.Literal(bits)))
        with cursor.copy(sql.SQL("COPY {} (id, code) FROM STDIN (FORMAT BINARY)").format(_table(table))) as copy:
            copy.write(_COPY_HEAD + rows.tobytes() + _COPY_END)
    return len(rows)


def copy_from_postgres(connection: Any, table: str) -> tuple[int, Numbers, Bytes]:
    """Reads a table as created by :func:`copy_to_postgres`: number of bits, ids and codes."""
    sql = _partner("psycopg.sql", "pgvector")
    chosen = sql.SQL("COPY (SELECT id::bigint, code FROM {} ORDER BY id) TO STDOUT (FORMAT BINARY)")
    with connection.cursor() as cursor:
        with cursor.copy(chosen.format(_table(table))) as copy:
            data = b"".join(bytes(part) for part in copy)
    data = data[len(_COPY_HEAD) : -len(_COPY_END)]
    if not data:
        raise ValueError(f"the table {table} is empty: nothing tells how many bits its codes have")
    bits = int(np.frombuffer(data, dtype=_copied(0), count=1)["bits"][0])
    kind = _copied(bits)
    rows = np.frombuffer(data, dtype=kind) if len(data) % kind.itemsize == 0 else np.zeros(0, dtype=kind)
    if not len(rows) or (rows["bits"] != bits).any() or (rows["id_bytes"] != 8).any():
        raise ValueError(f"rows of {table} must have an id and a code of one length each, and none be null")
    return bits, rows["id"].astype(np.uint64), check_codes(reverse_bits(rows["code"]), bits)
