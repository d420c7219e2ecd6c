/* Which object file an address lies in, by /proc/self/maps: proc(5), "start-end rights offset device inode path". System calls
 * are made directly: the C library's open and read are points of thread cancellation, and free(3) asks here. */
#include "1_base/object.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

struct reader {
    int fd;
    long at, held;
    char buffer[512];
};

/* The next byte of the file; -1 at its end. */
static int next_byte(struct reader *in)
{
    if (in->at == in->held) {
        in->held = syscall(SYS_read, in->fd, in->buffer, sizeof in->buffer);
        in->at = 0;
        if (in->held <= 0) {
            in->held = 0;
            return -1;
        }
    }
    return (unsigned char)in->buffer[in->at++];
}

static int hex_value(int byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* A number and the byte behind it. */
static uintptr_t read_hex(struct reader *in)
{
    uintptr_t number = 0;
    for (int value = hex_value(next_byte(in)); value >= 0; value = hex_value(next_byte(in)))
        number = number * 16 + (uintptr_t)value;
    return number;
}

/* A word and the space behind it; false if the file ends. */
static bool skip_word(struct reader *in)
{
    int byte = next_byte(in);
    while (byte != ' ' && byte != -1)
        byte = next_byte(in);
    return byte == ' ';
}

/* What is left of the line, without the spaces before it. */
static void read_path(struct reader *in, struct object *object)
{
    size_t length = 0;
    for (int byte = next_byte(in); byte != '\n' && byte != -1; byte = next_byte(in))
        if ((byte != ' ' || length > 0) && length < sizeof object->path - 1)
            object->path[length++] = (char)byte;
    object->path[length] = '\0';
}

static bool read_mapping(struct reader *in, struct object *object)
{
    object->start = read_hex(in);
    object->end = read_hex(in);
    bool more = skip_word(in);
    object->offset = read_hex(in);
    if (!more || !skip_word(in) || !skip_word(in))
        return false;
    read_path(in, object);
    return true;
}

bool object_at(const void *address, struct object *object)
{
    struct reader in = { .fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC) };
    bool found = false;
    while (in.fd >= 0 && !found && read_mapping(&in, object))
        found = (uintptr_t)address >= object->start && (uintptr_t)address < object->end;
    if (in.fd >= 0)
        syscall(SYS_close, in.fd);
    return found;
}
