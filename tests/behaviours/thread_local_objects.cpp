// thread_local objects allocate in their constructors and free in their destructors, main's too.
#include "behaviour.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

static std::atomic<int> destroyed;

struct Journal {
    std::vector<std::string> lines;
    Journal() : lines(10, std::string(100, 'j')) {}
    ~Journal()
    {
        lines.push_back(std::string(5000, 'k'));
        expect(lines[9] == std::string(100, 'j'), "a line has changed");
        destroyed++;
    }
};

static thread_local Journal journal;

int main()
{
    journal.lines.push_back("main");
    for (int i = 0; i < 20; i++)
        std::thread([] {
            for (int k = 0; k < 100; k++)
                journal.lines.push_back(std::to_string(k) + std::string(50, '.'));
        }).join();
    expect(destroyed == 20, "%d of 20 objects were destroyed", destroyed.load());
}
