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
    """A collection in a folder: vectors under ids, with labels and payloads, durable once :meth:`put` returns.

    It learns from items with labels, makes the codes of all of them anew as the function moves, and finds the nearest
    all the while.

    >>> import hashbrook, tempfile
    >>> X, y = hashbrook.datasets.digits()
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = hashbrook.Store.create(folder.name + "/digits", dim=64, bits=32, warmup=200)
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
    >>> folder.cleanup()

    One process has a store open at a time; in it, any number of threads may change and search one ``Store``. Searches
    never wait for a change. It is a context manager, which closes it.
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
        """Makes a store in a folder that is not there yet, or empty.

        Fixed for good are the dimension, the method with its ``parameters`` and what :class:`Model` takes, whether ids are
        ``"numbers"`` or ``"texts"``, whether vectors are kept as ``"f32"`` or in half the room as ``"f16"``, the ``metric``
        that hits are re-ranked by, and ``batch``, the rows that are learned at once. One of ``held_out`` items is never
        learned, so that the precision in :meth:`stats` is that of new items; 0 learns all. ``renewal``, ``catch_up_after``,
        ``renewal_share``, ``learn``, ``compaction`` and ``structure`` are those of :meth:`open`.
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

        ``renewal`` says when all items are re-encoded: ``"always"`` when something was learned, ``"every:5000"`` rows,
        ``"gain:0.02"`` when distances would report more of labels by this share of what there is to know, or ``"never"``
        but by :meth:`renew`. Unless it is ``"never"``, items are also re-encoded after ``catch_up_after`` seconds without
        anything new to learn. Re-encoding takes ``renewal_share`` of a processor core. Without ``learn`` labels are stored, and not learned. The journal is
        compacted in the background when more than the share ``compaction`` of it belongs to replaced and removed items;
        1 turns compaction off. ``structure`` is the search structure of the index: see :meth:`Index.set_search_structure`.
        """
        running = (renewal, renewal_share, bool(learn), compaction, catch_up_after, structure)
        return cls._of(native.Store.open(path(dir), running), path(dir))

    @staticmethod
    def repair(dir: Path, to: Optional[Path] = None, *, in_place: bool = False) -> dict[str, Any]:
        """Rebuilds a store that is damaged, from what its journal still has.

        Writes the repaired store to the directory ``to``, which must not exist, and leaves the damaged one as it is. With
        ``in_place`` the repaired store takes its place, and the damaged one is moved to a directory next to it. The index
        is rebuilt, and the model if it is damaged or missing.

        Returns a report: ``items`` in the repaired store, ``losses`` (damaged parts of the journal that were skipped, each
        with ``path``, ``offset``, ``bytes`` and ``problem``), ``rebuilt``, ``lost_label_names``, ``unfinished_bytes``,
        and the directories ``directory`` and ``damaged``.
        """
        if (to is None) != bool(in_place):
            raise ValueError("repair takes either a directory to write to, or in_place=True")
        return dict(json.loads(native.Store.repair(path(dir), None if to is None else path(to))))

    @staticmethod
    def exists(dir: Path) -> bool:
        """Whether there is a store in a folder."""
        return native.Store.exists(path(dir))

    def close(self) -> None:
        """Ends it, after the calls that are under way; whatever was acknowledged is on the disk without. Closing twice does no
        harm."""
        self._native.close()

    def put(self, ids_: Any, X: Any, y: Any = None, payloads: Any = None) -> Acknowledged:
        """Puts items in, in the place of those with the same ids: all of them, or none.

        They are on the disk and can be found when the call returns; those with labels are learned after that (:meth:`wait`). ``payloads`` has bytes for each item, or what JSON has, which is kept as its text, or
        ``None``. Bytes that are JSON come back from :meth:`get` as its value; :meth:`payload` gives them as they are.
        If ``X`` is a frame (pandas, polars, Arrow), ids and labels may be the names of its columns, which are no features.
        """
        return Acknowledged(*self._native.put(*items(ids_, X, y), payload_bytes(payloads)))

    def label(self, ids_: Any, y: Any) -> Acknowledged:
        """Gives items other labels, which are learned in the place of those they had. `KeyError`, and nothing
        changed, if one is not there."""
        return Acknowledged(*self._native.label(ids(ids_), new_labels(y)))

    def remove(self, ids_: Any) -> Removed:
        """Removes those of the items that are there."""
        return Removed(*self._native.remove(ids(ids_)))

    def get(self, id: Union[int, str]) -> Optional[Item]:
        """An item; `None` if it is not there."""
        item = self._native.get(id)
        if item is None:
            return None
        vector, labels_, payload, code, version = item
        return Item(id, vector, labels_, payload_of(payload), code, version)

    def payload(self, id: Union[int, str]) -> bytes:
        """The bytes that an item was put in with; `KeyError` if it is not there."""
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
        """What it holds and does, in numbers, and its :attr:`description`.

        ``quality`` has the precision of the codes in use: ``precision_at_10`` as the mean over the queries, and
        ``precision_at_10_per_class`` as the mean over the classes. ``measured_on`` is ``"held_out"`` if the queries are items
        that the store never learns: new items find about as many of their label. It is ``"learned"`` if fewer than 30 labelled
        items are held out: new items find fewer then.
        """
        return {**json.loads(self._native.stats()), "description": self.description}

    @property
    def description(self) -> dict[str, Any]:
        """What it is made of."""
        return dict(json.loads(self._native.description))

    @property
    def version(self) -> int:
        """The version of the function that made the codes in use."""
        return self._native.version

    def wait(self, position: int) -> None:
        """Waits until everything that was acknowledged up to the ``position`` of an answer is learned and searchable: all
        items were re-encoded since, unless that would gain little (``renewal`` of :meth:`open`). Ctrl-C ends the waiting."""
        self._native.wait(position)

    def wait_learned(self, position: int) -> None:
        """Waits until everything that was acknowledged up to the ``position`` of an answer is learned, whatever the codes in
        use know of it. Ctrl-C ends the waiting."""
        self._native.wait_learned(position)

    def renew(self) -> int:
        """Makes all codes anew by what is learned now, and waits until they are in use; the new version."""
        return self._native.renew()

    def model(self) -> Model:
        """A copy of the model as it is now, which may have learned more than the codes in use know of."""
        return Model._of(self._native.model())

    def hash_function(self) -> HashFunction:
        """The function that made the codes in use."""
        return HashFunction._of(self._native.hash_function())

    def snapshot(self, to: Path, *, compact: bool = False) -> None:
        """Copies the whole store, as it is at one moment, to a folder that is not there yet; it can be opened there.
        ``compact`` leaves out what was replaced or removed, which takes room in the store itself (``stats()["dead_bytes"]``)."""
        self._native.snapshot(path(to), compact)

    def verify(self) -> None:
        """Reads everything that is stored and compares it with its checksums, and codes with items."""
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
