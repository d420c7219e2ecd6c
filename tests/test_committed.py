"""generated/: the showpieces are what their designs give, and short enough to read."""

from heapsmith.codegen.committed import FOLDER
from heapsmith.codegen.generate import contents
from heapsmith.model.design.design import builtin_names, load

DESIGNS = sorted(path.parent for path in FOLDER.glob("*/design.toml"))


def test_the_c_is_that_of_the_designs() -> None:
    for folder in DESIGNS:
        wanted = contents(load(str(folder / "design.toml")))
        assert sorted(path.name for path in folder.iterdir()) == sorted(wanted)
        for name, content in wanted.items():
            assert name == "design.toml" or (folder / name).read_bytes() == content, folder / name


def test_a_reader_gets_through_it() -> None:
    assert sum(path.read_text().count("\n") for folder in DESIGNS for path in folder.iterdir()) <= 7000


def test_the_tuned_design_says_how_it_was_made_and_why() -> None:
    tuned = [folder for folder in DESIGNS if folder.name not in builtin_names()]
    assert tuned
    for folder in tuned:
        text = (folder / "design.toml").read_text()
        assert "heapsmith record" in text
        assert "heapsmith tune" in text
