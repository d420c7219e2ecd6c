/* More large blocks than are all sampled. Twenty times: three hundred quick pairs of malloc and free, and a large block that
 * lives through a pause. Then twenty times ten pairs and a pause. */
#include <stdlib.h>
#include <time.h>

static void work(int pairs, size_t bytes)
{
    for (int i = 0; i < pairs; i++)
        free(malloc(bytes));
}

int main(void)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    work(1200, 100000);
    for (int round = 0; round < 20; round++) {
        work(300, 40);
        void *large = malloc(100000);
        nanosleep(&pause, NULL);
        free(large);
    }
    for (int round = 0; round < 20; round++) {
        work(10, 48);
        nanosleep(&pause, NULL);
    }
    return 0;
}
