"""Store: a durable collection that learns while it is searched."""

from __future__ import annotations

import json
from typing import Any, Literal, Optional, Union

from . import _hashbrook as native
from ._collection import (
    Acknowledged,
    Collection,
    HitLabels,
    Item,
    Near,
    Nearest,
    Queries,
    Removed,
    payload_bytes,
    payload_of,
)
from ._convert import Path, ids, path
from ._frame import items
from ._function import HashFunction
from ._labels import new_labels
from ._model import Model, to_json
from ._reader import as_texts
from ._types import StoreHow


class Store(Collection):
    """A collection in a directory: items with ids, vectors, labels and payloads, durable once :meth:`put` returns.

    A store learns from labelled items, re-encodes all items as the hash function changes, and can be searched at
    any time.

    >>> import hashbrook, tempfile
    >>> X, y = hashbrook.datasets.digits()
    >>> directory = tempfile.TemporaryDirectory()
    >>> store = hashbrook.Store.create(directory.name + "/digits", dim=64, bits=32, warmup=200)
    >>> done = store.put(range(1500), X[:1500], y[:1500], payloads=[{"row": row} for row in range(1500)])
    >>> store.wait(done.position)
    >>> found = store.search(X[1500:], 10)
    >>> found.ids.shape
    (297, 10)
    >>> int(y[1500]), found.labels[0][0]
    (1, ['1'])
    >>> store.get(7).payload
    {'row': 7}
    >>> store.remove([7]).unlearned
    True
    >>> store.close()
    >>> directory.cleanup()

    One process at a time has a store open. In this process, any number of threads may change and search one
    ``Store``. Searches never wait for a change. A store is a context manager, which closes the store.
    """

    __slots__ = ("_native", "_path")
    _native: native.Store
    _path: str

    def __init__(self) -> None:
        raise TypeError("a store is made by Store.create(dir, dim=...), or opened by Store.open(dir)")

    @classmethod
    def _of(cls, store: native.Store, path_: str) -> Store:
        made = cls.__new__(cls)
        made._native = store
        made._path = path_
        return made

    @classmethod
    def create(
        cls,
        dir: Path,
        *,
        dim: int,
        bits: int = 64,
        method: str = "brook",
        seed: int = 1,
        ids: Literal["numbers", "texts"] = "numbers",
        precision: Literal["f32", "f16"] = "f32",
        metric: Literal["cosine", "inner_product", "l2"] = "cosine",
        renewal: str = "gain:0.02",
        renewal_share: float = 0.5,
        learn: bool = True,
        compaction: float = 0.5,
        catch_up_after: float = 60,
        structure: Literal["none", "small", "full"] = "full",
        batch: int = 1000,
        held_out: int = 50,
        center: Optional[Literal["first"]] = "first",
        scale: Optional[str] = None,
        unit: bool = True,
        warmup: Optional[int] = None,
        preset: Optional[str] = None,
        **parameters: Any,
    ) -> Store:
        """Creates a store in a directory that does not exist yet, or is empty.

        The following settings cannot be changed later:

        * ``dim``, the method with its ``parameters``, and the other arguments of :class:`Model`,
        * ``ids``: ``"numbers"`` or ``"texts"`` (strings),
        * ``precision``: vectors are stored as ``"f32"``, or in half the space as ``"f16"``,
        * ``metric``, by which hits are re-ranked,
        * ``batch``, the number of rows that are learned at once,
        * ``held_out``: one in ``held_out`` items is never learned, so that the precision in :meth:`stats` applies to
          new items; with 0 all items are learned.

        ``renewal``, ``catch_up_after``, ``renewal_share``, ``learn``, ``compaction`` and ``structure`` are described in
        :meth:`open`.
        """
        if center not in ("first", None):
            raise ValueError(f"center is \"first\" or None, not {center!r}")
        store = native.Store.create(
            path(dir),
            (method, preset, to_json(parameters)),
            (dim, bits, seed),
            ids,
            precision,
            metric,
            center is not None,
            scale,
            bool(unit),
            warmup,
            batch,
            held_out,
            (renewal, renewal_share, bool(learn), compaction, catch_up_after, structure),
        )
        return cls._of(store, path(dir))

    @classmethod
    def open(
        cls,
        dir: Path,
        *,
        renewal: str = "gain:0.02",
        renewal_share: float = 0.5,
        learn: bool = True,
        compaction: float = 0.5,
        catch_up_after: float = 60,
        structure: Literal["none", "small", "full"] = "full",
    ) -> Store:
        """Opens a store, for this process alone.

        ``renewal`` determines when all items are re-encoded:

        * ``"always"``: whenever something was learned,
        * ``"every:5000"``: after every 5,000 learned rows,
        * ``"gain:0.02"``: when the information that distances carry about labels would grow by this share of its
          maximum,
        * ``"never"``: only when :meth:`renew` is called.

        Unless ``renewal`` is ``"never"``, items are also re-encoded after ``catch_up_after`` seconds without anything
        new to learn. Re-encoding takes ``renewal_share`` of a processor core. With ``learn=False`` labels are stored,
        but not learned. The journal is compacted in the background when replaced and removed items take up more than
        the share ``compaction`` of the journal; 1 turns compaction off. ``structure`` is the search structure of the
        index: see :meth:`Index.set_search_structure`.
        """
        running = (renewal, renewal_share, bool(learn), compaction, catch_up_after, structure)
        return cls._of(native.Store.open(path(dir), running), path(dir))

    @staticmethod
    def repair(dir: Path, to: Optional[Path] = None, *, in_place: bool = False) -> dict[str, Any]:
        """Rebuilds a damaged store from the intact parts of its journal.

        Writes the repaired store to the directory ``to``, which must not exist, and leaves the damaged store unchanged.
        With ``in_place`` the damaged store is moved to another directory next to it, and the repaired store takes its
        place. The index is rebuilt; the model is rebuilt if it is damaged or missing.

        Returns a report: ``items`` in the repaired store, ``losses`` (damaged parts of the journal that were skipped,
        each with ``path``, ``offset``, ``bytes`` and ``problem``), ``rebuilt``, ``lost_label_names``,
        ``unfinished_bytes``, and the directories ``directory`` and ``damaged``.
        """
        if (to is None) != bool(in_place):
            raise ValueError("repair takes either a directory to write to, or in_place=True")
        return dict(json.loads(native.Store.repair(path(dir), None if to is None else path(to))))

    @staticmethod
    def exists(dir: Path) -> bool:
        """Returns whether a directory contains a store."""
        return native.Store.exists(path(dir))

    def close(self) -> None:
        """Closes the store after the running calls. Closing a store twice has no effect.

        Everything acknowledged is on the disk even if the store is never closed.
        """
        self._native.close()

    def put(self, ids_: Any, X: Any, y: Any = None, payloads: Any = None) -> Acknowledged:
        """Inserts items, and replaces items with the same ids: all of them or none.

        When the call returns, the items are on the disk and searchable. Labelled items are learned afterwards
        (:meth:`wait`). A payload is bytes, ``None``, or a JSON value (stored as JSON text). If the bytes of a payload
        are JSON, :meth:`get` returns the JSON value and :meth:`payload` the bytes. If ``X`` is a frame (pandas, polars,
        Arrow), ids and labels may be the names of its columns, which are then not features.
        """
        return Acknowledged(*self._native.put(*items(ids_, X, y), payload_bytes(payloads)))

    def label(self, ids_: Any, y: Any) -> Acknowledged:
        """Replaces the labels of items. The new labels are learned instead of the old ones.

        `KeyError` if an item does not exist; nothing is changed then.
        """
        return Acknowledged(*self._native.label(ids(ids_), new_labels(y)))

    def remove(self, ids_: Any) -> Removed:
        """Removes items; ids that do not exist are ignored."""
        return Removed(*self._native.remove(ids(ids_)))

    def get(self, id: Union[int, str]) -> Optional[Item]:
        """Returns an item; `None` if it does not exist."""
        item = self._native.get(id)
        if item is None:
            return None
        vector, labels_, payload, code, version = item
        return Item(id, vector, labels_, payload_of(payload), code, version)

    def payload(self, id: Union[int, str]) -> bytes:
        """Returns the payload of an item as bytes; `KeyError` if the item does not exist."""
        item = self._native.get(id)
        if item is None:
            raise KeyError(id)
        return item[2]

    def _nearest(self, asked: Queries, k: int, told: StoreHow) -> tuple[Nearest, int, HitLabels]:
        version, (ids_, distances, scores), texts, of_hits = self._native.search(asked, k, told)
        given = ids_ if texts is None else as_texts(texts, ids_.shape)
        return (given, distances, scores), version, of_hits

    def _near(self, asked: Queries, radius: int, told: StoreHow) -> tuple[Near, int, HitLabels]:
        version, (offsets, ids_, distances, scores), texts, of_hits = self._native.within(asked, radius, told)
        given = ids_ if texts is None else as_texts(texts, ids_.shape)
        return (offsets, given, distances, scores), version, of_hits

    def stats(self) -> dict[str, Any]:
        """Returns the statistics of the store and its :attr:`description`.

        ``quality`` has the precision of the codes in use: ``precision_at_10`` is the mean over the queries, and
        ``precision_at_10_per_class`` the mean over the classes. ``measured_on`` is ``"held_out"`` if the queries are
        items that the store never learns; the precision of new items is then about the same. ``measured_on`` is
        ``"learned"`` if fewer than 30 labelled items are held out; the precision of new items is then lower.
        """
        return {**json.loads(self._native.stats()), "description": self.description}

    @property
    def description(self) -> dict[str, Any]:
        """Description of the store: the settings that were fixed when it was created."""
        return dict(json.loads(self._native.description))

    @property
    def version(self) -> int:
        """Version of the function that computed the codes in use."""
        return self._native.version

    def wait(self, position: int) -> None:
        """Waits until everything acknowledged up to the ``position`` of an answer is learned and searchable.

        All items are re-encoded before the call returns, unless re-encoding would gain little (``renewal`` of
        :meth:`open`). Ctrl-C ends the waiting.
        """
        self._native.wait(position)

    def wait_learned(self, position: int) -> None:
        """Waits until everything acknowledged up to the ``position`` of an answer is learned.

        The call does not wait until items are re-encoded. Ctrl-C ends the waiting.
        """
        self._native.wait_learned(position)

    def renew(self) -> int:
        """Re-encodes all items with the current function and waits until the codes are in use.

        Returns the new version.
        """
        return self._native.renew()

    def model(self) -> Model:
        """Returns a copy of the current model, which may have learned more than the function of the codes in use."""
        return Model._of(self._native.model())

    def hash_function(self) -> HashFunction:
        """Returns the function that made the codes in use."""
        return HashFunction._of(self._native.hash_function())

    def snapshot(self, to: Path, *, compact: bool = False) -> None:
        """Copies the whole store, in its current version, to a directory that does not exist yet.

        The copy can be opened there. ``compact`` omits replaced and removed items, which take up space in the store
        itself (``stats()["dead_bytes"]``).
        """
        self._native.snapshot(path(to), compact)

    def verify(self) -> None:
        """Reads all data; compares data with checksums, and codes with vectors."""
        self._native.verify()

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        made = self.description
        of = f"{made['dim']} dimensions, {made['bits']} bits by {made['method']['method']}"
        try:
            return f"<Store in {self._path!r}: {len(self)} items, {of}, version {self.version}>"
        except ValueError:
            return f"<Store in {self._path!r}: closed, {of}>"
