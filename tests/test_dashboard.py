"""The dashboard and the rules for Prometheus: every query finds something in a scrape of redis."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from scraped import scraped

from heapsmith.codegen.built import library_of
from heapsmith.model.constants import BENCHFAST
from heapsmith.model.design.design import load
from heapsmith.tools.common.preload import preloadable

FOLDER = Path(__file__).parent.parent / "ci/prometheus"
DASHBOARD, RULES, RULES_TEST = FOLDER / "dashboard.json", FOLDER / "rules.yml", FOLDER / "rules_test.yml"
VARIABLES = {"$__rate_interval": "5m", "$program": ".*", "$design": ".*"}
LOAD = ["redis-benchmark", "-s", "socket", "-q", "-n", "5000", "-r", "5000", "-d", "200", "-t", "set,lpush"]


def board() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return found


def expressions() -> dict[str, str]:
    """The queries of the panels and of the recording rules, by their names."""
    yaml: Any = pytest.importorskip("yaml", reason="pyyaml is not installed")
    found = {f"{one['title']} {at['refId']}": at["expr"] for one in board()["panels"] for at in one["targets"]}
    for name, value in VARIABLES.items():
        found = {title: text.replace(name, value) for title, text in found.items()}
    rules = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
    return found | {one["record"]: one["record"] for one in rules if "record" in one}


def test_the_dashboards_panels_stand_side_by_side() -> None:
    panels = board()["panels"]
    assert len({one["id"] for one in panels}) == len(panels) > 10
    places = [
        {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        for at in (one["gridPos"] for one in panels)
    ]
    assert all(x < 24 for place in places for x, _ in place)
    assert not any(one & other for one, other in combinations(places, 2))
    variables = {one["name"] for one in board()["templating"]["list"]}
    assert variables == {"datasource", "program", "design"}
    assert {one["datasource"]["uid"] for one in panels} == {"${datasource}"}
    assert not [title for title, text in expressions().items() if "$" in text]


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool (package prometheus)")
def test_the_rules_do_what_their_test_says() -> None:
    for words in (["check", "rules", RULES.name], ["test", "rules", RULES_TEST.name]):
        done = subprocess.run(["promtool", *words], cwd=FOLDER, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    alerts = {line.split()[-1] for line in RULES.read_text().splitlines() if "- alert:" in line}
    assert {one for one in alerts if f"alertname: {one}" in RULES_TEST.read_text()} == alerts


@contextmanager
def redis(folder: Path) -> Iterator[None]:
    """A redis-server under the library with metrics, under load."""
    options = {"HEAPSMITH": f"metrics={folder}/metrics,metrics-every=0,metrics-classes"}
    environment = (
        BENCHFAST | options | {"LD_PRELOAD": preloadable(library_of(load("default"))), "PATH": "/usr/bin:/bin"}
    )
    command = ["redis-server", "--port", "0", "--unixsocket", "socket", "--save", ""]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL) as server:
        try:
            end = time.monotonic() + 60
            while not (folder / "socket").exists() and time.monotonic() < end:
                time.sleep(0.05)
            subprocess.run(LOAD, cwd=folder, stdout=subprocess.DEVNULL, check=True, timeout=120)
            yield
        finally:
            server.terminate()


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("redis-benchmark") is None, reason="redis is not installed")
def test_every_query_finds_something(tmp_path: Path) -> None:
    with redis(tmp_path), scraped(tmp_path, RULES) as prometheus:
        found = {name: prometheus.query(text) for name, text in expressions().items()}
        assert [name for name, values in found.items() if not values] == []
        assert float(found["Committed A"][0]["value"][1]) > 1 << 20
        assert 0 < float(found["Allocated of committed A"][0]["value"][1]) <= 1
        programs = prometheus.asked("label/program/values", **{"match[]": "heapsmith_committed_bytes"})
        assert [name.split()[0].rpartition("/")[2] for name in programs] == ["redis-server"]
