"""Reports whose paths are as long as the system allows, or longer."""

import re
from pathlib import Path

from test_options import run


def test_a_link_that_leads_to_too_long_a_path_is_told(tmp_path: Path) -> None:
    """The folder's path has 3,910 bytes or more, and the link's target 255."""
    folder = tmp_path
    while len(str(folder)) < 3_910:
        folder /= "f" * min(200, 3_990 - len(str(folder)))
    folder.mkdir(parents=True)
    (folder / "r").symlink_to("t" * 255)
    out, said = run(f"stats={folder}/r")
    assert out == ""
    assert re.fullmatch(r'heapsmith: HEAPSMITH: cannot write "/[^"\n]*f"\n', said)
    assert [path.name for path in folder.iterdir()] == ["r"]
