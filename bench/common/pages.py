"""The parts of pages that scripts make of data: what stands between two marks."""

from heapsmith.tools.common.tables import Words, section


def with_part(page: str, mark: str, *paragraphs: str) -> str:
    """The page with these paragraphs between its marks."""
    begin, _, end = page.split(mark)
    return begin + "\n\n".join((mark, *paragraphs, mark)) + end


def untitled(table: Words) -> str:
    """The Markdown of a table without its title."""
    return "\n".join(list(section(table))[2:]).strip()
