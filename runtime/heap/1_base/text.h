/* Text to a file descriptor without stdio and without malloc: async-signal-safe, for messages and reports. */
#pragma once

#include "1_base/cold.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One writer and its buffer, which goes out when it is full and at text_end. */
struct text {
    int fd;
    char *buffer;
    size_t size, used;
    bool failed; /* a write did; what follows is dropped */
};

enum { TEXT_LINE = 256 }; /* a buffer for a line of words; small, for it lies on signal stacks */

static inline struct text text_to(int fd, char *buffer, size_t size)
{
    return (struct text){ .fd = fd, .buffer = buffer, .size = size };
}

COLD void text_bytes(struct text *out, const char *bytes, size_t count);
COLD void text_string(struct text *out, const char *string);
COLD void text_quoted(struct text *out, const char *string); /* a JSON string, quotes and escapes included */
COLD void text_number(struct text *out, uint64_t number);
COLD void text_field(struct text *out, const char *separator, const char *name, uint64_t number); /* of a JSON object */
COLD void text_hex(struct text *out, uintptr_t number, size_t digits); /* 0x and at least `digits` digits, at most 16 */
COLD bool text_end(struct text *out); /* writes what is left; false if any write failed */
