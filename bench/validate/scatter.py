"""Scatter plots of predicted against measured values, one per quantity, as one HTML page."""

from pathlib import Path

from heapsmith.bench.validate.validate import Validation
from heapsmith.model.errors import Missing
from heapsmith.model.files import write_text

try:
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots
except ImportError:
    raise Missing("-o: no package plotly, which draws the plots: make dev-all") from None

COLUMNS = 2
HEIGHT = 480
"""Pixels of a row of plots."""


def write_scatter(path: Path, found: Validation) -> None:
    """Write the page with plotly's code; a point is a design on a trace. BadInput on failure."""
    names = [one.quantity for one in found.qualities]
    rows = -(-len(names) // COLUMNS)
    figure = make_subplots(rows=rows, cols=COLUMNS, subplot_titles=names)
    for number, name in enumerate(names):
        cells = [cell for cell in found.cells if cell.quantity == name and cell.predicted > 0 and cell.measured > 0]
        place = {"row": number // COLUMNS + 1, "col": number % COLUMNS + 1}
        for design in found.designs:
            own = [cell for cell in cells if cell.design == design]
            figure.add_trace(
                go.Scatter(
                    x=[cell.measured for cell in own],
                    y=[cell.predicted for cell in own],
                    text=[f"{cell.trace}, {cell.design}" for cell in own],
                    mode="markers",
                    name=design,
                    legendgroup=design,
                    showlegend=number == 0,
                ),
                **place,
            )
        ends = [min((cell.measured for cell in cells), default=1), max((cell.measured for cell in cells), default=1)]
        line = go.Scatter(x=ends, y=ends, mode="lines", line={"color": "gray", "dash": "dot"}, showlegend=False)
        figure.add_trace(line, **place)
        figure.update_xaxes(type="log", title="measured", **place)
        figure.update_yaxes(type="log", title="predicted", **place)
    figure.update_layout(height=HEIGHT * rows, title=f"Predicted and measured, {len(found.traces)} traces")
    write_text(path, figure.to_html(include_plotlyjs=True, full_html=True))
