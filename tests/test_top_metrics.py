"""Does Prometheus read the metrics of `heapsmith top`, with the figures of the library's own report?"""

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PROGRAM, Answer
from scraped import OPENMETRICS, scraped
from test_top import SIZE, Stepped, stepped

from heapsmith.tools.top.openmetrics import openmetrics, prometheus
from heapsmith.tools.top.watch import Watch

Call = Callable[..., Answer]
Values = dict[tuple[str, str], float]


def values(families: Any, label: str) -> dict[tuple[str, str], float]:
    """Values by the name of their metric and one label."""
    return {(one.name, one.labels.get(label, "")): one.value for family in families for one in family.samples}


def check_figures(found: Values, run: Stepped) -> None:
    """The metrics of a process that waits are what its library reports."""
    report = run.reported()
    sums = {name: sum(one[name] for one in report["classes"]) for name in ("refill", "flush", "acquire")}
    for name, count in {"slabs": report["counters"]["slabs"], **sums}.items():
        assert found["heapsmith_events_total", name] == count, name
    assert found["heapsmith_committed_bytes", ""] == report["counters"]["committed"]
    assert found["heapsmith_events_total", "released_bytes"] == report["counters"]["released_bytes"]


@pytest.mark.parametrize("form", ["openmetrics", "prometheus"])
def test_a_parser_reads_each_look(call: Call, tmp_path: Path, form: str) -> None:
    pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")
    from prometheus_client.openmetrics import parser as open_parser
    from prometheus_client.parser import text_string_to_metric_families

    parse = {"openmetrics": open_parser.text_string_to_metric_families, "prometheus": text_string_to_metric_families}
    with stepped("default", tmp_path) as run:
        run.step("k")
        answer = call("top", run.pid, "--once", f"--{form}", "-", "--classes", "--interval", "0.05s")
        assert (answer.status, answer.err) == (0, "")
        families = list(parse[form](answer.out))
        check_figures(values(families, "kind"), run)
        of_classes = values(families, "size")
        assert of_classes["heapsmith_class_live_blocks", str(SIZE)] == 50
        uses = values(families, "use")
        parts = [value for (name, use), value in uses.items() if name == "heapsmith_bytes" and use]
        assert sum(parts) == uses["heapsmith_committed_bytes", ""]
        (first,) = (one for one in families if one.name == "heapsmith_resident_bytes")
        assert first.type == "gauge"
        assert first.samples[0].labels["pid"] == str(run.pid)
        assert first.samples[0].labels["design"] == "default"
        plain = call("top", run.pid, "--once", f"--{form}", "-", "--interval", "0.05s").out
        assert "heapsmith_class_" not in plain


def test_names_are_escaped(tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    with stepped("default", tmp_path) as run:
        watch = Watch(run.pid)
        (sight,) = watch.look()
    program = 'a "name"\\n\n\\'
    nasty = type(sight)(**{name: getattr(sight, name) for name in sight.__struct_fields__} | {"command": [program]})
    families = list(text_string_to_metric_families(openmetrics([nasty])))
    assert families[0].samples[0].labels["program"] == program
    assert prometheus([]).startswith("# HELP ")
    assert next(iter(text_string_to_metric_families(openmetrics([])))).samples == []


def test_a_file_is_written_at_each_look(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "a folder"
    out.mkdir()
    with stepped("default", tmp_path) as run:
        words = [*PROGRAM, "top", str(run.pid), "--prometheus", str(out / "heap.prom"), "--interval", "0.05s"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as view:
            end = time.monotonic() + 60
            while not (out / "heap.prom").exists() and time.monotonic() < end:
                time.sleep(0.01)
            first = (out / "heap.prom").stat().st_ino
            while (out / "heap.prom").stat().st_ino == first and time.monotonic() < end:
                time.sleep(0.01)
            assert (out / "heap.prom").stat().st_ino != first  # another file each time, renamed
            view.terminate()
            assert view.communicate()[0] == ""
        assert [one.name for one in out.iterdir()] == ["heap.prom"]
        if promtool := shutil.which("promtool"):
            with (out / "heap.prom").open() as text:
                done = subprocess.run(
                    [promtool, "check", "metrics"], stdin=text, capture_output=True, text=True, check=False
                )
            assert (done.returncode, done.stdout + done.stderr) == (0, "")
        both = call("top", run.pid, "--json", "--prometheus", "-")
        assert (both.status, both.out) == (2, "")
        assert "--json, --openmetrics and --prometheus: expected one of them" in both.err


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["openmetrics", "prometheus"])
def test_prometheus_scrapes_the_file(call: Call, tmp_path: Path, form: str) -> None:
    """In either form, served as what it is; counters have the same names in both."""
    with stepped("default", tmp_path) as run:
        run.step("k")
        call("top", run.pid, "--once", f"--{form}", tmp_path / "metrics", "--interval", "0.05s")
        counters = run.reported()["counters"]
    kind = {"kind": OPENMETRICS} if form == "openmetrics" else {}
    with scraped(tmp_path, **kind) as prometheus_at:
        found = prometheus_at.query("heapsmith_committed_bytes")
        (slabs,) = prometheus_at.query('heapsmith_events_total{kind="slabs"}')
        (target,) = prometheus_at.asked("targets")["activeTargets"]
        (told,) = prometheus_at.asked("targets/metadata", metric="heapsmith_committed_bytes")
    assert (target["health"], target["lastError"]) == ("up", "")
    assert [(one["metric"]["design"], float(one["value"][1])) for one in found] == [("default", counters["committed"])]
    assert float(slabs["value"][1]) == counters["slabs"]
    assert told["type"] == "gauge"
