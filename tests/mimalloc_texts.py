"""What mimalloc printed at the end of a job that made 8,000 blocks and freed every second: three versions.

Spaces at the ends of lines are left out, and of the JSON the fields that nobody reads, and bins without blocks.
"""

V2_0_9 = """\
heap stats:    peak      total      freed    current       unit      count
  reserved:   32.0 MiB   32.0 MiB      0       32.0 MiB
 committed:   32.0 MiB   32.0 MiB      0       32.0 MiB
     reset:      0          0          0          0                            ok
   touched:   64.2 KiB   64.2 KiB    2.5 MiB   -2.5 MiB                        ok
  segments:      1          1          0          1                            not all freed!
-abandoned:      0          0          0          0                            ok
   -cached:      0          0          0          0                            ok
     pages:      0          0         28        -28                            ok
-abandoned:      0          0          0          0                            ok
 -extended:      0
 -noretire:      0
     mmaps:      0
   commits:      0
   threads:      0          0          0          0                            ok
  searches:     0.0 avg
numa nodes:       1
   elapsed:       0.117 s
   process: user: 0.021 s, system: 0.006 s, faults: 0, rss: 18.0 MiB, commit: 32.0 MiB
"""

V2_5_2 = """\
heap stats:     peak       total     current       block      total#
  reserved:     1.0 GiB     1.0 GiB     1.0 GiB
 committed:     1.0 GiB     1.0 GiB     1.0 GiB
     reset:     0
    purged:   899.5 KiB
   touched:     9.3 MiB    11.9 MiB     9.1 MiB
  segments:     1           1           1
-abandoned:     0           0           0
   -cached:     0           0           0
     pages:   163         191         161
-abandoned:     0           0           0
 -extended:     0
   -retire:     0
    arenas:     1
 -rollback:     0
     mmaps:     1
   commits:     0
    resets:     0
    purges:     4
   guarded:     0
   threads:     0           0           0
  searches:     0.0 avg
numa nodes:     1
   elapsed:     0.087 s
   process: user: 0.017 s, system: 0.005 s, faults: 1, peak rss: 22.7 MiB, peak commit: 1.0 GiB
"""

V3_6_0 = """\
subproc 0
 blocks            peak       total     current       block      total#
  bin S   11  :     1.2 KiB     1.2 KiB     0         112          11        ok
  bin S   18  :   384         384           0         384           1        ok
  bin S   20  :     3.0 KiB     3.5 KiB     0         512           7        ok
  bin S   24  :     7.8 MiB     7.8 MiB     7.8 MiB     1.0 KiB     8.0 K    not all freed
  bin S   32  :     4.0 KiB     4.0 KiB     0           4.0 KiB     1        ok
  bin S   34  :    18.0 KiB    24.0 KiB     0           6.0 KiB     4        ok
  bin M   38  :    12.0 KiB    12.0 KiB     0          12.0 KiB     1        ok
  bin M   39  :    14.0 KiB    28.1 KiB     0          14.0 KiB     2        ok
  bin M   40  :    16.0 KiB    32.1 KiB     0          16.0 KiB     2        ok
  bin M   41  :    20.0 KiB    20.0 KiB     0          20.0 KiB     1        ok
  bin M   42  :    24.0 KiB    24.0 KiB     0          24.0 KiB     1        ok
  bin M   43  :    28.1 KiB    84.3 KiB     0          28.1 KiB     3        ok
  bin M   44  :    32.1 KiB    64.2 KiB     0          32.1 KiB     2        ok
  bin M   45  :    80.3 KiB   240.9 KiB     0          40.1 KiB     6        ok
  bin M   46  :    48.1 KiB    48.1 KiB     0          48.1 KiB     1        ok
  bin M   47  :    56.2 KiB   112.4 KiB     0          56.2 KiB     2        ok
  bin L   48  :    64.2 KiB    64.2 KiB     0          64.2 KiB     1        ok

  allocated   :     7.8 MiB     8.5 MiB     7.8 MiB
  freed       :               779.1 KiB
  requested~  :                 8.5 MiB

 pages             peak       total     current
  touched     :     9.8 MiB     9.8 MiB     9.8 MiB
  pages       :   166         194         166
  abandoned   :   127         127           0
  os abandoned:     0           0           0
  os allocated:     0           0           0
  reclaima    :     0
  reclaimf    :   127
  reabandon   :     0
  unabdn retry:     0
  unown retry :     0
  extended    :     1.1 K
  retire      :    69
  stat updates:   155
  stat avg    :    52.4 avg
  searches    :     2.7 avg
  prof samples:     0

 arenas            peak       total     current
  reserved    :     1.0 GiB     1.0 GiB     1.0 GiB
  committed   :    28.7 MiB    28.7 MiB    28.7 MiB
  reset       :     0
  purged      :     0
  arenas      :     1
  rollback    :     0
  mmaps       :     3
  commits     :     0
  resets      :     0
  purges      :     0
  guarded     :     0
  theaps      :     1           1           1
  heaps       :     1           1           1
  heap waits  :     0

 process           peak       total     current
  threads     :     1           1           1
  numa nodes  :     1
  elapsed     :     0.159 s
  process     : user: 0.015 s, system: 0.014 s, faults: 0, peak rss: 30.9 MiB, peak commit: 28.7 MiB

"""

V3_6_0_JSON = """\
{
  "stat_version": 6,
  "mimalloc_version": 30600,
  "pages": {"total": 191, "peak": 163, "current": 163},
  "reserved": {"total": 1076166656, "peak": 1076166656, "current": 1076166656},
  "committed": {"total": 30146560, "peak": 30146560, "current": 30146560},
  "page_committed": {"total": 10218704, "peak": 10218704, "current": 10218704},
  "threads": {"total": 1, "peak": 1, "current": 1},
  "malloc_requested": 8987728,
  "malloc_normal": {"total": 8987728, "peak": 8193024, "current": 8193024},
  "malloc_huge": {"total": 0, "peak": 0, "current": 0},
  "malloc_bins": [
    {"total": 11, "peak": 11, "current": 0, "block_size": 112, "page_size": 65536},
    {"total": 1, "peak": 1, "current": 0, "block_size": 384, "page_size": 65536},
    {"total": 7, "peak": 6, "current": 0, "block_size": 512, "page_size": 65536},
    {"total": 8016, "peak": 8001, "current": 8001, "block_size": 1024, "page_size": 65536},
    {"total": 1, "peak": 1, "current": 0, "block_size": 4096, "page_size": 65536},
    {"total": 4, "peak": 3, "current": 0, "block_size": 6144, "page_size": 65536},
    {"total": 1, "peak": 1, "current": 0, "block_size": 12288, "page_size": 524288},
    {"total": 2, "peak": 1, "current": 0, "block_size": 14336, "page_size": 524288},
    {"total": 2, "peak": 1, "current": 0, "block_size": 16384, "page_size": 524288},
    {"total": 1, "peak": 1, "current": 0, "block_size": 20480, "page_size": 524288},
    {"total": 1, "peak": 1, "current": 0, "block_size": 24576, "page_size": 524288},
    {"total": 3, "peak": 1, "current": 0, "block_size": 28672, "page_size": 524288},
    {"total": 2, "peak": 1, "current": 0, "block_size": 32768, "page_size": 524288},
    {"total": 6, "peak": 2, "current": 0, "block_size": 40960, "page_size": 524288},
    {"total": 1, "peak": 1, "current": 0, "block_size": 49152, "page_size": 524288},
    {"total": 2, "peak": 1, "current": 0, "block_size": 57344, "page_size": 524288},
    {"total": 1, "peak": 1, "current": 0, "block_size": 65536, "page_size": 4194304}
  ]
}
"""
