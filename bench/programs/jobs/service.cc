// service THREADS REQUESTS FACTOR: threads answer requests over documents. They parse text, keep the last documents in
// a cache that they share, and hand answers to one thread. It writes a digest, which depends on the arguments alone.
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t cached = 300, documents = 1000, most_fields = 60;
constexpr std::uint64_t fnv_prime = 1099511628211u;

struct Value {
    std::string text;
    std::vector<long> numbers;
};

using Document = std::map<std::string, Value>;

std::string text_of(long name, long factor)
{
    std::string text;
    for (long field = 0; field < 5 + name * factor % static_cast<long>(most_fields); field++) {
        text += "field" + std::to_string(field * 7 % 31) + "=";
        text += std::string(name * (field + 1) % 90, static_cast<char>('a' + field % 26)) + ":";
        for (long number = 0; number < (name + field) % 12; number++)
            text += std::to_string(number * factor % 9973) + ",";
        text += "\n";
    }
    return text;
}

std::shared_ptr<const Document> parsed(const std::string &text)
{
    auto document = std::make_shared<Document>();
    for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
        end = text.find('\n', at);
        std::string line = text.substr(at, end - at);
        std::size_t equals = line.find('='), colon = line.find(':');
        Value &value = (*document)[line.substr(0, equals)];
        value.text = line.substr(equals + 1, colon - equals - 1);
        for (std::size_t from = colon + 1, comma; (comma = line.find(',', from)) != std::string::npos; from = comma + 1)
            value.numbers.push_back(std::stol(line.substr(from, comma - from)));
    }
    return document;
}

class Cache {
public:
    std::shared_ptr<const Document> find(long name)
    {
        std::lock_guard<std::mutex> held(lock);
        auto found = places.find(name);
        if (found == places.end())
            return nullptr;
        order.splice(order.begin(), order, found->second);
        return found->second->second;
    }

    void keep(long name, std::shared_ptr<const Document> document)
    {
        std::lock_guard<std::mutex> held(lock);
        if (places.count(name) != 0)
            return;
        order.emplace_front(name, std::move(document));
        places[name] = order.begin();
        if (order.size() > cached) {
            places.erase(order.back().first);
            order.pop_back();
        }
    }

private:
    std::mutex lock;
    std::list<std::pair<long, std::shared_ptr<const Document>>> order;
    std::unordered_map<long, decltype(order)::iterator> places;
};

class Answers {
public:
    void put(std::unique_ptr<std::string> answer)
    {
        std::lock_guard<std::mutex> held(lock);
        waiting.push_back(std::move(answer));
        some.notify_one();
    }

    std::unique_ptr<std::string> take()
    {
        std::unique_lock<std::mutex> held(lock);
        some.wait(held, [this] { return !waiting.empty(); });
        auto answer = std::move(waiting.front());
        waiting.pop_front();
        return answer;
    }

private:
    std::mutex lock;
    std::condition_variable some;
    std::deque<std::unique_ptr<std::string>> waiting;
};

void serve(long first, long step, long requests, long factor, Cache &cache, Answers &answers)
{
    for (long request = first; request < requests; request += step) {
        long name = request * request % factor % static_cast<long>(documents);
        auto document = cache.find(name);
        if (!document)
            cache.keep(name, document = parsed(text_of(name, factor)));
        auto answer = std::make_unique<std::string>(std::to_string(request));
        for (const auto &field : *document)
            if (!field.second.numbers.empty())
                *answer += " " + field.first + "=" + field.second.text + std::to_string(field.second.numbers.back());
        answers.put(std::move(answer));
    }
}

} // namespace

int main(int count, char **word)
{
    if (count != 4) {
        std::cerr << "usage: service THREADS REQUESTS FACTOR\n";
        return 2;
    }
    long threads = std::atol(word[1]), requests = std::atol(word[2]), factor = std::atol(word[3]);
    Cache cache;
    Answers answers;
    std::vector<std::thread> running;
    for (long thread = 0; thread < threads; thread++)
        running.emplace_back(serve, thread, threads, requests, factor, std::ref(cache), std::ref(answers));
    std::uint64_t digest = 0;
    for (long request = 0; request < requests; request++) {
        std::uint64_t of_one = 0;
        auto answer = answers.take();
        for (char letter : *answer)
            of_one = (of_one ^ static_cast<unsigned char>(letter)) * fnv_prime;
        digest += of_one;
    }
    for (auto &thread : running)
        thread.join();
    std::cout << digest << "\n";
}
