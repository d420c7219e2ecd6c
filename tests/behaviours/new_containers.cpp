// The containers of the C++ library keep what is put in them.
#include "behaviour.h"

#include <list>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

int main()
{
    std::map<int, std::string> words;
    std::unordered_map<std::string, std::vector<int>> lists;
    std::list<std::shared_ptr<std::string>> shared;
    for (int i = 0; i < 5000; i++) {
        words[i * 7 % 5000] = std::string((size_t)i % 100, 'a');
        lists[std::to_string(i % 100)].push_back(i);
        shared.push_back(std::make_shared<std::string>(std::to_string(i)));
        if (i % 3 == 0)
            shared.pop_front();
    }
    expect(words.size() == 5000 && words[7 * 99].size() == 99, "the map holds %zu words", words.size());
    for (int i = 0; i < 100; i++)
        expect(lists[std::to_string(i)].size() == 50 && lists[std::to_string(i)][49] == 4900 + i,
            "list %d has changed", i);
    expect(*shared.back() == "4999" && shared.size() == 5000 - 1667, "the list holds %zu strings", shared.size());
    std::ostringstream out;
    for (int i = 0; i < 20000; i++)
        out << i % 10;
    expect(out.str().size() == 20000, "the stream holds %zu characters", out.str().size());
}
