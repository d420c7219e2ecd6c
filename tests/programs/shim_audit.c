/* An audit library (rtld-audit(7)) that allocates, in its own namespace, at every event of the dynamic linker. */
#define _GNU_SOURCE
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned opened, bound;

static void use(const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL || strcmp(copy, text) != 0)
        _exit(9);
    free(copy);
}

unsigned la_version(unsigned version)
{
    use("version");
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    (void)space;
    (void)cookie;
    use(map->l_name);
    opened++;
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags, const char *name)
{
    (void)index;
    (void)from;
    (void)to;
    (void)flags;
    use(name);
    bound++;
    return symbol->st_value;
}

void la_activity(uintptr_t *cookie, unsigned flag)
{
    (void)cookie;
    if (flag == LA_ACT_CONSISTENT && opened > 0 && bound > 0 && getenv("SHIM_AUDIT") != NULL) {
        unsetenv("SHIM_AUDIT");
        if (write(STDOUT_FILENO, "audited\n", 8) < 0)
            _exit(9);
    }
}
