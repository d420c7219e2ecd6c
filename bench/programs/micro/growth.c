/* growth APPENDS LIVE LIMIT PERCENT: LIVE buffers; a random buffer gets 1 to 64 more bytes, by
 * realloc if it is full. A full buffer grows by PERCENT percent (0: by the missing bytes). A
 * buffer of LIMIT bytes is freed and starts again. */
#include "micro.h"

enum { MOST_APPENDED = 64 };

struct buffer {
    char *bytes;
    uint32_t used, room;
};

static long limit, percent;

static void grow(struct buffer *buffer, uint32_t lacking)
{
    uint32_t more = (uint32_t)((uint64_t)buffer->room * (uint64_t)percent / 100);
    buffer->room += more > lacking ? more : lacking;
    buffer->bytes = hidden(is_dry ? scratch : realloc(buffer->bytes, buffer->room));
}

/* Returns the buffer's last byte before the append. */
static uint32_t append(struct buffer *buffer, uint32_t bytes, char value)
{
    if (buffer->used + bytes > buffer->room)
        grow(buffer, buffer->used + bytes - buffer->room);
    uint32_t last = buffer->used ? (unsigned char)buffer->bytes[buffer->used - 1] : 0;
    buffer->bytes[buffer->used] = value;
    buffer->used += bytes;
    buffer->bytes[buffer->used - 1] = value;
    return last;
}

int main(int count, char **value)
{
    read_arguments(count, value, 4, "usage: growth APPENDS LIVE LIMIT PERCENT");
    long appends = number(0, 1, 1L << 40), live = number(1, 1, 1 << 24);
    limit = number(2, MOST_APPENDED, SCRATCH_BYTES / 2);
    percent = number(3, 0, 100);
    struct buffer *buffers = (struct buffer *)pointers(2 * (size_t)live);
    uint32_t random = SEED;
    uint64_t checksum = 0;
    start_clock();
    for (long i = 0; i < appends; i++) {
        struct buffer *buffer = &buffers[below(&random, (uint32_t)live)];
        checksum += append(buffer, 1 + below(&random, MOST_APPENDED), (char)i);
        if (buffer->used >= limit) {
            release(buffer->bytes);
            *buffer = (struct buffer){0};
        }
    }
    return report(checksum, (uint64_t)appends);
}
