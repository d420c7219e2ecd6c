"""Firefox Profiler's processed format, version 70, as src/types/profile.ts of firefox-devtools/profiler states it."""

from typing import Literal

import msgspec


class Struct(msgspec.Struct, forbid_unknown_fields=True):
    """All fields are known; those without a default are required."""


class Category(Struct):
    name: str
    color: Literal["transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown", "red", "grey"]
    subcategories: list[str]


class Meta(Struct):
    interval: float
    startTime: float  # noqa: N815  # the format's names
    processType: int  # noqa: N815
    product: str
    stackwalk: Literal[0, 1]
    version: int
    preprocessedProfileVersion: Literal[70]  # noqa: N815
    markerSchema: list[None]  # noqa: N815
    categories: list[Category]
    symbolicated: bool
    importedFrom: str  # noqa: N815
    initialVisibleThreads: list[int]  # noqa: N815
    initialSelectedThreads: list[int]  # noqa: N815
    keepProfileThreadOrder: bool  # noqa: N815


class StackTable(Struct):
    frame: list[int]
    prefixOffset: list[int]  # noqa: N815
    length: int


class FrameTable(Struct):
    address: list[int]
    lib: list[int]
    inlineDepth: list[int]  # noqa: N815
    category: list[int | None]
    subcategory: list[int | None]
    func: list[int]
    nativeSymbol: list[int | None]  # noqa: N815
    innerWindowID: list[int | None]  # noqa: N815
    line: list[int | None]
    column: list[int | None]
    originalLocation: list[int | None]  # noqa: N815
    length: int


class FuncTable(Struct):
    name: list[int]
    isJS: list[bool]  # noqa: N815
    relevantForJS: list[bool]  # noqa: N815
    resource: list[int]
    source: list[int | None]
    lineNumber: list[int | None]  # noqa: N815
    columnNumber: list[int | None]  # noqa: N815
    originalLocation: list[int | None]  # noqa: N815
    length: int


class ResourceTable(Struct):
    name: list[int]
    host: list[int | None]
    type: list[int]
    length: int


class NativeSymbolTable(Struct):
    libIndex: list[int]  # noqa: N815
    address: list[int]
    name: list[int]
    functionSize: list[int | None]  # noqa: N815
    length: int


class SourceTable(Struct):
    id: list[str | None]
    filename: list[int]
    startLine: list[int]  # noqa: N815
    startColumn: list[int]  # noqa: N815
    sourceMapURL: list[int | None]  # noqa: N815
    content: list[str | None]
    length: int


class SourceLocationTable(Struct):
    source: list[int]
    line: list[int]
    column: list[int]
    length: int


class Shared(Struct):
    stackTable: StackTable  # noqa: N815
    frameTable: FrameTable  # noqa: N815
    funcTable: FuncTable  # noqa: N815
    resourceTable: ResourceTable  # noqa: N815
    nativeSymbols: NativeSymbolTable  # noqa: N815
    sources: SourceTable
    sourceLocationTable: SourceLocationTable  # noqa: N815
    stringArray: list[str]  # noqa: N815


class Samples(Struct):
    stack: list[int | None]
    time: list[float]
    eventDelay: list[float | None]  # noqa: N815
    weight: list[float] | None
    weightType: Literal["samples", "tracing-ms", "bytes"]  # noqa: N815
    length: int


class Markers(Struct):
    data: list[None]
    name: list[int]
    startTime: list[float | None]  # noqa: N815
    endTime: list[float | None]  # noqa: N815
    phase: list[int]
    category: list[int]
    length: int


class BalancedNativeAllocations(Struct):
    time: list[float]
    weight: list[int]
    weightType: Literal["bytes"]  # noqa: N815
    stack: list[int | None]
    memoryAddress: list[int]  # noqa: N815
    threadId: list[int]  # noqa: N815
    length: int


class Thread(Struct):
    processType: str  # noqa: N815
    processStartupTime: float  # noqa: N815
    processShutdownTime: float | None  # noqa: N815
    registerTime: float  # noqa: N815
    unregisterTime: float | None  # noqa: N815
    pausedRanges: list[None]  # noqa: N815
    name: str
    processName: str  # noqa: N815
    isMainThread: bool  # noqa: N815
    pid: str
    tid: int
    samples: Samples
    markers: Markers
    nativeAllocations: BalancedNativeAllocations  # noqa: N815


class Profile(Struct):
    meta: Meta
    libs: list[None]
    pages: list[None]
    shared: Shared
    threads: list[Thread]

    def stack(self, number: int) -> list[str]:
        """The names of a stack's frames, the innermost first."""
        shared, found, back = self.shared, list[str](), 1
        while back:
            frame = shared.stackTable.frame[number]
            function = shared.frameTable.func[frame]
            name, file = (
                shared.stringArray[one]
                for one in (
                    shared.funcTable.name[function],
                    shared.sources.filename[shared.funcTable.source[function] or 0],
                )
            )
            line = shared.frameTable.line[frame]
            found.append(f"{name} ({file}:{line})" if line else name)
            back = shared.stackTable.prefixOffset[number]
            number -= back
        return found

    def retained(self, thread: Thread) -> list[tuple[list[str], int]]:
        """The stacks of allocations whose address no deallocation has, as the profiler's `retained` view does."""
        of, live = thread.nativeAllocations, dict[int, int]()
        assert of.time == sorted(of.time)
        for row, (weight, address) in enumerate(zip(of.weight, of.memoryAddress, strict=True)):
            if weight > 0:
                assert address not in live
                live[address] = row
            else:
                assert of.weight[live.pop(address)] == -weight
        return [(self.stack(of.stack[row] or 0), of.weight[row]) for row in live.values()]
