/* Makes thread keys in a constructor, before the program and, where it is initialised first, before the library's first
 * use: KEYS=100 makes 100 keys, KEYS=all all that the system has. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

__attribute__((constructor(101))) static void make_keys(void)
{
    const char *wanted = getenv("KEYS");
    long left = wanted == NULL ? 0 : strcmp(wanted, "all") == 0 ? 1 << 20 : atol(wanted);
    pthread_key_t key;
    while (left > 0 && pthread_key_create(&key, NULL) == 0)
        left--;
}
