/* Places in Python code: what a frame does now, numbered and told to the spool once each. */
#pragma once

#include <stdint.h>

/* A code object and its last instruction. */
struct python_place {
    const char *code;
    uint64_t last;       /* tells instructions of the code apart */
    int offset;          /* of the instruction in the code, in bytes */
    unsigned file, name; /* where the code object has these strings */
    int (*line)(const char *code, int offset);
};

enum { CODE_DEATHS = 1 << 12 };

/* How many code objects died, by address: a code object is the same as long as the count of its address is. */
extern uint32_t code_deaths[CODE_DEATHS] __attribute__((visibility("hidden")));

static inline const uint32_t *deaths_at(const char *code)
{
    return &code_deaths[(uintptr_t)code >> 5 & (CODE_DEATHS - 1)];
}

/* The hash of words, of which `word` is the next one. */
static inline uint64_t mixed(uint64_t hash, uint64_t word)
{
    return ((hash << 27 | hash >> 37) ^ word) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Its number; 0 if it cannot be told. The caller holds the lock of the stacks, and the frame holds the code. */
uint32_t place_number(const struct python_place *place);

/* Forget what the parent image has told. */
void places_reset(void);
