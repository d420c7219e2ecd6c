// new and delete expressions: objects, arrays with a destructor, types aligned to 64 and 4096, constructors that throw.
#include "behaviour.h"

#include <new>

static int alive;

struct Counted {
    char text[40];
    Counted() { alive++; }
    ~Counted() { alive--; }
};
struct alignas(64) Line {
    char bytes[64];
};
struct alignas(4096) Page {
    char bytes[5000];
};
struct Throwing {
    char bytes[300];
    Throwing() { throw 5; }
};

int main()
{
    for (int turn = 0; turn < 1000; turn++) {
        Counted *one = new Counted, *many = new Counted[(size_t)turn % 50 + 1];
        Line *line = new Line, *lines = new Line[3];
        Page *page = new Page, *pages = new Page[2];
        expect_aligned(line, 64, "new Line", sizeof *line);
        expect_aligned(lines, 64, "new Line[3]", sizeof *line);
        expect_aligned(page, 4096, "new Page", sizeof *page);
        expect_aligned(pages, 4096, "new Page[2]", sizeof *page);
        try {
            new Throwing;
            expect(false, "the constructor did not throw");
        } catch (int) {
        }
        delete one;
        delete[] many;
        delete line;
        delete[] lines;
        delete page;
        delete[] pages;
    }
    expect(alive == 0, "%d objects are left", alive);
}
