/* Signals that words of HEAPSMITH name (signals.h). No handler is installed for another one. */
#define _GNU_SOURCE
#include "9_api/signals.h"

#include "1_base/handler.h"

#include <errno.h>
#include <string.h>

enum { SIGNALS = 2, NAME_LENGTH = 4, ACTS = 2 };

COLD_DATA static struct {
    struct handled handled;
    signal_act *act[ACTS]; /* NULL: none, nor behind it */
} heard[SIGNALS];

static COLD void on_signal(int number, siginfo_t *signal, void *context)
{
    const int saved = errno, which = number == SIGUSR2;
    for (int index = 0; index < ACTS && heard[which].act[index] != NULL; index++)
        heard[which].act[index]();
    errno = saved;
    handler_goes_on(&heard[which].handled, number, signal, context);
}

bool signal_does(const char *name, size_t length, signal_act *act)
{
    static const char names[SIGNALS][NAME_LENGTH + 1] = { "USR1", "USR2" };
    int which = 0, index = 0;
    while (which < SIGNALS && (length != NAME_LENGTH || memcmp(name, names[which], NAME_LENGTH) != 0))
        which++;
    if (which == SIGNALS)
        return false;
    while (heard[which].act[index] != NULL && heard[which].act[index] != act)
        index++;
    const bool is_first = heard[which].act[0] == NULL;
    heard[which].act[index] = act;
    if (!is_first)
        return true;
    const int number = which == 0 ? SIGUSR1 : SIGUSR2;
    struct sigaction action;
    if (sigaction(number, NULL, &heard[which].handled.before) != 0)
        return false;
    action = handler_before(&heard[which].handled.before, on_signal);
    return sigaction(number, &action, NULL) == 0;
}
