/* The call sites of the groups: for each an instruction of its own that calls the library. */
#include "driver.h"

void (*tell_site)(const void *caller, unsigned group);

/* Two arguments in registers, whichever of them the function takes, and a pointer back (System V ABI, x86-64). The number
 * keeps the compiler from making one function of all, and the barrier from making a jump of the call. */
#define CALLER(number)                                                                                                  \
    static __attribute__((noinline)) void *call_##number(called *function, size_t first, size_t second)                \
    {                                                                                                                   \
        void *result = function(first, second);                                                                         \
        __asm__ volatile("" : "+r"(result) : "i"(number));                                                              \
        return result;                                                                                                  \
    }

CALLER(0)
CALLER(1)
CALLER(2)
CALLER(3)
CALLER(4)
CALLER(5)
CALLER(6)
CALLER(7)
CALLER(8)
CALLER(9)
CALLER(10)
CALLER(11)
CALLER(12)
CALLER(13)
CALLER(14)
CALLER(15)

static void *(*const callers[])(called *function, size_t first, size_t second) = {
    call_0, call_1, call_2,  call_3,  call_4,  call_5,  call_6,  call_7,
    call_8, call_9, call_10, call_11, call_12, call_13, call_14, call_15,
};

static void *caller(size_t first, size_t second)
{
    (void)first, (void)second;
    return __builtin_return_address(0);
}

void *call_from(unsigned group, function *any, size_t first, size_t second)
{
    if (group > 0) /* each time, because the library may forget it */
        tell_site(callers[group](caller, 0, 0), group);
    return callers[group]((called *)any, first, second);
}
