/* A job for `heapsmith check`: it churns and leaks as many blocks as its words say, or churns a number nobody knows. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { KEPT = 64 };

__attribute__((noinline)) static void *keep(int place)
{
    return memset(malloc(4000 + 10 * place), 1, 4000);
}

__attribute__((noinline)) static void churn(int times)
{
    for (int at = 0; at < times; at++) {
        void *volatile block = malloc(100 + at % 50);
        free(block);
    }
}

__attribute__((noinline)) static void churn_more(int times)
{
    for (int at = 0; at < times; at++) {
        void *volatile block = malloc(120);
        free(block);
    }
}

__attribute__((noinline)) static void leak(int times)
{
    static void *volatile lost;
    for (int at = 0; at < times; at++)
        lost = malloc(500);
}

int main(int count, char **words)
{
    int churned = count > 1 ? atoi(words[1]) : 1000, leaked = count > 2 ? atoi(words[2]) : 0;
    void *kept[KEPT];
    if (churned < 0) {
        unsigned short chance;
        churned = getrandom(&chance, sizeof chance, 0) > 0 ? 1000 + chance : 1000;
    }
    for (int at = 0; at < KEPT; at++)
        kept[at] = keep(at);
    churn(churned);
    leak(leaked);
    churn_more(count > 4 ? atoi(words[4]) : 0);
    for (int at = 0; at < KEPT; at++)
        free(kept[at]);
    return count > 3 ? atoi(words[3]) : 0;
}
