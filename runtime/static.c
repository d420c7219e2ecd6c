/* What glibc's libc.a expects of its own malloc.o beyond the exported API; only in the static archive.
 *
 * fork() and the end of a thread call these. As long as they are defined here, a statically linked program does not pull in
 * malloc.o, whose malloc would clash with ours. They have nothing to do: our own handlers serve fork and thread exit. */
#pragma GCC visibility push(default)

void __malloc_fork_lock_parent(void);
void __malloc_fork_unlock_parent(void);
void __malloc_fork_unlock_child(void);
void __malloc_arena_thread_freeres(void);

void __malloc_fork_lock_parent(void)
{
}

void __malloc_fork_unlock_parent(void)
{
}

void __malloc_fork_unlock_child(void)
{
}

void __malloc_arena_thread_freeres(void)
{
}
