"""A prometheus that scrapes the file `metrics` of a folder, and answers queries; a node_exporter over a folder."""

import json
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest


class Prometheus(NamedTuple):
    """One that runs."""

    port: int
    until: float
    """When queries stop waiting, on the monotonic clock: all of them together have two minutes."""

    def asked(self, path: str, **words: str) -> Any:
        """What its interface answers; None while it does not."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(words)}"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return json.load(answer)["data"]
        except OSError:
            return None

    def query(self, text: str) -> list[Any]:
        """What a query finds, as soon as it finds something; nothing when time is up."""
        found = None
        while not found and time.monotonic() < self.until:
            time.sleep(0.1)
            found = (self.asked("query", query=text) or {}).get("result")
        return found or []


OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
SERVES = """
import functools, http.server, sys
of = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
of.func.extensions_map[""] = sys.argv[2]
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), of)
print(f'msg="Listening on" address=127.0.0.1:{server.server_port}', file=sys.stderr)
server.serve_forever()
"""


@contextmanager
def scraped(folder: Path, rules: Path | None = None, kind: str = "text/plain; version=0.0.4") -> Iterator[Prometheus]:
    """A prometheus over a folder with a file `metrics`, which is of this kind, five times a second."""
    if not shutil.which("prometheus"):
        pytest.skip("no prometheus (package prometheus)")
    with listening([sys.executable, "-c", SERVES, str(folder), kind], folder / "serves.log") as served:
        (folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}\n"
            f"rule_files: {json.dumps([str(rules)] if rules else [])}\n"
            f"scrape_configs: [{{job_name: heap, static_configs: [{{targets: ['127.0.0.1:{served}']}}]}}]\n"
        )
        own = (f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}")
        with listening(["prometheus", *own, "--web.listen-address=127.0.0.1:0"], folder / "scrapes.log") as port:
            yield Prometheus(port, time.monotonic() + 120)


@contextmanager
def listening(command: list[str], log: Path) -> Iterator[int]:
    """The port that a program took, from the line of its log which says so; it ends with the body.

    The program chooses the port: one that was free a moment ago another test may have taken.
    """
    with log.open("wb") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)
    try:
        found, end = None, time.monotonic() + 60
        while not found and process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
            found = re.search(r'"Listening on" address=127\.0\.0\.1:(\d+)\b', log.read_text())
        assert found, f"{command[0]} took no port:\n{log.read_text()}"
        yield int(found[1])
    finally:
        process.terminate()
        process.wait()


@contextmanager
def collected(folder: Path, log: Path) -> Iterator[Callable[[], str]]:
    """What node_exporter shows of the files of a folder, asked as a scrape does; empty while it does not answer."""
    if not (exporter := shutil.which("prometheus-node-exporter")):
        pytest.skip("no node_exporter (package prometheus-node-exporter)")
    own = ("--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={folder}")
    with listening([exporter, *own, "--web.listen-address=127.0.0.1:0"], log) as port:

        def shown() -> str:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
                    return str(answer.read().decode())
            except OSError:
                return ""

        yield shown
