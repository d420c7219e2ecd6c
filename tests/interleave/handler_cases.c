/* One signal in two threads at once, of a handler that has its turn once (runtime/heap/1_base/handler.h). */
#include "explore.h"

#include "1_base/handler.h"

static struct handled handled;
static uint64_t ran, went_on;

static void once(int number)
{
    (void)number;
    __atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
}

static void setup(void)
{
    handled.before.sa_handler = once;
    handled.before.sa_flags = (int)SA_RESETHAND;
    share("handled", &handled, sizeof handled);
    share("ran", &ran, sizeof ran);
    share("went_on", &went_on, sizeof went_on);
}

static void on_signal(int thread)
{
    (void)thread;
    if (handler_goes_on(&handled, SIGUSR1, NULL, NULL))
        __atomic_fetch_add(&went_on, 1, __ATOMIC_RELAXED);
}

static uint64_t turns(void)
{
    expect(ran == 1 && went_on == 1, "a handler has its turn twice");
    return ran;
}

static const struct explored all[] = {
    { "handler_once", 2, 0, setup, on_signal, 0, turns },
    { 0 },
};
const struct explored *const cases = all;
