/* What the compiler calls for each access (-fsanitize=thread; GCC's and Clang's names), and the system calls of the sources. */
#include "world.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>

typedef uint64_t word;

static word atomic(enum kind kind, const volatile void *address, size_t bytes, word value, int order)
{
    if (running < 0) {
        expect(kind == LOAD, "setup, always and finished only load");
        return look((const void *)address, bytes);
    }
    ask((struct request){ .kind = kind, .address = (const void *)address, .bytes = bytes, .value = value,
                          .order = (uint64_t)order });
    return world.thread[running].request.result;
}

static int compare_exchange(enum kind kind, volatile void *address, size_t bytes, word *expected, word value, int order,
                            int failure)
{
    expect(running >= 0, "setup, always and finished only load");
    ask((struct request){ .kind = kind, .address = (const void *)address, .bytes = bytes, .value = value, .expected = *expected, .order = (uint64_t)order, .failure_order = (uint64_t)failure });
    const struct request *done = &world.thread[running].request;
    if (!done->value)
        *expected = done->result;
    return (int)done->value;
}

static void plain(enum kind kind, const void *address, size_t bytes)
{
    if (running >= 0 && !is_private(address))
        ask((struct request){ .kind = kind, .address = address, .bytes = bytes });
}

uint8_t __tsan_atomic8_load(const volatile uint8_t *address, int order)
{
    return (uint8_t)atomic(LOAD, address, 1, 0, order);
}
void __tsan_atomic8_store(volatile uint8_t *address, uint8_t value, int order)
{
    atomic(STORE, address, 1, value, order);
}
int __tsan_atomic8_compare_exchange_strong(volatile uint8_t *address, uint8_t *expected, uint8_t value, int order, int failure)
{
    word seen = *expected;
    int swapped = compare_exchange(CAS_STRONG, address, 1, &seen, value, order, failure);
    *expected = (uint8_t)seen;
    return swapped;
}
uint8_t __tsan_atomic8_exchange(volatile uint8_t *address, uint8_t value, int order)
{
    return (uint8_t)atomic(EXCHANGE, address, 1, value, order);
}
uint32_t __tsan_atomic32_load(const volatile uint32_t *address, int order)
{
    return (uint32_t)atomic(LOAD, address, 4, 0, order);
}
void __tsan_atomic32_store(volatile uint32_t *address, uint32_t value, int order)
{
    atomic(STORE, address, 4, value, order);
}
uint32_t __tsan_atomic32_exchange(volatile uint32_t *address, uint32_t value, int order)
{
    return (uint32_t)atomic(EXCHANGE, address, 4, value, order);
}
uint32_t __tsan_atomic32_fetch_add(volatile uint32_t *address, uint32_t value, int order)
{
    return (uint32_t)atomic(ADD, address, 4, value, order);
}
int __tsan_atomic32_compare_exchange_strong(volatile uint32_t *address, uint32_t *expected, uint32_t value, int order, int failure)
{
    word seen = *expected;
    int swapped = compare_exchange(CAS_STRONG, address, 4, &seen, value, order, failure);
    *expected = (uint32_t)seen;
    return swapped;
}
word __tsan_atomic64_load(const volatile word *address, int order)
{
    return atomic(LOAD, address, 8, 0, order);
}
void __tsan_atomic64_store(volatile word *address, word value, int order)
{
    atomic(STORE, address, 8, value, order);
}
word __tsan_atomic64_exchange(volatile word *address, word value, int order)
{
    return atomic(EXCHANGE, address, 8, value, order);
}
word __tsan_atomic64_fetch_add(volatile word *address, word value, int order)
{
    return atomic(ADD, address, 8, value, order);
}
int __tsan_atomic64_compare_exchange_strong(volatile word *address, word *expected, word value, int order, int failure)
{
    return compare_exchange(CAS_STRONG, address, 8, expected, value, order, failure);
}
int __tsan_atomic64_compare_exchange_weak(volatile word *address, word *expected, word value, int order, int failure)
{
    return compare_exchange(CAS_WEAK, address, 8, expected, value, order, failure);
}

void __tsan_atomic_thread_fence(int order)
{
    expect(order == __ATOMIC_SEQ_CST, "this fence is not modelled");
    ask((struct request){ .kind = FENCE, .order = (uint64_t)order });
}

void __tsan_init(void) {}
void __tsan_atomic_signal_fence(int order) { (void)order; } /* of the compiler alone */
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}
void __tsan_read1(void *address) { plain(READ, address, 1); }
void __tsan_read2(void *address) { plain(READ, address, 2); }
void __tsan_read4(void *address) { plain(READ, address, 4); }
void __tsan_read8(void *address) { plain(READ, address, 8); }
void __tsan_read16(void *address) { plain(READ, address, 16); }
void __tsan_read_range(void *address, size_t bytes) { plain(READ, address, bytes); }
void __tsan_write1(void *address) { plain(WRITE, address, 1); }
void __tsan_write2(void *address) { plain(WRITE, address, 2); }
void __tsan_write4(void *address) { plain(WRITE, address, 4); }
void __tsan_write8(void *address) { plain(WRITE, address, 8); }
void __tsan_write16(void *address) { plain(WRITE, address, 16); }
void __tsan_write_range(void *address, size_t bytes) { plain(WRITE, address, bytes); }

/* futex(2) alone: wait and wake. It spoils errno, which must not be seen outside. */
long syscall(long number, ...)
{
    va_list arguments;
    va_start(arguments, number);
    void *address = va_arg(arguments, void *);
    int operation = va_arg(arguments, int) & FUTEX_CMD_MASK;
    uint32_t value = va_arg(arguments, uint32_t);
    va_end(arguments);
    expect(number == SYS_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAKE), "no other system call is modelled");
    ask((struct request){ .kind = operation == FUTEX_WAIT ? WAIT : WAKE, .address = address, .expected = value });
    errno = EAGAIN;
    return operation == FUTEX_WAIT ? -1 : 1;
}

int sched_yield(void)
{
    ask((struct request){ .kind = YIELD });
    return 0;
}
