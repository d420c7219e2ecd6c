/* Text to a file descriptor without stdio and without malloc. */
#include "1_base/text.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Whether a descriptor that may not wait takes more within a second: its reader may only be slow. */
static bool takes_more(int fd)
{
    struct pollfd asked = { .fd = fd, .events = POLLOUT };
    struct timespec patience = { .tv_sec = 1 };
    return syscall(SYS_ppoll, &asked, 1, &patience, NULL, 0) > 0 && (asked.revents & POLLOUT) != 0;
}

/* Not by write(2) of the C library, which is a point of thread cancellation: free(3) is none. */
static void flush(struct text *out)
{
    size_t written = 0;
    while (!out->failed && written < out->used) {
        long count = syscall(SYS_write, out->fd, out->buffer + written, out->used - written);
        if (count > 0)
            written += (size_t)count;
        else if (count == 0 || (errno != EINTR && (errno != EAGAIN || !takes_more(out->fd))))
            out->failed = true;
    }
    out->used = 0;
}

void text_bytes(struct text *out, const char *bytes, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        if (out->used == out->size)
            flush(out);
        out->buffer[out->used++] = bytes[index];
    }
}

void text_string(struct text *out, const char *string)
{
    text_bytes(out, string, strlen(string));
}

static char hex_digit(unsigned value)
{
    return "0123456789abcdef"[value & 15];
}

void text_quoted(struct text *out, const char *string)
{
    text_string(out, "\"");
    for (const char *byte = string; *byte != '\0'; byte++) {
        unsigned char code = (unsigned char)*byte;
        char escaped[6] = { '\\', 'u', '0', '0', hex_digit(code >> 4), hex_digit(code) };
        if (code < 0x20 || code == '"' || code == '\\')
            text_bytes(out, escaped, sizeof escaped);
        else
            text_bytes(out, byte, 1);
    }
    text_string(out, "\"");
}

void text_number(struct text *out, uint64_t number)
{
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    text_bytes(out, digits + first, sizeof digits - first);
}

void text_field(struct text *out, const char *separator, const char *name, uint64_t number)
{
    text_string(out, separator);
    text_quoted(out, name);
    text_string(out, ": ");
    text_number(out, number);
}

void text_hex(struct text *out, uintptr_t number, size_t digits)
{
    text_string(out, "0x");
    for (size_t digit = 2 * sizeof number; digit-- > 0;) {
        char shown = hex_digit((unsigned)(number >> 4 * digit));
        if (digit < digits || number >> 4 * digit != 0)
            text_bytes(out, &shown, 1);
    }
}

bool text_end(struct text *out)
{
    flush(out);
    return !out->failed;
}
