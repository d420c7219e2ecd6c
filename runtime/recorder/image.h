/* One process image's spool file: its beginning, its extents, its counts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "1_base/spool/spool.h"

/* What of the recorder belongs to one process image. It lives in a page that the kernel clears in a child made by fork
 * (MADV_WIPEONFORK), however that fork was made: `number` 0 then differs from that of every writer, and nobody touches
 * the parent's windows again. Vfork's child shares its parent's memory, heap and image, and its events belong there. */
struct image {
    uint32_t number;      /* 1, 2, ...: distinct from all images this memory descends from; 0: not begun */
    uint32_t lock;        /* spin lock: the image's start, and `ended` */
    uint32_t threads;     /* numbers given out */
    uint32_t streams;     /* numbers given out */
    uint32_t units;       /* of the spool file, given out */
    uint32_t stack_lock;  /* spin lock: stacks.c, modules.c */
    uint32_t stacks;      /* numbers given out */
    uint64_t epoch;       /* how often code has been unmapped */
    uint64_t sampled;     /* stamp of the last sample of resident pages */
    struct window *ended; /* LIFO list of windows to be taken over, under `lock` (see stream.c) */
};

extern struct image *image __attribute__((visibility("hidden"))); /* said here too: no look into the GOT */

/* Begin an image: create its spool file and write its header. False if this process is not to be, or cannot be,
 * recorded. The caller holds image->lock. */
bool image_begin(void);

/* Make the spool file, which root alone can open, the file of a user whom this process is about to become: as him it opens
 * the file again. A descriptor of the file, or -1: it stays root's, or was not. */
int image_hand_over(uint32_t user);

/* A new live window, empty, at the end of the spool file; NULL if that fails. */
struct window *window_open(uint32_t stream);

/* Copy a full live window to the end of the spool file and clear it. False, and nothing changed, if that fails. */
bool window_copy(struct window *window);

void count_drop(void);
void count_nested(void); /* a call inside a call */
void count_check(bool is_right); /* of a remembered site */
void count_spool_time(uint64_t ticks);
