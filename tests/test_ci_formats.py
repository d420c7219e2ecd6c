"""Do the programs that read reports of continuous integration read those of heapsmith, whatever names are in them?"""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
import viewers

from heapsmith.tools.ci.formats import FORMATS
from heapsmith.tools.ci.verdict import Case, Finding, Verdict, below, root_of
from heapsmith.tools.common.tables import Words

NASTY = "a,b:c% |`x`\n::error::<t>&\"'\x1b[1m]]>\ud800"
GOOD = Verdict("heapsmith check", "./job", True, [], [], [Case("peak bytes", True, "as before")], [])
BAD = Verdict(
    "heapsmith check",
    f"./job {NASTY}",
    False,
    [Words(f"a table {NASTY}", ("figure", "now"), [(NASTY, "7")])],
    [f"A sentence {NASTY}."],
    [
        Case("allocations", False, f"allocations {NASTY}"),
        Case("peak bytes", True, NASTY, f"it varies {NASTY}"),
        Case("peak blocks", True, "as before"),
    ],
    [
        Finding("allocations", f"grew {NASTY}", "src/a b,c:100%.c", 12),
        Finding("allocations", "grew", "src/other.c", 3),
    ],
)
SHOWN = r"a,b:c% |`x`\n::error::<t>&" + "\"'" + r"\x1b[1m]]>\ud800"


def test_junit_is_read_by_a_parser() -> None:
    junitparser = pytest.importorskip("junitparser", reason="junitparser is not installed")
    whole = junitparser.JUnitXml.fromstring(FORMATS["junit"](BAD).encode())
    assert (whole.tests, whole.failures, whole.skipped, whole.errors) == (3, 1, 1, 0)
    (suite,) = whole
    assert suite.name == "heapsmith check"
    cases = {case.name: case for case in suite}
    assert list(cases) == ["allocations", "peak bytes", "peak blocks"]
    (failure,) = cases["allocations"].result
    assert isinstance(failure, junitparser.Failure)
    assert failure.message == f"allocations {SHOWN}"
    assert f"src/a b,c:100%.c:12: grew {SHOWN}" in failure.text.splitlines()
    (skipped,) = cases["peak bytes"].result
    assert isinstance(skipped, junitparser.Skipped)
    assert skipped.message == f"it varies {SHOWN}"
    assert cases["peak blocks"].is_passed
    counted = junitparser.JUnitXml.fromstring(FORMATS["junit"](BAD).encode())
    counted.update_statistics()
    assert (counted.tests, counted.failures, counted.skipped) == (3, 1, 1)
    assert ElementTree.fromstring(FORMATS["junit"](GOOD)).get("failures") == "0"


def test_junit_has_the_seconds_of_the_whole() -> None:
    """A figure takes no time of its own, and a time of 0 would be none that was measured."""
    top = ElementTree.fromstring(FORMATS["junit"](msgspec.structs.replace(BAD, seconds=12.34567)))
    assert [one.get("time") for one in top.iter()][:2] == ["12.346"] * 2
    assert {one.get("time") for one in top.iter("testcase")} == {None}


@pytest.mark.parametrize("name", FORMATS)
def test_a_judgement_of_nothing_can_be_written(name: str) -> None:
    """That of a baseline which was just written has no cases."""
    written = Verdict("heapsmith check", "./job", True, [], ["nothing was compared"], [], [])
    assert FORMATS[name](written)


def test_a_runner_warns_where_nothing_was_compared() -> None:
    written = Verdict("heapsmith check", "./job", True, [], ["b.json was written: nothing was compared"], [], [])
    ((kind, _, text),) = commands(FORMATS["github"](written))
    assert (kind, text) == ("warning", "ok: ./job; b.json was written: nothing was compared")
    assert [kind for kind, _, _ in commands(FORMATS["github"](GOOD))] == ["notice"]


def sarif_schema() -> dict[str, Any]:
    """The schema of SARIF 2.1.0 as a package of npm brings it."""
    folder = viewers.npm_package("@microsoft/jest-sarif", "1.0.0-beta.0")
    found: dict[str, Any] = json.loads((folder / "lib/schemas/sarif-2.1.0-rtm.5.json").read_text())
    return found


@pytest.mark.big  # the schema comes from its registry, by network
def test_sarif_fits_its_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    schema = sarif_schema()
    validator = jsonschema.validators.validator_for(schema)(schema)
    for verdict in (GOOD, BAD):
        assert [str(error) for error in validator.iter_errors(json.loads(FORMATS["sarif"](verdict)))] == []
    wrong = json.loads(FORMATS["sarif"](BAD))
    wrong["runs"][0]["results"][0]["level"] = "bad"
    assert list(validator.iter_errors(wrong)) != []


def test_sarif_has_each_finding() -> None:
    (run,) = json.loads(FORMATS["sarif"](BAD))["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["allocations", "peak-blocks", "peak-bytes"]
    first, second = run["results"]
    assert rules[first["ruleIndex"]] == first["ruleId"] == "allocations"
    assert first["message"]["text"] == f"grew {SHOWN}"
    place = first["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]) == ("src/a%20b%2Cc%3A100%25.c", {"startLine": 12})
    assert first["partialFingerprints"] != second["partialFingerprints"]
    moved = msgspec.structs.replace(BAD, findings=[msgspec.structs.replace(BAD.findings[0], line=99)])
    (again,) = json.loads(FORMATS["sarif"](moved))["runs"][0]["results"]
    assert again["partialFingerprints"] == first["partialFingerprints"]  # a line that moved is no new alert


COMMAND = re.compile(r"::(?P<name>error|notice|warning)(?: (?P<values>[^:]*))?::(?P<text>.*)")


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Commands as GitHub's runner reads them: `::name key=value,key=value::text`, with escapes by %."""
    found = []
    for line in text.splitlines():
        one = COMMAND.fullmatch(line)
        assert one, line
        pairs = (pair.split("=", 1) for pair in (one["values"] or "").split(","))
        values = {key: _unescaped(value.replace("%3A", ":").replace("%2C", ",")) for key, value in pairs}
        found.append((one["name"], values, _unescaped(one["text"])))
    return found


def _unescaped(text: str) -> str:
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def test_commands_of_github_are_lines_with_escapes() -> None:
    errors = commands(FORMATS["github"](BAD))
    assert [name for name, _, _ in errors] == ["error", "error", "notice"]
    values = {"file": "src/a b,c:100%.c", "line": "12", "title": "heapsmith check: allocations"}
    assert errors[0][1:] == (values, f"grew {SHOWN}")
    assert errors[2][2] == f"NOT ok: ./job {SHOWN}"
    assert commands(FORMATS["github"](GOOD)) == [("notice", {"title": "heapsmith check"}, "ok: ./job")]
    many = msgspec.structs.replace(BAD, findings=[BAD.findings[1]] * 14)
    assert len(commands(FORMATS["github"](many))) == 11
    assert "4 findings more" in commands(FORMATS["github"](many))[-1][2]


QUALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string"},
            "check_name": {"type": "string"},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^(?!\\./|/)"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}
"""What GitLab's documentation asks of a report of code quality."""


def test_gitlab_has_each_finding() -> None:
    found = json.loads(FORMATS["gitlab"](BAD))
    assert [(one["location"]["path"], one["location"]["lines"]["begin"]) for one in found] == [
        ("src/a b,c:100%.c", 12),
        ("src/other.c", 3),
    ]
    assert found[1]["description"] == "allocations: grew"  # GitLab shows no name beside it
    assert len({one["fingerprint"] for one in found}) == 2
    assert json.loads(FORMATS["gitlab"](GOOD)) == []
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    jsonschema.validate(found, QUALITY)


def test_markdown_is_one_document() -> None:
    markdown_it = pytest.importorskip("markdown_it", reason="markdown-it-py is not installed")
    text = FORMATS["markdown"](BAD)
    assert text.startswith("<!-- heapsmith check -->\n# heapsmith check: NOT ok\n")
    tokens = markdown_it.MarkdownIt("commonmark").enable("table").parse(text)
    assert [one.content for one in tokens if one.type == "html_block"] == ["<!-- heapsmith check -->\n"]
    inline = [child for one in tokens if one.children for child in one.children]
    assert not [one for one in inline if one.type == "html_inline"]
    rows = [one for one in tokens if one.type == "tr_open"]
    assert len(rows) == 2
    assert sum(one.type == "td_open" for one in tokens) == 2


def test_paths_are_seen_from_the_root(tmp_path: Path) -> None:
    inside = tmp_path / "a b" / "src"
    inside.mkdir(parents=True)
    assert root_of(inside, {}) == inside
    (tmp_path / "a b" / ".git").touch()
    assert root_of(inside, {}) == tmp_path / "a b"
    assert root_of(inside, {"GITHUB_WORKSPACE": str(tmp_path)}) == tmp_path
    assert root_of(inside, {"CI_PROJECT_DIR": str(tmp_path / "elsewhere")}) == tmp_path / "a b"
    root = tmp_path / "a b"
    assert below(root, str(inside / ".." / "src" / "x.c")) == "src/x.c"
    assert below(root, "src/x.c") == "src/x.c"
    assert [below(root, one) for one in ("", "/usr/include/x.h", str(root), str(tmp_path / "a bc/x.c"))] == [""] * 4
