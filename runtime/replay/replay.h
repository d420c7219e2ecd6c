/* What the parts of the replayer share: the block table, a thread of the replay, and how it ends on an error. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "latency.h"
#include "pace.h"
#include "script.h"

#define NEVER UINT64_MAX

enum { RUN_EVENTS = 256 }; /* after each run of this many events a stream says that it moves */

enum touch { TOUCH_NONE, TOUCH_FIRST, TOUCH_ALL };

/* Blocks of this size and more are touched in part: shares of 2^SHARE_BITS for blocks from 64 KiB, 512 KiB, 4 and 32 MiB on
 * (model/memory/application.py). */
enum { TOUCHED_BYTES = 64 << 10, TOUCHED_SIZES = 4, SHARE_BITS = 10 };

/* One block of the trace. Written by the thread whose event is next on this slot; another thread reads it only after
 * it has seen `done` reach its event's `after`. `done` counts only where there is more than one stream. */
struct block {
    char *address;
    uint64_t bytes;        /* requested */
    _Atomic uint32_t done; /* operations complete on this slot; its release store hands the block over */
    uint32_t seed;         /* of its contents, with --check */
};

/* Spent by a thread or by the process. */
struct spent {
    uint64_t wall_ns, cpu_ns, minor_faults;
};

/* One stream and the thread that replays it, which alone writes it until it ends, but for the last three fields. */
struct worker {
    _Alignas(64) struct replay *replay;
    uint32_t stream;
    uint64_t position;         /* events of this stream before the run below */
    const struct event *begin; /* of the run of events under way */
    uint64_t sample;           /* number of the stream's next sample of RSS */
    uint64_t samples_end;      /* and of the one behind its last */
    uint64_t stalls;           /* events that had to wait for another thread */
    uint64_t spins;            /* at the beginning of these waits */
    struct spent paused;       /* what else must not count: script pages, RSS samples, longer waits */
    struct latency *latency;   /* with --latency: of allocations, then of frees */
    struct latency *stamped;   /* that of the operation at hand */
    _Atomic uint32_t wait;     /* enum wait, of waits.h, and what it is about; anyone may look */
    _Atomic uint64_t waits_at, waits_for;
    _Atomic uint64_t moved; /* grows with the events performed and the waits ended */
    pthread_t handle; /* this and the next two: written and read by stream 0 */
    bool created;
    bool joined;
};

/* What glibc's bytes are for; the items add up to `committed`. */
struct bytes {
    bool known;
    uint64_t asked, rounding, thread_caches, bins, top;
    uint64_t committed;
};

struct replay {
    struct script script;
    struct block *table;
    struct worker *workers; /* one per stream */
    struct pace pace;       /* of more than one */
    enum touch touch;
    uint32_t touched[TOUCHED_SIZES]; /* the shares of large blocks, from the first byte on */
    bool checked;
    bool stamped;                    /* --latency */
    bool counts_bytes;               /* --bytes */
    struct bytes bytes;              /* at the trace's peak */
    uint64_t at_peak;                /* --bytes: streams that have stopped there, or ended before; under `pace.lock` */
    bool counted;                    /* under it, too: they go on */
    struct stamp stamp;
    uint64_t resident_limit_bytes;   /* of the script */
    bool unsampled;                  /* --unsampled: no RSS but the first and the last */
    uint64_t stall_ms;               /* --stall-ms: without progress, after which it ends with status 1; 0: never */
    uint64_t own_bytes;              /* of the tables above: resident throughout, no part of what is reported */
    _Atomic uint64_t rss_peak_bytes; /* largest sample, or the noted peak */
    _Atomic uint64_t rss_sum_bytes;  /* of the samples by the instants that they stand for, and how many those are */
    _Atomic uint64_t rss_instants;
    _Atomic uint32_t to_come[MOMENTS]; /* streams that have not reached the moment */
    uint64_t rss_peak_live_bytes;    /* the sample at the trace's peak, written by the thread that reaches it */
};

/* Print one line to standard error and end the process: 1 = the malloc under test is wrong, 2 = bad input. */
_Noreturn void fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As fail(1, ...), with the stream and the event's number in it (from 0) in front. */
_Noreturn void fail_event(const struct worker *w, const struct event *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Replay w's whole stream: the start routine of every thread but the first, which calls it. */
void *stream_replay(void *worker);

/* Stream 0, at its event of this number: wait for the thread of another stream to be gone, if that was not done before. */
void worker_join(struct worker *first, uint64_t event, struct worker *other);

/* The ticks of the time-stamp counter that one spin takes. */
double spin_ticks(void);

/* Anonymous resident bytes of this process: file mappings, such as the script, are not among them. */
uint64_t rss_anon_bytes(void);

/* struct mallinfo2 of glibc, which has it since 2.33. */
struct figures {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

/* What malloc's mallinfo2(3) says, which starts the heap; zeros without it. */
struct figures bytes_figures(void);

/* The bytes of glibc, whose live blocks these slots have, while no other thread allocates. */
struct bytes bytes_count(const struct block *table, uint64_t slots);

/* Writes the bytes as a JSON object, or null if they are not known; returns the length of the text. */
int bytes_text(const struct bytes *of, char *text, size_t room);

/* By `who` of getrusage(2), whose CPU time is `clock` of clock_gettime(2). */
struct spent spent_by(int who, int clock);

/* With --check: a block as the allocation call returned it must be aligned (and zeroed); fills it with its pattern. */
void check_birth(const struct worker *w, const struct event *event, struct block *block);

/* The block must hold what it was last filled with. */
void check_whole(const struct worker *w, const struct event *event, const struct block *block);

/* A resized block must be aligned and keep the contents of its first old_bytes; fills it with a new pattern. */
void check_resized(const struct worker *w, const struct event *event, struct block *block, uint64_t old_bytes);
