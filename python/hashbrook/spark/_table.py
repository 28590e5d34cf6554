"""Versions of codes in files: a reader always sees exactly one complete version."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any, Optional

from .._function import HashFunction
from ..interchange import function_id
from ._encode import encode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Files:
    """A directory on any file system that Spark supports."""

    def __init__(self, spark: SparkSession, directory: str) -> None:
        jvm: Any = spark._jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        self.directory = str(directory).rstrip("/")
        self._system = self._path(self.directory).getFileSystem(spark._jsc.hadoopConfiguration())
        self._stream = jvm.org.apache.commons.io.IOUtils

    def at(self, name: str) -> str:
        """Returns the full path of a name."""
        return f"{self.directory}/{name}"

    def names(self, directory: str) -> list[str]:
        """Returns the names in a directory; an empty list if the directory does not exist."""
        path = self._path(self.at(directory))
        if not self._system.exists(path):
            return []
        return sorted(found.getPath().getName() for found in self._system.listStatus(path))

    def read(self, name: str) -> bytes:
        """Returns all bytes of a file."""
        opened = self._system.open(self._path(self.at(name)))
        try:
            return bytes(self._stream.toByteArray(opened))
        finally:
            opened.close()

    def write(self, name: str, data: bytes) -> None:
        """Writes a new file atomically."""
        aside, there = self._path(self.at(f".{uuid.uuid4().hex}")), self._path(self.at(name))
        self._system.mkdirs(there.getParent())
        out = self._system.create(aside, True)
        try:
            out.write(data)
        finally:
            out.close()
        if self._system.exists(there) or not self._system.rename(aside, there):
            self._system.delete(aside, False)
            raise FileExistsError(f"{self.at(name)} is there already")

    def claim(self, name: str) -> bool:
        """Creates an empty file. Returns false if the file exists."""
        path = self._path(self.at(name))
        self._system.mkdirs(path.getParent())
        return bool(self._system.createNewFile(path))

    def remove(self, name: str) -> None:
        """Removes a file, or a directory with its contents."""
        self._system.delete(self._path(self.at(name)), True)


class Table:
    """Codes in a directory: ``data/`` has Parquet files, and ``log/`` has one file for each change, in order.

    A change replaces all codes or appends codes. A change takes effect when its log file exists, which is written
    atomically. Data that no log file names is ignored.
    """

    def __init__(self, spark: SparkSession, directory: str) -> None:
        self.spark = spark
        self.files = Files(spark, directory)

    def log(self) -> list[dict[str, Any]]:
        """Returns all changes, in order."""
        names = [name for name in self.files.names("log") if name.endswith(".json")]
        return [json.loads(self.files.read(f"log/{name}")) for name in names]

    def change(self, df: DataFrame, replaces: bool, about: dict[str, Any]) -> int:
        """Writes the rows of a frame, then the log file of the change. Returns the number of the change."""
        number = 1 + max((int(name.partition(".")[0]) for name in self.files.names("log")), default=0)
        while not self.files.claim(f"log/{number:012}.claim"):
            number += 1
        data = f"data/{number:012}"
        df.write.mode("overwrite").parquet(self.files.at(data))
        entry = {"number": number, "replaces": replaces, "data": data, **about}
        self.files.write(f"log/{number:012}.json", json.dumps(entry).encode())
        return number

    def now(self, number: Optional[int] = None) -> list[dict[str, Any]]:
        """Returns the changes that make up the current contents, or the contents after change ``number``."""
        log = [entry for entry in self.log() if number is None or entry["number"] <= number]
        begins = max((at for at, entry in enumerate(log) if entry["replaces"]), default=0)
        return log[begins:]


def renew(df: DataFrame, function: HashFunction, path: str, *, column: str = "vector") -> int:
    """Encodes vectors to a new version of the codes in ``path``. Returns the number of the version.

    The new version is written next to the current version, and replaces it atomically when it is complete. Readers
    with :func:`read_codes` see the old version until then. A call that fails, or is killed, changes nothing. Old
    versions stay until :func:`vacuum` removes them.
    """
    table = Table(df.sparkSession, path)
    return table.change(encode(df, function, column), True, {"function": function_id(function)})


def read_codes(spark: SparkSession, path: str, version: Optional[int] = None) -> DataFrame:
    """Reads the codes in ``path``: of the current version, or of the given one. Later changes are not included."""
    table = Table(spark, path)
    there = table.now(version)
    if not there:
        raise FileNotFoundError(f"there are no codes in {path}" + ("" if version is None else f" of version {version}"))
    return spark.read.parquet(*(table.files.at(entry["data"]) for entry in there))


def versions(spark: SparkSession, path: str) -> list[dict[str, Any]]:
    """Returns all versions of the codes in ``path``, in order: number, function, and whether it replaced all codes."""
    return [{key: value for key, value in entry.items() if key != "data"} for entry in Table(spark, path).log()]


def vacuum(spark: SparkSession, path: str, keep: int = 1) -> int:
    """Removes all versions except the current one and the ``keep`` versions before it, with their files.

    Returns the number of removed versions. Readers of a removed version get an error. Nothing may write to ``path``
    during the call.
    """
    table = Table(spark, path)
    log = table.log()
    replaced = [entry["number"] for entry in log if entry["replaces"]]
    oldest = replaced[-1 - keep] if len(replaced) > keep else 0
    needed = {entry["data"] for entry in log if entry["number"] >= oldest}
    removed = [entry for entry in log if entry["data"] not in needed]
    # The log files are removed first, so that no log file names missing data.
    for entry in removed:
        table.files.remove(f"log/{entry['number']:012}.json")
    for name in table.files.names("data"):
        if f"data/{name}" not in needed:
            table.files.remove(f"data/{name}")
    return len(removed)
