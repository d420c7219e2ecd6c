"""Which fields and numbers have one value in all covering designs (covering.py), and why some may."""

from collections.abc import Sequence

import msgspec

from heapsmith.model import policy
from heapsmith.model.design.design import Design

FIELDS = [field for field in Design.__struct_fields__ if field not in ("name", "about")]
ELSEWHERE = {
    "front": "each class has one of class_front",
    "front=prepared": "each class has it or none: test_prepared.py",
    "segregation": "it goes by call sites: test_segregation.py gives groups to these designs",
    "sampling=ready": "it goes with array stacks alone: test_sampling_ready.py",
    "shards=nodes": "it goes with what striped shards go with: test_nodes.py gives it to these designs",
    "bounded": "a promise that the audit proves, no choice of the machine: test_bounded.py",
    "compile_flags": "they change no decision: test_toolchain.py",
    "size_lookup=computed.steps": "the sizes here have two steps per doubling: test_plan.py has others",
    "slab_span_bytes": "address space that does not run out here: test_limits.py",
    "run_span_bytes": "address space that does not run out here: test_limits.py",
}
"""Why covering designs lack a row of a field, or have one value of a field or of a row's number."""


def single_valued(designs: Sequence[Design]) -> set[str]:
    """Fields and numbers of rows that have one value in all these designs, and rows that none of them has."""
    stated = [msgspec.to_builtins(design) for design in designs]
    single = {field for field in FIELDS if len({str(one[field]) for one in stated}) == 1}
    fronts = [rule.front for design in designs for rule in design.class_front]
    for field in set(policy.NAMED) - ELSEWHERE.keys() | {"front"}:
        chosen = fronts if field == "front" else [getattr(design, field) for design in designs]
        structs = [one for one in chosen if isinstance(one, msgspec.Struct)]
        for row in policy.choosable(field):
            own = [one for one in structs if type(one) is getattr(row, "Params", None)]
            if not own and row.NAME not in chosen and row is not policy.default(field):
                single.add(f"{field}={row.NAME}")
            for number in row.Params.__struct_fields__ if own else ():
                if len({str(getattr(one, number)) for one in own}) == 1:
                    single.add(f"{field}={row.NAME}.{number}")
    return single
