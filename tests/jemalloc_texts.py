"""What jemalloc 5.3.0 of Debian wrote of tests/pinning.c in its form `mixed`, with a sample each 64 KiB.

Left out are fields that nobody reads, classes without a block of the program, frames and files.
"""

STATISTICS = """\
{"jemalloc": {"version": "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c", "arenas": {"page": 4096,
"dirty_decay_ms": 10000, "bin": [{"size": 320, "nregs": 64, "slab_size": 20480}, {"size": 1024, "nregs": 4,
"slab_size": 4096}, {"size": 1280, "nregs": 16, "slab_size": 20480}], "lextent": [{"size": 16384}, {"size":
81920}]}, "stats": {"allocated": 67534304, "active": 83611648, "resident": 91860992}, "stats.arenas": {"0":
{"nthreads": 1, "pdirty": 954, "tcache_bytes": 0, "bins": [{"curregs": 40608, "curslabs": 1244}, {"curregs":
39338, "curslabs": 9835}, {"curregs": 1, "curslabs": 1}], "lextents": [{"curlextents": 859}, {"curlextents":
1}]}}}}
"""

PROFILE = """\
heap_v2/65536
  t*: 862: 588693 [1053: 596923]
  t0: 862: 588693 [1053: 596923]
@ 0x7f9369ca2630 0x7f9369c22045 0x561772ac826b 0x561772ac81ee 0x561772ac83ec 0x7f9369a4524a
  t*: 662: 677895 [662: 677895]
  t0: 662: 677895 [662: 677895]
@ 0x7f9369ca2630 0x7f9369c22045 0x561772ac8288 0x561772ac81ee 0x561772ac83cb 0x7f9369a4524a
  t*: 193: 61775 [193: 61775]
  t0: 193: 61775 [193: 61775]
@ 0x7f9369ca2630 0x7f9369c22045 0x561772ac82a5 0x561772ac81ee 0x561772ac83bc 0x7f9369a4524a
  t*: 4: 1280 [195: 62415]
  t0: 4: 1280 [195: 62415]
@ 0x7f9369ca2630 0x7f9369c22ed9 0x7f93698a57ba 0x7f936a02ea1e 0x7f936a02eb04 0x7f936a044ba0
  t*: 1: 82704 [1: 82704]
  t0: 1: 82704 [1: 82704]

MAPPED_LIBRARIES:
561772ac7000-561772ac8000 r--p 00000000 fe:00 9978511                    /job/pinning
561772ac8000-561772ac9000 r-xp 00001000 fe:00 9978511                    /job/pinning
7f9369a44000-7f9369b9a000 r-xp 00026000 fe:00 326269                     /job/libc.so.6
7f9369c09000-7f9369caf000 r-xp 00009000 fe:00 15630367                   /job/libjemalloc.so.2
7f936a028000-7f936a02a000 r-xp 00000000 00:00 0                          [vdso]
"""
