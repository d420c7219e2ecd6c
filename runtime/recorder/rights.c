/* A process that gives up root's rights for good hands its spool file to the user whom it becomes, and to nobody else. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../heap/1_base/definitions.h"
#include "image.h"

static const uid_t SAME = (uid_t)-1;

/* Whether root's rights are gone for good: none of the three users is root, nor stays as it is. */
static bool is_for_good(uid_t real, uid_t effective, uid_t saved)
{
    return real == effective && effective == saved && real != 0 && real != SAME;
}

static int begin_change(uid_t real, uid_t effective, uid_t saved)
{
    int saved_errno = errno;
    int file = is_for_good(real, effective, saved) ? image_hand_over(real) : -1;
    errno = saved_errno;
    return file;
}

/* Return the change's status; after one that failed the file is root's again. */
static int end_change(int file, int status)
{
    int saved_errno = errno;
    if (file >= 0 && status != 0)
        syscall(SYS_fchown, file, 0, -1);
    if (file >= 0)
        syscall(SYS_close, file);
    errno = saved_errno;
    return status;
}

#pragma GCC visibility push(default)

int setuid(uid_t user)
{
    int (*change)(uid_t);
    *(void **)&change = definition_next("setuid").function;
    int file = begin_change(user, user, user);
    return end_change(file, change(user));
}

int setreuid(uid_t real, uid_t effective)
{
    int (*change)(uid_t, uid_t);
    *(void **)&change = definition_next("setreuid").function;
    int file = begin_change(real, effective, effective);
    return end_change(file, change(real, effective));
}

int setresuid(uid_t real, uid_t effective, uid_t saved)
{
    int (*change)(uid_t, uid_t, uid_t);
    *(void **)&change = definition_next("setresuid").function;
    int file = begin_change(real, effective, saved);
    return end_change(file, change(real, effective, saved));
}

#pragma GCC visibility pop
