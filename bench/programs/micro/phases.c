/* phases ROUNDS TOTAL_BYTES SIZE...: fill TOTAL_BYTES with blocks of one size and free them all;
 * then the same with the next size. The blocks of a phase are a linked list and are freed
 * youngest first. */
#include "micro.h"

struct node {
    struct node *next;
    uint32_t value;
};

static struct node *fill(long blocks, size_t bytes)
{
    struct node *list = NULL;
    for (long i = 0; i < blocks; i++) {
        struct node *node = allocate(bytes);
        touch(node, bytes, 0);
        *node = (struct node){list, (uint32_t)i};
        list = node;
    }
    return list;
}

static uint64_t empty(struct node *list, long blocks)
{
    uint64_t sum = 0;
    for (long i = 0; i < blocks; i++) {
        struct node *next = is_dry ? list : list->next;
        sum += list->value;
        release(list);
        list = next;
    }
    return sum;
}

int main(int count, char **value)
{
    int arguments = read_arguments(count, value, 3, "usage: phases ROUNDS TOTAL_BYTES SIZE...");
    long rounds = number(0, 1, 1 << 20), total = number(1, PAGE, 1L << 40), operations = 0;
    uint64_t checksum = 0;
    start_clock();
    for (long round = 0; round < rounds; round++)
        for (int i = 2; i < arguments; i++) {
            long bytes = number(i, sizeof(struct node), PAGE);
            checksum = checksum * 3 + empty(fill(total / bytes, (size_t)bytes), total / bytes);
            operations += total / bytes;
        }
    return report(checksum, (uint64_t)operations);
}
