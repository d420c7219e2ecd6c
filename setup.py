"""The package's long description: README.md, without pictures, in which links to files become their names.

A package index shows the text alone, where such links lead nowhere. All else is in pyproject.toml.
"""

import re
from pathlib import Path

from setuptools import setup


def without_links(text: str) -> str:
    """The Markdown text with the names of files in place of links to them; other links stay."""

    def name(link: re.Match[str]) -> str:
        words, file = link[1], link[2]
        return words if file in words else f"{words} ({file})"

    text = re.sub(r"^!\[[^][]*\]\((?![a-z]+:)[^()]*\)\n\n?", "", text, flags=re.MULTILINE)  # a picture
    return re.sub(r"\[([^][]+)\]\((?![a-z]+:|#)([^()#\s]+)[^()\s]*\)", name, text)


if __name__ == "__main__":
    setup(
        long_description=without_links(Path(__file__).with_name("README.md").read_text(encoding="utf-8")),
        long_description_content_type="text/markdown",
    )
