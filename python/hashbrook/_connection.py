"""Requests to a hashbrook service over persistent connections."""

from __future__ import annotations

import errno
import http.client
import json
import os
import selectors
import ssl
import time
from typing import Any, Optional, Union
from urllib.parse import urlsplit

#: Timeout in seconds; `None` means no timeout.
Timeout = Optional[float]


class Status(Exception):
    """Error response: its status and the service's message."""

    def __init__(self, status: int, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after

    def exception(self, of_items: bool = False) -> Exception:
        """Returns the exception that the rest of the package raises for this error.

        ``of_items``: the call names items, so status 404 means that an item does not exist.
        """
        if self.status in (401, 403):
            return PermissionError(errno.EACCES, self.message)
        if self.status == 404 and of_items:
            return KeyError(self.message)
        if self.status == 408:
            return TimeoutError(self.message)
        if self.status == 429:
            return BlockingIOError(errno.EAGAIN, self.message)
        if self.status == 507:
            return OSError(errno.ENOSPC, self.message)
        return ValueError(self.message) if self.status < 500 else OSError(self.message)


class Connections:
    """Connections to one service. One thread at a time uses a connection; idle connections are reused."""

    def __init__(
        self, url: str, token: Optional[str], timeout: Timeout, context: Optional[ssl.SSLContext]
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"expected the address of a service, as in http://127.0.0.1:7878, not {url!r}")
        if parts.query or parts.fragment or parts.username is not None:
            raise ValueError(f"the address of a service has no user, ? or # in it: {url!r}")
        self.timeout = timeout
        self._url = url
        self._https = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._path = parts.path.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._context = context
        self._idle: list[http.client.HTTPConnection] = []
        self._process = os.getpid()

    def close(self) -> None:
        """Closes the idle connections."""
        while self._idle:
            self._idle.pop().close()

    def _new(self) -> http.client.HTTPConnection:
        if self._https:
            context = self._context or ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, context=context)
        return http.client.HTTPConnection(self._host, self._port)

    def _taken(self) -> tuple[http.client.HTTPConnection, bool]:
        """Returns a connection, and whether it was used before."""
        if self._process != os.getpid():
            # After a fork the connections belong to the parent process.
            self._idle, self._process = [], os.getpid()
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._new(), False
            if not _is_ended(connection):
                return connection, True
            connection.close()

    def _connect(self, connection: http.client.HTTPConnection) -> None:
        """Opens a connection. A failure keeps its type and names the address."""
        try:
            connection.connect()
        except OSError as problem:
            reason = problem.strerror or str(problem)
            hint = "" if isinstance(problem, ssl.SSLError) else "; is `hashbrook serve` running there?"
            # The exception is created without the number, which OSError would print in front of the message.
            named = type(problem)(f"cannot connect to {self._url}: {reason[:1].lower()}{reason[1:]}{hint}")
            named.errno = problem.errno
            raise named from None

    def request(
        self,
        method: str,
        path: str,
        body: Optional[bytes] = None,
        kind: str = "application/json",
        *,
        timeout: Union[Timeout, str] = "usual",
    ) -> bytes:
        """Sends a request and returns the body of the response.

        An overloaded service (status 429) does not process the request, so the request is repeated until the timeout is
        over.
        """
        wait = self.timeout if isinstance(timeout, str) else timeout
        end = None if self.timeout is None else time.monotonic() + self.timeout
        while True:
            try:
                return self._answer(method, path, body, kind, wait)
            except Status as problem:
                pause = problem.retry_after
                late = end is not None and time.monotonic() + pause > end
                if problem.status != 429 or late:
                    raise
                time.sleep(pause)

    def _answer(
        self, method: str, path: str, body: Optional[bytes], kind: str, timeout: Timeout
    ) -> bytes:
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = kind
        connection, used = self._taken()
        # The service may close an idle connection just as it is reused. Read-only requests are repeated then.
        again = used and (method == "GET" or path in ("/search", "/within"))
        try:
            connection.timeout = timeout
            if connection.sock is None:
                self._connect(connection)
            else:
                connection.sock.settimeout(timeout)
            connection.request(method, self._path + path, body, headers)
            response = connection.getresponse()
            data = response.read()
        except (ConnectionError, http.client.HTTPException) as problem:
            connection.close()
            if again and not isinstance(problem, http.client.IncompleteRead):
                self.close()
                return self._answer(method, path, body, kind, timeout)
            if isinstance(problem, OSError):
                raise
            raise ConnectionError(f"{self._url} did not answer in HTTP: {problem!r}") from None
        except BaseException:
            # A late response would be taken for that of the next request.
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        if response.status == 200:
            return data
        raise Status(response.status, _message(response, data), _seconds(response))


def _is_ended(connection: http.client.HTTPConnection) -> bool:
    """Returns whether the service has closed an idle connection, which is then readable."""
    if connection.sock is None:
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(0))


def _message(response: http.client.HTTPResponse, data: bytes) -> str:
    try:
        return str(json.loads(data)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"the service answered {response.status} {response.reason}"


def _seconds(response: http.client.HTTPResponse) -> float:
    try:
        return max(0.05, float(response.headers.get("Retry-After", "1")))
    except ValueError:
        return 1.0


def to_json(value: Any) -> bytes:
    """Returns a value as a JSON body."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
