// sites_containers: one function fills containers of the standard library, each on a line of its own that ends in `row`.
#include <any>
#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

struct Wide {
    double values[12];
};

template <class Item> class Index {
  public:
    void keep(Item item) {
        items.push_back(std::move(item));  // row
    }

  private:
    std::vector<Item> items;
};

struct Depot {
    std::vector<long> series;
    std::deque<long> line;
    std::list<long> links;
    std::forward_list<long> chain;
    std::map<long, std::tuple<long, long>> sorted;
    std::multiset<long> bag;
    std::unordered_map<std::string, long> words;
    std::unordered_set<long> seen;
    std::string text;
    std::shared_ptr<Wide> shared;
    std::unique_ptr<Wide> own;
    std::function<double()> later;
    std::any any;
    std::optional<std::vector<long>> maybe;
    std::variant<long, std::vector<short>> either;
    std::pmr::vector<long> pooled;
    std::priority_queue<long> next;

    void fill(long number) {
        Wide wide{};
        series.push_back(number);                              // row
        line.push_back(number);                                // row
        links.emplace_back(number);                            // row
        chain.push_front(number);                              // row
        sorted[number] = {number, number};                     // row
        bag.insert(number);                                    // row
        words.try_emplace("w", number);                        // row
        seen.insert(number);                                   // row
        text += "twenty letters, more";                        // row
        shared = std::make_shared<Wide>(wide);                 // row
        own = std::make_unique<Wide>(wide);                    // row
        later = [wide] { return wide.values[0]; };             // row
        any = wide;                                            // row
        maybe.emplace(60, number);                             // row
        either.emplace<1>(90);                                 // row
        pooled.push_back(number);                              // row
        next.push(number);                                     // row
    }
};

int main() {
    static Depot depots[3];
    static Index<Wide> index;
    double sum = 0;
    for (long number = 0; number < 600; number++) {
        depots[number % 3].fill(number);
        index.keep(Wide{{double(number)}});
        sum += depots[number % 3].later();
    }
    return sum > 1;
}
