"""`hashbrook serve` in a separate process, the requests to the service, and wrk, which generates the load."""

import http.client
import json
import os
import pathlib
import re
import subprocess
import time

import pyarrow as pa

from real_codes import PROGRAM, WORK

# Each connection sends the next line of a file as its body, after a random pause of up to `pause` milliseconds.
SCRIPT = """
local bodies, pause, last = {}, %d, 0
for line in io.lines("%s") do bodies[#bodies + 1] = line end
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
function request()
  last = last %% #bodies + 1
  return wrk.format(nil, "/search", nil, bodies[last])
end
%s
function done(summary, latency, requests)
  local wrong = summary.errors
  io.write(string.format("RESULT %%d %%f %%f %%f %%d\\n", summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    wrong.connect + wrong.read + wrong.write + wrong.status + wrong.timeout))
end
"""
PAUSES = "function delay() return math.random(0, pause) end"


class Server:
    """A service of a collection, which runs until the `with` block ends."""

    def __init__(self, directory, *options):
        self.directory, self.options = pathlib.Path(directory), options

    def __enter__(self):
        command = [PROGRAM, "serve", "--dir", self.directory, "--listen", "127.0.0.1:0", *self.options]
        start = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.process.stdout:
            if found := re.search(r"listening on http://([0-9.]+):(\d+)", line):
                self.address = (found[1], int(found[2]))
                break
        else:
            raise RuntimeError("hashbrook serve did not begin to listen")
        self.opened_seconds = time.perf_counter() - start
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(600)
        self.process.stdout.close()

    def call(self, method, path, body=None, kind="application/json"):
        connection = http.client.HTTPConnection(*self.address, timeout=600)
        connection.request(method, path, body, {"Content-Type": kind} if body is not None else {})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if answer.status != 200:
            raise RuntimeError(f"{method} {path}: {answer.status} {content[:300]!r}")
        return content

    def stats(self):
        return json.loads(self.call("GET", "/stats"))

    def put(self, batch):
        self.call("POST", "/items", batch, "application/vnd.apache.arrow.stream")

    def wait(self, met, seconds=3600):
        """Waits until the stats meet the condition `met`. Returns the seconds waited."""
        start = time.perf_counter()
        while not met(self.stats()):
            if time.perf_counter() - start > seconds:
                raise RuntimeError(f"{self.stats()} after {seconds} s")
            time.sleep(0.05)
        return time.perf_counter() - start

    def memory(self):
        """Returns the resident memory in bytes: total, anonymous, and pages of files, which the system may drop at any time."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return {name: int(re.search(rf"{name}:\s+(\d+) kB", text)[1]) * 1024 for name in ("VmRSS", "RssAnon", "RssFile")}

    def disk(self):
        """Returns the bytes of the journal, and of the files derived from the journal."""
        sizes = {"journal": 0, "derived": 0}
        for path in self.directory.rglob("*"):
            if path.is_file():
                sizes["journal" if path.parent.name == "journal" else "derived"] += os.path.getsize(path)
        return sizes

    def load(self, bodies, seconds, connections=16, pause=0):
        """Returns the measurements of wrk: searches per second, and the median and 99 % quantile of their time in milliseconds."""
        script = WORK / "service.lua"
        script.write_text(SCRIPT % (pause, bodies, PAUSES if pause else ""))
        url = f"http://{self.address[0]}:{self.address[1]}"
        command = ["wrk", "--threads", "1", "--connections", str(connections), "--duration", f"{seconds}s",
                   "--script", script, url]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        requests, took, median, p99, wrong = map(float, re.search(r"RESULT (.*)", done.stdout)[1].split())
        if wrong or not requests:
            raise RuntimeError(f"{wrong:.0f} of {requests:.0f} searches failed:\n{done.stdout}")
        return {"a_second": requests / took, "median_ms": median, "p99_ms": p99}


def arrow(vectors, labels, first):
    """Returns rows as the body of a request. Ids count up from `first`."""
    values = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
    columns = {"id": pa.array(range(first, first + len(vectors)), pa.uint64()), "vector": values,
               "label": pa.array(map(str, labels), pa.string())}
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()
