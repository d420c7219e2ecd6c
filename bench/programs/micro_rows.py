"""The rows of the benchmark on the programs of micro/: arguments, purposes and ceilings."""

from typing import NamedTuple

EMPTY, STACK, BUMP = "empty", "stack", "bump"
CEILINGS = (EMPTY, STACK, BUMP)
FULL_TO_QUICK, QUICK_TO_TRAINING = 5, 3
"""Approximate work of a full row to that with --quick, and of that to its training input."""
SHORT = (STACK, BUMP)
"""Ceilings for small short-lived blocks in one thread."""


class MicroRow(NamedTuple):
    """A row: `program` with `arguments` and `work` units (with --quick `quick`; 0: left out)."""

    name: str
    program: str
    work: int
    quick: int
    arguments: str
    shows: str
    threads: int = 1
    ceilings: tuple[str, ...] = ()
    hot: bool = False
    """Count its instructions per operation: --instructions, hot_paths.toml, `make hardening`."""
    stamped: bool = True
    """Its mallocs and frees can be stamped: --latency."""
    few: bool = False
    """It makes few calls, so it is trained on nine tenths of its work.

    Until blocks were freed and asked for again many times, another design is best.
    """
    training: str = ""
    """The training input's arguments if they differ: for programs that draw nothing at random."""

    def words(self, quick: bool) -> list[str]:
        """The program's arguments; the quick ones of a row without them are a part of its work."""
        less = self.quick or max(1, self.work // FULL_TO_QUICK)
        return [str(less if quick else self.work), *self.arguments.split()]

    def training_words(self) -> list[str]:
        """The program's arguments in training: less work, recorded in a few seconds."""
        if self.program == "larson":  # lanes must overlap for long; they share more lines with each generation
            pairs, *others, generations = self.words(quick=False)
            return [str(int(pairs) // 2), *others, str(min(int(generations), 20))]
        quick = int(self.words(quick=True)[0])
        work = self.work * 9 // 10 if self.few else max(1, quick // QUICK_TO_TRAINING)
        return [str(work), *(self.training or self.arguments).split()]


M = 1_000_000
K = 1_000

MICRO = [
    MicroRow("pair-32", "fixed", 20 * M, 3 * M, "32 1", "malloc and free in turn", 1, CEILINGS, True),
    MicroRow("pair-512", "fixed", 20 * M, 0, "512 1", "the same, a larger class", 1, CEILINGS, True),
    MicroRow("fixed-16", "fixed", 20 * M, 0, "16 400", "400 live, the oldest freed", 1, SHORT),
    MicroRow("fixed-32", "fixed", 20 * M, 3 * M, "32 400", "400 live, the oldest freed", 1, SHORT, True),
    MicroRow("fixed-128", "fixed", 20 * M, 0, "128 400", "400 live, the oldest freed", 1, SHORT),
    MicroRow("fixed-256", "fixed", 20 * M, 0, "256 400", "400 live, the oldest freed", 1, SHORT),
    MicroRow("fixed-1024", "fixed", 20 * M, 0, "1024 400", "400 live, the oldest freed", 1, SHORT),
    MicroRow("mixed", "mixed", 10 * M, 2 * M, "400 16 1024 uniform 1", "400 live, a random one freed", 1, SHORT, True),
    MicroRow(
        "mixed-100k", "mixed", 4 * M, 600 * K, "100000 16 1024 uniform 1", "a heap beyond the caches", 1, (STACK,)
    ),
    MicroRow("skewed", "mixed", 10 * M, 2 * M, "400 16 1024 skewed 1", "mostly small sizes", 1, SHORT),
    MicroRow("skewed-100k", "mixed", 4 * M, 0, "100000 16 1024 skewed 1", "the same, a big heap", 1, (STACK,)),
    MicroRow("mid", "mixed", 1 * M, 200 * K, "100 8192 32768 uniform 1", "mid sizes, one thread"),
    MicroRow("mid-half", "slots", 2 * M, 400 * K, "2048 8192 32768 1", "mid sizes, half of 2,048 slots live"),
    MicroRow("large", "mixed", 20 * K, 4 * K, "20 65536 1048576 uniform 1", "page return and first touch"),
    MicroRow("large-1000", "mixed", 8 * K, 0, "1000 65536 1048576 uniform 1", "the same, half a GB live", few=True),
    MicroRow("large-4m", "mixed", 2 * K, 0, "250 65536 4194304 uniform 1", "the same, blocks of up to 4 MiB", few=True),
    MicroRow(
        "phases",
        "phases",
        2,
        1,
        f"{40 * M} 32 256 48 1024 96 512 64 192",
        "40 MB in one size after the other",
        training=f"{24 * M} 192 64 512 96 1024 48 256 32",
    ),
    MicroRow("realloc-small", "growth", 10 * M, 2 * M, "1000 1024 50", "strings that grow by half", stamped=False),
    MicroRow("realloc-exact", "growth", 5 * M, 0, "1000 1024 0", "a realloc for each append", stamped=False),
    MicroRow(
        "realloc-large", "growth", 5 * M, 5 * M, "8 4000000 50", "buffers that grow to 4 MB", stamped=False, few=True
    ),
    MicroRow("calloc", "calloc", 10 * M, 2 * M, "400 16 1024 uniform", "zeroed small blocks", stamped=False),
    MicroRow("calloc-large", "calloc", 20 * K, 0, "20 65536 1048576 uniform", "zeroed large blocks", stamped=False),
    MicroRow(
        "aligned", "aligned", 4 * M, 500 * K, "400 16 1024 uniform", "posix_memalign, aligned_alloc", stamped=False
    ),
    MicroRow("calls", "calls", 1 * M, 200 * K, "4000 1 0", "4,000 live, a few up to 32 KiB"),
    MicroRow("calls-cold", "calls", 20 * K, 20 * K, "4000 1 1", "a thread's first calls", few=True),
    MicroRow("start-up", "startup", 200, 60, "", "exec of /bin/true", stamped=False),
]

THREADS = [
    MicroRow("mixed-2t", "mixed", 10 * M, 2 * M, "400 16 1024 uniform 2", "mixed, two threads", 2),
    MicroRow("mixed-4t", "mixed", 5 * M, 0, "400 16 1024 uniform 4", "mixed, four threads", 4),
    MicroRow("larson-small-1t", "larson", 100 * K, 0, "1000 8 64 1 50", "blocks outlive their thread"),
    MicroRow("larson-small-2t", "larson", 100 * K, 20 * K, "1000 8 64 2 50", "the same, two lanes", 2),
    MicroRow("larson-small-4t", "larson", 50 * K, 0, "1000 8 64 4 50", "the same, four lanes", 4),
    MicroRow("larson-small-8t", "larson", 25 * K, 0, "1000 8 64 8 50", "the same, eight lanes", 8),
    MicroRow("larson-small-16t", "larson", 12 * K, 0, "1000 8 64 16 50", "the same, 16 lanes", 16),
    MicroRow("larson-mid-1t", "larson", 20 * K, 0, "100 2048 32768 1 20", "2 to 32 KiB"),
    MicroRow("larson-mid-2t", "larson", 20 * K, 4 * K, "100 2048 32768 2 20", "2 to 32 KiB, two lanes", 2),
    MicroRow("larson-mid-4t", "larson", 10 * K, 0, "100 2048 32768 4 20", "2 to 32 KiB, four lanes", 4),
    MicroRow("larson-mid-8t", "larson", 5 * K, 0, "100 2048 32768 8 20", "2 to 32 KiB, eight lanes", 8),
    MicroRow("larson-mid-16t", "larson", 2500, 0, "100 2048 32768 16 20", "2 to 32 KiB, 16 lanes", 16),
    MicroRow("larson-large-1t", "larson", 1 * K, 0, "20 65536 1048576 1 20", "64 KiB to 1 MiB"),
    MicroRow("larson-large-2t", "larson", 1 * K, 200, "20 65536 1048576 2 10", "64 KiB to 1 MiB, two lanes", 2),
    MicroRow("larson-large-4t", "larson", 500, 0, "20 65536 1048576 4 10", "64 KiB to 1 MiB, four lanes", 4),
    MicroRow("larson-large-8t", "larson", 250, 0, "20 65536 1048576 8 10", "64 KiB to 1 MiB, eight lanes", 8),
    MicroRow("larson-large-16t", "larson", 125, 0, "20 65536 1048576 16 10", "64 KiB to 1 MiB, 16 lanes", 16),
    MicroRow("mid-2t", "mixed", 500 * K, 100 * K, "100 8192 32768 uniform 2", "8 to 32 KiB, two threads", 2),
    MicroRow("mid-4t", "mixed", 250 * K, 0, "100 8192 32768 uniform 4", "8 to 32 KiB, four threads", 4),
    MicroRow("mid-half-2t", "slots", 1 * M, 0, "2048 8192 32768 2", "2,048 slots a thread, two threads", 2),
    MicroRow("mid-half-4t", "slots", 500 * K, 0, "2048 8192 32768 4", "2,048 slots a thread, four threads", 4),
    MicroRow("producer", "handover", 100 * K, 20 * K, "16 256 1 1", "one allocates, another frees", 2),
    MicroRow("producer-mid", "handover", 10 * K, 0, "1024 16384 1 1", "the same, 1 to 16 KiB", 2),
    MicroRow("producer-1-3", "handover", 100 * K, 0, "16 256 1 3", "one allocates, three free", 4),
    MicroRow("producer-3-1", "handover", 33 * K, 0, "16 256 3 1", "three allocate, one frees", 4),
    MicroRow("producer-mid-4t", "handover", 5 * K, 0, "1024 16384 2 2", "two allocate, two free, 1 to 16 KiB", 4),
    MicroRow("xmalloc-4t", "handover", 50 * K, 10 * K, "16 256 2 2", "two allocate, two others free", 4),
    MicroRow("xmalloc-8t", "handover", 25 * K, 0, "16 256 4 4", "four allocate, four others free", 8),
    MicroRow("xmalloc-16t", "handover", 12 * K, 0, "16 256 8 8", "eight allocate, eight others free", 16),
    MicroRow("calls-4t", "calls", 250 * K, 0, "4000 4 0", "calls, four threads", 4),
]

SERVERS = [
    MicroRow("crowd", "crowd", 2, 1, "1000 300 16 1024", "1,000 threads that come and go", 1000),
    MicroRow("backends", "backends", 96, 24, "8 60", "a process a session, trees of memory contexts", 8),
]
