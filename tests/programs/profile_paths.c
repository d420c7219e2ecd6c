/* Two callers share a site, whose blocks share slabs, some with another site's; an argument drops every tenth call. */
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 3000, KEPT_EVERY = 7 };

void *volatile kept;

/* One site, of two callers. */
__attribute__((noinline)) static char *make_node(size_t bytes)
{
    char *node = malloc(bytes);
    node[0] = 1;
    return node;
}

__attribute__((noinline)) static void left(int at)
{
    char *node = make_node(48);
    if (at % KEPT_EVERY)
        free(node);
    else
        kept = node;
}

__attribute__((noinline)) static void right(int at)
{
    char *node = make_node(40 + at % 9);
    if (at % 2)
        free(node);
    else
        kept = node;
}

/* Another site, whose blocks share slabs with large nodes. */
__attribute__((noinline)) static void other(int at)
{
    char *text = strndup("a text", 6);
    char *copy = malloc(200);
    kept = at % 13 ? make_node(200) : kept;
    copy[0] = text[0];
    kept = copy;
    if (at % 11)
        free(text);
    else
        kept = text;
}

/* Large blocks of their own pages. */
__attribute__((noinline)) static void table(void)
{
    char *rows = malloc(300000);
    rows[0] = 1;
    kept = rows;
}

int main(int count, char **words)
{
    int drops = count > 1 && strcmp(words[1], "less") == 0;
    for (int at = 0; at < ROUNDS; at++) {
        left(at);
        if (!drops || at % 10)
            right(at);
        other(at);
    }
    table();
    return 0;
}
