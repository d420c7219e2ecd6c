/* Nodes: which processors each has, as the system or a folder like the system's tells (docs/machine-rooms.md). */
#define _GNU_SOURCE
#include "5_slab_policies/shards/nodes.h"

#include "1_base/counting/counting.h"
#include "2_system/read_text.h"
#include "1_base/text.h"

#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    NODE_PROCESSORS = 8192, /* the most that Linux is built for on x86-64; their numbers are below */
    LIST_BYTES = 1 << 15,   /* a list of every other of them has 20 KiB */
    WORD_BITS = 64,
    PREFERRED_NODE = 1, /* MPOL_PREFERRED: not by the kernel's header, which a C library need not bring */
    MOST_NODES = 1024, /* that Linux is built for on x86-64; their numbers are below */
};

/* Written when the library starts, and by nodes_told(). */
uint32_t hs_nodes;
static bool has_been_told;
static uint8_t shard_of_processor[NODE_PROCESSORS];
static uint16_t node_of_shard[SHARDS]; /* the system's number of the first node */

unsigned nodes_shard(int32_t processor)
{
    return processor >= 0 && processor < NODE_PROCESSORS ? __atomic_load_n(&shard_of_processor[processor], __ATOMIC_RELAXED) : 0;
}

/* Pages of the range that nobody has touched yet come from the shard's node of memory, if the system can: mbind(2). */
void nodes_bind(unsigned shard, void *start, size_t bytes)
{
    unsigned long nodes[MOST_NODES / WORD_BITS] = { 0 };
    unsigned node = node_of_shard[shard];
    nodes[node / WORD_BITS] = 1ul << node % WORD_BITS;
    count_system(COUNT_MBIND);
    syscall(SYS_mbind, start, bytes, PREFERRED_NODE, nodes, (unsigned long)MOST_NODES + 1, 0u);
}

static bool next_number(const char **at, unsigned *number, unsigned most)
{
    const char *first = *at;
    for (*number = 0; **at >= '0' && **at <= '9' && *number < most; (*at)++)
        *number = *number * 10 + (unsigned)(**at - '0');
    return *at > first && *number < most;
}

static bool next_range(const char **at, uint64_t *set, unsigned most)
{
    unsigned first, last;
    if (!next_number(at, &first, most))
        return false;
    last = first;
    if (**at == '-') {
        ++*at;
        if (!next_number(at, &last, most) || last < first)
            return false;
    }
    for (unsigned number = first; number <= last; number++)
        set[number / WORD_BITS] |= 1ull << number % WORD_BITS;
    return true;
}

/* The numbers below `most` that a file lists, as 0-3,8 does, a bit each; false: that is not what it holds. */
static bool read_list(const char *path, uint64_t *set, unsigned most)
{
    static char text[LIST_BYTES];
    os_read_text(path, text, sizeof text);
    memset(set, 0, most / 8);
    const char *at = text;
    bool listed = next_range(&at, set, most);
    while (listed && *at == ',') {
        at++;
        listed = next_range(&at, set, most);
    }
    return listed && (*at == '\0' || strcmp(at, "\n") == 0);
}

/* The least number of the set from this one on; `most`: there is none. */
static unsigned listed_from(const uint64_t *set, unsigned number, unsigned most)
{
    while (number < most) {
        uint64_t left = set[number / WORD_BITS] >> number % WORD_BITS;
        if (left != 0)
            return number + (unsigned)__builtin_ctzll(left);
        number += WORD_BITS - number % WORD_BITS;
    }
    return most;
}

/* FOLDER/FILE, or FOLDER/nodeNUMBER/FILE. */
static bool node_file(const char *folder, int node, const char *file, uint64_t *set, unsigned most)
{
    char path[PATH_MAX];
    struct text name = text_to(-1, path, sizeof path - 1);
    text_string(&name, folder);
    text_string(&name, "/");
    if (node >= 0) {
        text_string(&name, "node");
        text_number(&name, (uint64_t)node);
        text_string(&name, "/");
    }
    text_string(&name, file);
    path[name.used] = '\0';
    return !name.failed && read_list(path, set, most);
}

/* Adds a node that has processors behind the nodes before it. */
static void add_node(unsigned node, const uint64_t *processors)
{
    unsigned shard = hs_nodes % SHARDS;
    if (hs_nodes < SHARDS)
        node_of_shard[shard] = (uint16_t)node;
    unsigned processor = listed_from(processors, 0, NODE_PROCESSORS);
    for (; processor < NODE_PROCESSORS; processor = listed_from(processors, processor + 1, NODE_PROCESSORS))
        __atomic_store_n(&shard_of_processor[processor], (uint8_t)shard, __ATOMIC_RELAXED);
    __atomic_store_n(&hs_nodes, hs_nodes + 1, __ATOMIC_RELAXED);
}

/* Under the pool lock, or before the program runs. */
static bool read_nodes(const char *folder)
{
    uint64_t nodes[MOST_NODES / WORD_BITS], processors[NODE_PROCESSORS / WORD_BITS];
    memset(shard_of_processor, 0, sizeof shard_of_processor);
    hs_nodes = 0;
    if (!node_file(folder, -1, "online", nodes, MOST_NODES))
        return false;
    for (unsigned node = listed_from(nodes, 0, MOST_NODES); node < MOST_NODES; node = listed_from(nodes, node + 1, MOST_NODES))
        if (node_file(folder, (int)node, "cpulist", processors, NODE_PROCESSORS))
            add_node(node, processors);
    return hs_nodes > 0;
}

void shards_start(void)
{
    if (!has_been_told)
        read_nodes("/sys/devices/system/node");
}

bool nodes_told(const char *folder)
{
    has_been_told = true;
    return read_nodes(folder) || folder[0] == '\0';
}
