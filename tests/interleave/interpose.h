/* Included before every source under exploration: threads are virtual, so is the thread pointer. */
void *virtual_thread_pointer(void);
#define __builtin_thread_pointer virtual_thread_pointer
