"""The commands of the laboratory, which reach no user: run, validate, and the group experiments."""

import typer

from heapsmith.bench.commands import experiments, suite, validate

app = typer.Typer(
    help="The laboratory: measurements of heapsmith itself, beside other mallocs.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (suite, validate, experiments):
    app.add_typer(group.app)
