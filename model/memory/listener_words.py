"""The fixed places of the words at the head of `listener`, the array of a listener.

A name that ends in _AT is the place in `listener` where a table begins. A link to nothing is -1
unless stated otherwise.
"""

FULL = 0
"""1: a table was too short, so the counts are wrong; the caller did not ask `room_for`."""
ROOM = 1
"""Bytes that may be touched for the first time before the tables must grow (below 0: none)."""

# Sink LOG.
LOGGED = 2  # entries in the log
LOST = 3  # entries without room
LOG_AT = 4
LOG_END = 5

# Counts of sink CACHES; DISTANCES counts ACCESSES too.
ACCESSES = 8  # touches of one line
L1_MISSES = 9
L2_MISSES = 10  # accesses of lines in no private level
LLC_MISSES = 11
TRANSFERS = 12  # lines from another core's modified copy
TLB1_MISSES = 13
TLB2_MISSES = 14
FAULTS_4K = 15
FAULTS_2M = 16
RESIDENT_BYTES = 17
RESIDENT_PEAK = 18
RESIDENT_SUM = 19  # sum of the resident pages after each event, times the time to the next
EVENTS = 20
MISPREDICTED = 21  # mispredicted branches of malloc and free
POPULATED = 22  # of FAULTS_4K, those in calls that populate
MISPREDICTED_LOOPS = 23  # mispredicted ends of the program's loops over lines
AWAITED = 54  # of TRANSFERS, those that the next access waits for
COLD_CALLS = 55  # slow paths that the core had not taken for long

# The private levels of a core. At a level's word: the offset of its table in the core's row; behind
# it: its sets - 1, and its ways.
L1, L2, SMALL, HUGE, TLB2 = range(24, 39, 3)  # caches; first-level TLBs (4 KiB, 2 MiB); second-level TLB
L1_WAYS, L2_WAYS, SMALL_WAYS, HUGE_WAYS, TLB2_WAYS = range(26, 41, 3)  # L2_WAYS 0: no second level

# The rest of the geometry: constants of the hardware.
LINE_SHIFT = 39
LLC_SETS = 84
LLC_WAYS = 85
LLC_AT = 86
LLC_MASK = 87  # sets - 1 for a power of two, else -1
ZEROES = 51  # 1: a fault leaves the lines of its page in the caches

# The private parts of a core: a row of tables per core, L1 first, the branch predictor and the slow paths last.
CORES = 40  # number of rows
CORES_MOST = 41  # number of cores of the machine
CORES_AT = 42
CORE_WORDS = 43  # words from a core's row to the next row
BRANCH_OFFSET = 52
PATH_OFFSET = 53
ACTOR = 48  # the processor or thread of the touches
CORE = 49  # its core
ROW = 50  # where the core's row begins

# The directory of the cores that may hold a line: a hash table, unused with a single core.
DIRECTORY_AT = 56
DIRECTORY_MASK = 57  # entries - 1; an entry is a line (-1: empty) and the mask of its cores
DIRECTORY_USED = 58
DIRECTORY_MOST = 59  # used entries at which the table is rebuilt

# Resident pages.
ROOT_AT = 60
# The pools of nodes and leaves: the table, items ever used, the LIFO list of free items, items left.
NODES_AT, NODES_USED, NODES_FREE, NODES_LEFT = range(61, 65)
LEAVES_AT, LEAVES_USED, LEAVES_FREE, LEAVES_LEFT = range(65, 69)
WHOLE_FRAMES = 70  # resident frames of 2 MiB on a huge page
TABLES = 71  # frames that got the first of their small pages: each takes a page table

# Sink DISTANCES: model/memory/distances.py.
TABLE_AT = 72
TABLE_MASK = 73
LINES = 74
LINES_MOST = 75
AXIS_AT = 76
AXIS_WORDS = 77
NOW = 78
TREE_AT = 79
LAST_LINE = 80
COLD = 81
HISTOGRAM_AT = 82

# Counts again: of the misses of each level, those of reads.
L1_READS, L2_READS, LLC_READS = 88, 89, 90
DROPPED = 91  # small pages that were resident and were given back
L2_AWAITED, LLC_AWAITED = 92, 93  # lines from the last level and from memory that the next access waits for
ELAPSED = 94  # time behind all events, by which RESIDENT_SUM is divided

WORDS = 95
