"""Do the examples of docs/other-tools.md run as they stand there?"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from heapsmith.model.trace.exports.formats import export_trace
from heapsmith.tools.record.record import Processes, record
from heapsmith.tools.sites.export import export_sites

pytest.importorskip("pyarrow", reason="the examples read Parquet")
PAGE = (Path(__file__).resolve().parent.parent / "docs" / "other-tools.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the examples read."""
    folder = tmp_path_factory.mktemp("tables")
    trace = folder / "py.hst"
    record(["ls", "-lR", str(Path(__file__).parent)], trace, processes=Processes(all=False), stacks=64, stdout=2)
    export_trace(trace, folder / "events.parquet")
    export_trace(trace, folder / "lives.parquet", rows="lives")
    export_sites(trace, folder / "sites.parquet", None, progress=lambda what, done, total: None)
    return folder


first, *rest = EXAMPLES


@pytest.mark.parametrize(
    "code",
    [first, *(pytest.param(code, marks=pytest.mark.big) for code in rest)],
    ids=lambda code: code.splitlines()[0].removeprefix("import "),
)
def test_the_example_runs(tables: Path, code: str) -> None:
    package = code.split()[1]
    pytest.importorskip(package, reason=f"the example needs {package}")
    done = subprocess.run([sys.executable, "-c", code], cwd=tables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert any(character.isdigit() for character in done.stdout)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 2
