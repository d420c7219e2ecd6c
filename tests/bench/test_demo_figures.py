"""The README's sentence about the demo: that of the figures that are kept."""

from pathlib import Path

import msgspec
import pytest

from heapsmith.bench.studies import demo
from heapsmith.model.errors import BadInput
from heapsmith.tools.common.ratios import Ratio

README = Path(__file__).resolve().parents[2] / "README.md"


def kept() -> demo.Report:
    return msgspec.json.decode(demo.DATA.read_bytes(), type=demo.Report)


def with_cpu(report: demo.Report, ratio: Ratio) -> demo.Report:
    return msgspec.structs.replace(report, ratios=msgspec.structs.replace(report.ratios, cpu=ratio))


def test_the_sentence_is_that_of_the_figures() -> None:
    text = " ".join(README.read_text().split())
    assert demo.sentence(kept()) in text
    assert demo.sentence(with_cpu(kept(), Ratio(0.5, 0.4, 0.6))) not in text


def test_a_demo_without_a_gain_has_no_sentence() -> None:
    with pytest.raises(BadInput, match="expected an interval below 1"):
        demo.sentence(with_cpu(kept(), Ratio(0.99, 0.9, 1.01)))


def test_the_figures_are_those_of_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = {"minimum": 1.0, "median": 1.0, "spread": 0.0}
    ratio = {"median": 0.9, "low": 0.8, "high": 0.95}
    row = {name: figure for name in ("cpu_ns", "wall_ns", "peak_rss_bytes", "average_rss_bytes", "minor_faults")}
    row |= {"ratios": dict.fromkeys(("cpu", "wall", "peak_rss", "average_rss"), ratio), "library": "libdefault.so"}
    row |= {"path": None, "exit_status": 0, "signal": 0, "same_output": True, "note": "", "runs": []}
    table = {"command": ["job"], "rounds": 9, "ended": "rounds", "own": [], "output_of": "glibc", "rows": [row]}
    (tmp_path / "report.json").write_bytes(msgspec.json.encode({"measured": table, "more": 1}))
    monkeypatch.setattr(demo, "DATA", tmp_path / "demo.json")
    assert demo.main(tmp_path) == 0
    assert kept().rounds == 9
    assert "takes 10 % less CPU time than glibc's malloc (5 to 20), 10 % less memory" in capsys.readouterr().out
