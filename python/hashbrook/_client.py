"""Client: a collection served by `hashbrook serve`."""

from __future__ import annotations

import json
import math
import ssl
import time
from operator import index
from typing import Any, Literal, Optional, Union
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from ._bodies import JSON_NUMBER, ROWS, check_finite, pieces, puts, rows_at_once
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
)
from ._connection import Connections, Status, to_json
from ._convert import ids
from ._frame import items
from ._function import HashFunction
from ._labels import new_labels
from ._labels import rows as label_rows
from ._model import Model
from ._results import NO_DISTANCE, NO_ID, Ids
from ._types import StoreHow

#: Maximum number of results per request; a service with default settings allows 1,000,000.
RESULTS = 200_000
#: Number of times that a search of several requests is repeated until one version answers all of them.
ATTEMPTS = 10

#: Calls that name items, which may not exist.
NAME_ITEMS = ("/labels", "/search", "/within")

#: Hits of each query, as a service returns them.
Answers = list[list[dict[str, Any]]]


class Client(Collection):
    """A collection served by ``hashbrook serve``, with the methods and results of :class:`Store`.

    ::

        client = hashbrook.Client("http://127.0.0.1:7878", token="...")
        client.put(range(1500), X[:1500], y[:1500])
        ids, distances = client.search(X[1500:], 10)

    The first put creates the collection if it does not exist. Until then searches find nothing, as in an empty
    :class:`Index`: every row is padding, and ``found`` is 0 for each query. ``timeout`` is the maximum time in seconds
    to wait for an answer; ``None`` means no limit. ``context`` is needed if the system does not trust the service's
    certificate (``ssl.create_default_context(cafile=...)``).

    Errors:

    * :class:`ValueError` with the service's message if the service refuses a request,
    * :class:`KeyError` if an item does not exist,
    * :class:`PermissionError` if the token is missing or lacks permission,
    * :class:`OSError` if the service or the connection fails.

    A request that the service refuses because it is overloaded is repeated until ``timeout`` is over.

    Threads may share a client. A client is a context manager, which closes its connections. A closed client
    opens new connections when it is used again.
    """

    def __init__(
        self,
        url: str,
        token: Optional[str] = None,
        timeout: Optional[float] = 30.0,
        *,
        context: Optional[ssl.SSLContext] = None,
    ) -> None:
        self._url = url
        self._connections = Connections(url, token, timeout, context)

    def close(self) -> None:
        """Closes the client's connections."""
        self._connections.close()

    def _ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        data = None if body is None else to_json(body)
        try:
            return json.loads(self._connections.request(method, path, data, **more))
        except Status as problem:
            raise problem.exception(path in NAME_ITEMS) from None

    def put(
        self,
        ids_: Any,
        X: Any,
        y: Any = None,
        payloads: Any = None,
        *,
        wait: Union[bool, Literal["learned", "searchable"]] = False,
    ) -> Acknowledged:
        """Inserts items, and replaces items with the same ids.

        With ``wait=True`` or ``wait="searchable"`` the call waits until the items are learned and searchable (see
        :meth:`wait`); with ``wait="learned"`` it waits until they are learned.

        The items are sent in one request, which succeeds or fails as a whole. Many items are sent in several requests;
        if one request fails, the items of the earlier requests stay inserted. A payload is a JSON value, bytes of JSON,
        or ``None``. If ``X`` is a frame (pandas, polars, Arrow), ids and labels may be the names of its columns, which
        are then not features.
        """
        if wait not in (True, False, "learned", "searchable"):
            raise ValueError(f'wait is True, False, "learned" or "searchable", not {wait!r}')
        given, X, labels_ = items(ids_, X, y)
        check_finite(X)
        of_rows = None if labels_ is None else label_rows(labels_)
        kept = _json_payloads(payload_bytes(payloads))
        for what, found in (("ids", given), ("labels", of_rows), ("payloads", kept)):
            if found is not None and len(found) != len(X):
                raise ValueError(f"there are {len(found)} {what} for {len(X)} vectors")
        if not len(X):
            raise ValueError("there are no items")
        done = []
        for path, body, kind in puts(given, X, of_rows, kept):
            try:
                answer = self._connections.request("POST", path, body, kind)
            except Status as problem:
                raise problem.exception() from None
            done.append(_acknowledged(json.loads(answer)))
        if wait:
            self._wait("searchable" if wait is True else wait, done[-1].position, None)
        return _together(done)

    def label(self, ids_: Any, y: Any) -> Acknowledged:
        """Replaces the labels of items. The new labels are learned instead of the old ones.

        `KeyError` if an item does not exist. More than 50,000 items are sent in several requests; if one request fails,
        the changes of the earlier requests stay in effect.
        """
        given, of_rows = _listed(ids(ids_)), label_rows(new_labels(y))
        if len(given) != len(of_rows):
            raise ValueError(f"there are {len(of_rows)} labels for {len(given)} ids")
        items = [{"id": id_, "labels": names} for id_, names in zip(given, of_rows)]
        done = [self._ask("POST", "/labels", {"items": items[part]}) for part in pieces(len(items), ROWS)]
        return _together([_acknowledged(one) for one in done])

    def remove(self, ids_: Any) -> Removed:
        """Removes items; ids that do not exist are ignored."""
        given = _listed(ids(ids_))
        done = [self._ask("POST", "/remove", {"ids": given[part]}) for part in pieces(len(given), ROWS)]
        removed, unlearned = (sum(one[name] for one in done) for name in ("removed", "unlearned"))
        return Removed(removed, bool(unlearned), done[-1]["position"])

    def get(self, id: Union[int, str]) -> Optional[Item]:
        """Returns an item; `None` if it does not exist."""
        path = "/items/" + quote(str(_listed(ids([id]))[0]), safe="")
        try:
            item = json.loads(self._connections.request("GET", path))
        except Status as problem:
            if problem.status == 404:
                return None
            raise problem.exception() from None
        vector = np.array(item["vector"], dtype=np.float32)
        code = np.frombuffer(bytes.fromhex(item["code"]), dtype=np.uint8)
        return Item(item["id"], vector, item["labels"], item.get("payload"), code, item["version"])

    def _nearest(self, asked: Queries, k: int, told: StoreHow) -> tuple[Nearest, int, HitLabels]:
        rerank = told[2]
        version, found = self._answers("/search", asked, {"k": k}, told, max(k, rerank or 0))
        there = np.arange(k) < np.array([len(row) for row in found], dtype=np.int64)[:, None]
        flat_ids, flat_distances, flat_scores, of_hits = self._columns(found, rerank is not None)
        no_id = None if flat_ids.dtype == object else NO_ID
        ids_ = _spread(flat_ids, there, no_id)
        distances = _spread(flat_distances, there, NO_DISTANCE)
        scores = None if flat_scores is None else _spread(flat_scores, there, np.nan)
        return (ids_, distances, scores), version, of_hits

    def _near(self, asked: Queries, radius: int, told: StoreHow) -> tuple[Near, int, HitLabels]:
        rerank = told[2]
        version, found = self._answers("/within", asked, {"radius": radius}, told, rerank or 0)
        ids_, distances, scores, of_hits = self._columns(found, rerank is not None)
        offsets = np.zeros(len(found) + 1, dtype=np.int64)
        offsets[1:] = np.cumsum([len(row) for row in found])
        return (offsets, ids_, distances, scores), version, of_hits

    def _answers(
        self, path: str, asked: Queries, reach: dict[str, int], told: StoreHow, results: int
    ) -> tuple[int, Answers]:
        """Returns the version and the hits of all queries. All hits are by codes of this version."""
        written, at_once = _written(asked)
        at_once = max(1, min(at_once, RESULTS // max(1, results)))
        for _ in range(ATTEMPTS):
            versions, found = set(), []
            for part in pieces(len(written), at_once):
                answer = self._ask("POST", path, {"queries": written[part], **reach, **_said(told)})
                versions.add(answer["version"])
                found += answer["results"]
            if len(versions) == 1:
                return versions.pop(), found
        raise BlockingIOError("items were re-encoded repeatedly while queries were answered; send fewer at once")

    def _columns(
        self, found: Answers, ranked: bool
    ) -> tuple[Ids, npt.NDArray[np.uint32], Optional[npt.NDArray[np.float32]], HitLabels]:
        """Returns ids, distances and scores of all hits, and the labels of each hit of each query."""
        all_hits = [hit for row in found for hit in row]
        distances = np.array([hit["distance"] for hit in all_hits], dtype=np.uint32)
        texts = isinstance(all_hits[0]["id"], str) if all_hits else self._has_text_ids()
        ids_ = np.array([hit["id"] for hit in all_hits], dtype=object if texts else np.uint64)
        scores = None
        if ranked:
            scores = np.array([hit["score"] for hit in all_hits], dtype=np.float32)
        return ids_, distances, scores, [[hit["labels"] for hit in row] for row in found]

    def _has_text_ids(self) -> bool:
        """Returns whether ids are strings. Queries the service, for results without any hit."""
        made = self.stats()["description"]
        return made is not None and made["ids"] == "texts"

    def stats(self) -> dict[str, Any]:
        """Returns the statistics of the collection and its ``description``, which is `None` before the first put.

        See :meth:`Store.stats` for ``quality``."""
        return dict(self._ask("GET", "/stats"))

    @property
    def version(self) -> int:
        """Version of the function that computed the codes in use."""
        return int(self.stats()["version"])

    def wait(self, position: Optional[int] = None, timeout: Optional[float] = None) -> None:
        """Waits until everything acknowledged up to ``position`` is learned and searchable.

        All items are re-encoded before the call returns, unless re-encoding would gain little. ``position`` is the
        ``position`` of an answer; without it, the call waits for all changes acknowledged so far. Raises `TimeoutError`
        after ``timeout`` seconds.
        """
        self._wait("searchable", position, timeout)

    def wait_learned(self, position: Optional[int] = None, timeout: Optional[float] = None) -> None:
        """Like :meth:`wait`, but waits only until everything is learned, not until items are re-encoded."""
        self._wait("learned", position, timeout)

    def _wait(self, state: str, position: Optional[int], timeout: Optional[float]) -> None:
        end = math.inf if timeout is None else time.monotonic() + timeout
        path = f"/wait?for={state}" + ("" if position is None else f"&position={position}")
        while True:
            # A request waits at most half a second, so that Ctrl-C is noticed, and stays within the timeout.
            most = 0.5 if self._connections.timeout is None else min(0.5, self._connections.timeout / 2)
            left = max(0.0, min(most, end - time.monotonic()))
            if self._ask("GET", f"{path}&seconds={left:.3f}")["done"]:
                return
            if time.monotonic() >= end:
                raise TimeoutError(f"not {state} after {timeout} seconds")

    def renew(self) -> int:
        """Re-encodes all items with the current function and waits until this is done. Returns the new version."""
        return int(self._ask("POST", "/renew", {}, timeout=None)["version"])

    def _file(self, path: str) -> bytes:
        try:
            return self._connections.request("GET", path)
        except Status as problem:
            raise problem.exception() from None

    def model(self) -> Model:
        """Returns a copy of the current model, which may have learned more than the function of the codes in use."""
        return Model.from_bytes(self._file("/model?full=true"))

    def hash_function(self) -> HashFunction:
        """Returns the function that made the codes in use."""
        return HashFunction.from_bytes(self._file("/model"))

    def snapshot(self, name: str, *, compact: bool = False) -> None:
        """Copies the whole collection to a new directory ``name`` in the service's ``--snapshots`` directory.

        The call waits until the copy is complete, without a timeout. ``compact`` omits replaced and removed items,
        which take up space in the collection itself.
        """
        self._ask("POST", "/snapshot", {"name": name, "compact": compact}, timeout=None)

    def __len__(self) -> int:
        return int(self.stats()["items"])

    def __repr__(self) -> str:
        return f"<Client of {self._url!r}>"


def _spread(flat: npt.NDArray[Any], there: npt.NDArray[np.bool_], fill: Any) -> npt.NDArray[Any]:
    """Arranges hits in one row per query; short rows are padded with ``fill``."""
    rows = np.full(there.shape, fill, dtype=flat.dtype)
    rows[there] = flat
    return rows


def _listed(given: Any) -> list[Any]:
    return list(given if isinstance(given, list) else given.tolist())


def _json_payloads(payloads: Optional[list[bytes]]) -> Optional[list[bytes]]:
    """Checks that payloads are JSON, because a service accepts nothing else."""
    for row, data in enumerate(payloads or []):
        try:
            json.loads(data or b"0")
        except ValueError:
            raise ValueError(
                f"the payload of row {row} is no JSON, which a service takes alone; bytes can be given as a text of base64"
            ) from None
    return payloads


def _written(asked: Queries) -> tuple[list[dict[str, Any]], int]:
    """Returns the queries in the service's format, and the number of queries per request."""
    if isinstance(asked, list) or asked.ndim == 1:
        return [{"id": id_} for id_ in _listed(asked)], rows_at_once(8, JSON_NUMBER)
    if asked.dtype == np.uint8:
        return [{"code": row.tobytes().hex()} for row in asked], rows_at_once(asked.shape[1], 4)
    check_finite(asked)
    return [{"vector": row} for row in asked.tolist()], rows_at_once(asked.shape[1], JSON_NUMBER)


def _said(told: StoreHow) -> dict[str, Any]:
    """Returns the search options in the service's format."""
    labels, without, rerank, dial = told
    said: dict[str, Any] = {"where": {"label": labels, "not_label": without}}
    if rerank is not None:
        said["rerank"] = index(rerank)
    if dial is not None:
        label, detail, said["float_query"] = dial
        said["label_weight"], said["detail_weight"] = index(label), index(detail)
    return said


def _acknowledged(done: dict[str, Any]) -> Acknowledged:
    return Acknowledged(done["items"], done["replaced"], done["unlearned"], done["position"])


def _together(done: list[Acknowledged]) -> Acknowledged:
    """Combines the acknowledgements of several requests."""
    return Acknowledged(
        sum(one.items for one in done),
        sum(one.replaced for one in done),
        any(one.unlearned for one in done),
        done[-1].position,
    )
