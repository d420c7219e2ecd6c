/* mallinfo2: the parts are no larger than what the process has (mallinfo(3)). */
#include "behaviour.h"

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++)
        malloc(TIERS[i]);
    struct mallinfo2 info = mallinfo2();
    size_t process = memory_of_process(0);
    expect(info.arena <= process, "arena is %zu of a process of %zu bytes", info.arena, process);
    expect(info.hblkhd <= process, "hblkhd is %zu of a process of %zu bytes", info.hblkhd, process);
    expect(info.uordblks <= process, "uordblks is %zu of a process of %zu bytes", info.uordblks, process);
    expect(info.fordblks <= process, "fordblks is %zu of a process of %zu bytes", info.fordblks, process);
    expect(info.keepcost <= process, "keepcost is %zu of a process of %zu bytes", info.keepcost, process);
    expect(info.uordblks + info.fordblks <= info.arena, "uordblks + fordblks are %zu of an arena of %zu",
        info.uordblks + info.fordblks, info.arena);
    return 0;
}
