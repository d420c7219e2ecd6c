"""Pictures of pages as SVG: marks, lines and text on a white card, to be read on light and on dark pages."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

INK, FAINT, RULE = "#1c2126", "#5b6670", "#d9dde1"
BLUE, ORANGE, GREEN, GREY = "#2f6fc4", "#c2620c", "#27806b", "#b0b8c0"
"""The colours of the report's page on light screens (tools/page/page.css)."""
WIDTH, FONT = 480, 13
"""Pixels: narrow enough for a telephone to show the text at three quarters of its size."""


def text(x: float, y: float, said: str, *, at: str = "start", fill: str = INK) -> str:
    """A line of text that begins, ends or has its middle at x."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{at}" fill="{fill}">{escape(said)}</text>'


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    """A filled rectangle."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>'


def dot(x: float, y: float, radius: float, fill: str) -> str:
    """A filled circle."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}"/>'


def line(points: Sequence[tuple[float, float]], stroke: str = BLUE, width: float = 2) -> str:
    """A line through points."""
    through = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{through}" fill="none" stroke="{stroke}" stroke-width="{width}"/>'


class Frame(NamedTuple):
    """The area of a plot: its edges in pixels, and the values at them, from left to right and from bottom to top."""

    left: float
    top: float
    right: float
    bottom: float
    across: tuple[float, float]
    up: tuple[float, float]

    def x(self, value: float) -> float:
        """The pixel of a value on the axis across."""
        first, last = self.across
        return self.left + (self.right - self.left) * (value - first) / (last - first)

    def y(self, value: float) -> float:
        """The pixel of a value on the axis up."""
        first, last = self.up
        return self.bottom - (self.bottom - self.top) * (value - first) / (last - first)

    def axes(self, across: dict[float, str], up: dict[float, str], names: tuple[str, str]) -> list[str]:
        """Both axes with the words at their values, and what they are: across below, up above the plot."""
        ends = ((self.left, self.top), (self.left, self.bottom), (self.right, self.bottom))
        marks = [text(self.x(value), self.bottom + 18, word, at="middle", fill=FAINT) for value, word in across.items()]
        for value, word in up.items():
            marks.append(line([(self.left, self.y(value)), (self.right, self.y(value))], RULE, 1))
            marks.append(text(self.left - 6, self.y(value) + 4, word, at="end", fill=FAINT))
        below = text((self.left + self.right) / 2, self.bottom + 38, names[0], at="middle")
        return [*marks, line(ends, FAINT, 1), below, text(8, self.top - 12, names[1])]


def picture(title: str, height: float, marks: Sequence[str]) -> str:
    """The file: a card as wide as WIDTH with the marks on it."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" font-family="sans-serif" font-size="{FONT}" role="img">'
    )
    card = f'<rect width="{WIDTH}" height="{height:.0f}" rx="6" fill="#ffffff"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", card, *marks, "</svg>"]) + "\n"
