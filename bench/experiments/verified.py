"""At which commit was each design of the mechanisms verified on real programs? bench/experiments/verified.json.

python -m heapsmith.bench.experiments.verified [DESIGN]..., or make verified
"""

import os
import sys
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.bench.experiments.mechanisms import VERIFIED, Verified, mechanisms, verified
from heapsmith.bench.programs.programs import programs, trace_of
from heapsmith.codegen.verify import verify
from heapsmith.model.constants import BENCHFAST
from heapsmith.model.design.design import load
from heapsmith.model.files import scratch, write_json
from heapsmith.model.trace.reader import TraceReader

PROGRAMS = ("perl", "python", "ripgrep")
"""Single-threaded, with a few threads, and with threads that free what others allocated."""
SCALE = 0.1  # of their usual inputs


def main(designs: Annotated[list[str] | None, typer.Argument(help="Default: those of the mechanisms.")] = None) -> int:
    """Verify designs and keep the commit; 1 if one differs, which then is not kept."""
    os.environ |= BENCHFAST
    known, at = verified(), commit()
    failed = False
    with scratch() as folder:
        chosen = [one for one in programs(folder / "inputs", scale=SCALE) if one.name in PROGRAMS]
        traces = [trace_of(one, folder / one.name) for one in chosen]
        threads = max(TraceReader(trace).footer.threads for trace in traces)
        for name in designs or sorted({one.design for one in mechanisms().values()}):
            report = verify(load(name), traces)
            if not report.ok:
                print(f"{name}: library and model differ: run heapsmith verify {name}", file=sys.stderr)
                failed = True
                continue
            claims = len(report.audit.rows) if report.audit else 0
            known[name] = Verified(at, today(), threads, sum(run.events for run in report.runs), claims)
            write_json(VERIFIED, msgspec.to_builtins(dict(sorted(known.items()))))
            print(f"{name}: {known[name].events:,} events, {claims} claims", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    exit_with(main)
