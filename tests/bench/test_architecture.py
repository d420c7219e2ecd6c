"""The picture of the architecture: what it shows of a small house, and that a change of the house changes it."""

import re
from pathlib import Path

import pytest

from heapsmith.bench.gates import architecture
from heapsmith.bench.gates.architecture import arrows, drawn, floors
from heapsmith.model.errors import CheckFailed

HOUSE = {
    "low/__init__.py": '"""The ground: stones; and nothing else."""\n',
    "low/stone.py": "",
    "low/wall.py": "from heapsmith.low import stone\n",
    "low/tower/__init__.py": "",
    "low/tower/top.py": "from heapsmith.low.wall import up\n",
    "high/__init__.py": '"""Above."""\n',
    "high/roof.py": 'import heapsmith.low.stone\nTEMPLATES = Path("up") / "templates"\nC = Path("up") / "runtime"\n',
    "src/heapsmith/__init__.py": '"""heapsmith: all."""\n',
    "src/heapsmith/face.py": "def late():\n    from heapsmith.high.roof import C\n    import heapsmith.low.wall\n",
    "templates/fast.c.j2": '#include "2_upper/b.h"\n',
    "runtime/heap/1_lower/a.h": "",
    "runtime/heap/2_upper/b.h": "",
    "runtime/first/first.c": '#include "../heap/1_lower/a.h"\n',
    "runtime/second/second.c": '#include "../first/first.h"\n',
    "runtime/first/first.h": "",
}


def house(root: Path) -> Path:
    for name, text in HOUSE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "src/heapsmith/low").symlink_to(root / "low")
    return root


def test_rows_and_arrows_by_hand() -> None:
    graph = {"a": set(), "b": {"a"}, "c": {"a", "b"}, "d": {"a"}, "x": {"y", "b"}, "y": {"x"}}
    assert floors(graph) == [["c", "x", "y"], ["b", "d"], ["a"]]
    assert arrows({name: graph[name] for name in "abcd"}) == [("b", "a"), ("c", "b"), ("d", "a")]


def columns(picture: str) -> dict[str, list[str]]:
    """The names in a picture's boxes, lowest row first, by the name of the column."""
    found: dict[str, list[str]] = {}
    for name, text in re.findall(r'font-size="14">(.*?)/</text>|text-anchor="middle">(.*?)</text>', picture):
        if name:
            found[name] = []
        else:
            list(found.values())[-1].append(text)
    return found


def test_a_small_house(tmp_path: Path) -> None:
    picture = drawn(house(tmp_path))
    assert columns(picture) == {
        "low": ["stone", "wall", "tower"],
        "high": ["roof"],
        "src/heapsmith": ["face"],
        "runtime": ["first", "second"],
        "runtime/heap": ["1_lower", "2_upper"],
        "templates": [],
    }
    assert ">stones<" in picture  # what the package says of itself, without what it calls itself
    assert picture.count("marker-end") == 6  # high -> low, face -> high, high -> templates, runtime; both -> heap
    assert "#f6c58f" not in picture


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("low/stone.py", "import heapsmith.low.tower\n"),  # a circle
        ("low/stone.py", "import heapsmith.high.roof\n"),  # an arrow up
        ("low/cellar.py", "\n"),
        ("runtime/heap/3_roof/c.h", "\n"),
        ("runtime/first/first.c", '#include "../second/second.c"\n'),
    ],
)
def test_a_change_of_the_house_changes_the_picture(
    name: str, more: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(architecture, "ROOT", house(tmp_path))
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr("sys.argv", ["architecture"])
    architecture.main()
    monkeypatch.setattr("sys.argv", ["architecture", "--check"])
    architecture.main()
    (tmp_path / name).parent.mkdir(exist_ok=True)
    with (tmp_path / name).open("a") as file:
        file.write(more)
    with pytest.raises(CheckFailed, match=r"docs/architecture\.svg: differs"):
        architecture.main()
    assert ("#f6c58f" in drawn(tmp_path)) == ("include" in more or "tower" in more)
