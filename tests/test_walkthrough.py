"""The notebook: kept without outputs, and every cell runs; `.ci/run` also builds the site with what it prints."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="the walkthrough is a notebook")
NotebookClient = pytest.importorskip("nbclient", reason="it runs the notebook").NotebookClient

FILE = Path(__file__).resolve().parent.parent / "docs/walkthrough.ipynb"


def test_the_notebook_has_no_outputs() -> None:
    """They would be those of one machine."""
    notebook = nbformat.read(FILE, 4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(cells) > 10
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)


@pytest.mark.big
def test_every_cell_runs() -> None:
    notebook = nbformat.read(FILE, 4)
    NotebookClient(notebook, timeout=None).execute()
    said = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
    for expected in ("live blocks", "\nok\n", "claims hold", "void *malloc(size_t bytes)", "report.html"):
        assert expected in said
