// What a host and an accelerator tell each other about a launch, and how tasks of one wait for tasks of the other.
//
// With CrossOrder::edges every edge between domains has a token, a word that the domain of its first task writes once in a round
// and the domain of its second task reads: no read-modify-write is needed, which some devices do not have between domains. The
// token holds the number of the round, is stored with release after the first task, and loaded with acquire before the second.
// With CrossOrder::phases each domain counts its complete tasks, and a task starts when as many tasks of every other domain are
// complete as stand before it. Both keep every edge.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "../../concurrent/utilities.hpp"

namespace pto::wsp::backend::npu {

using concurrent::DomainHandshake;

// What a task waits for of tasks of other domains.
enum class CrossOrder : std::uint8_t {
    // The tasks that its edges name.
    edges,
    // All earlier ones: the domains take turns.
    phases,
};

class CrossEdges {
public:
    using Task = std::uint32_t;
    using Edge = std::pair<Task, Task>;

    // Domains are numbered: 0 for the host, others for kinds of cores.
    static constexpr std::size_t most_domains = 3;

    // Takes the edges between tasks of different domains among these; the domain of each task is given. False where an edge does
    // not lead from an earlier to a later task, or where a domain or a task is none.
    bool build(const std::vector<std::uint8_t>& domains, const std::vector<Edge>& edges, CrossOrder order) {
        const auto is_wrong = [&](const Edge& edge) { return edge.first >= edge.second || edge.second >= domains.size(); };
        const auto is_none = [](std::uint8_t domain) { return domain >= most_domains; };
        if (std::any_of(domains.begin(), domains.end(), is_none) || std::any_of(edges.begin(), edges.end(), is_wrong)) return false;
        order_ = order;
        domains_ = domains;
        before_.clear();
        std::array<std::uint32_t, most_domains> counts{};
        for (const std::uint8_t domain : domains) {
            before_.push_back(counts);
            ++counts[domain];
        }
        std::vector<Edge> crossing;
        for (const Edge& edge : edges) {
            if (order == CrossOrder::edges && domains[edge.first] != domains[edge.second]) crossing.push_back({edge.second, edge.first});
        }
        std::sort(crossing.begin(), crossing.end());
        crossing.erase(std::unique(crossing.begin(), crossing.end()), crossing.end());
        waits_.assign(domains.size(), {});
        raises_.assign(domains.size(), {});
        for (std::uint32_t token = 0; token < crossing.size(); ++token) {
            waits_[crossing[token].first].push_back(token);
            raises_[crossing[token].second].push_back(token);
        }
        tokens_ = std::vector<std::atomic<std::uint32_t>>(crossing.size());
        begin();
        return true;
    }

    // How many edges have tokens.
    std::size_t tokens() const { return tokens_.size(); }

    // A task is complete: what waits for it may see what it wrote. Its domain says this once in a round.
    void complete(Task task) {
        for (const std::uint32_t token : raises_[task]) tokens_[token].store(round_, std::memory_order_release);
        if (order_ == CrossOrder::phases) complete_[domains_[task]].fetch_add(1, std::memory_order_release);
    }

    // Whether everything of other domains that the task waits for is complete.
    bool may_start(Task task) const {
        const auto is_raised = [&](std::uint32_t token) { return tokens_[token].load(std::memory_order_acquire) == round_; };
        if (order_ == CrossOrder::edges) return std::all_of(waits_[task].begin(), waits_[task].end(), is_raised);
        for (std::size_t other = 0; other < most_domains; ++other) {
            const bool waits = other != domains_[task];
            if (waits && complete_[other].load(std::memory_order_acquire) < before_[task][other]) return false;
        }
        return true;
    }

    // Begins the next round, in which no task is complete. No task runs meanwhile.
    void next_round() {
        // Once in 2^32 rounds a number comes again.
        if (round_ == UINT32_MAX) return begin();
        ++round_;
        clear(complete_);
    }

private:
    template <typename Words>
    static void clear(Words& words) {
        for (std::atomic<std::uint32_t>& word : words) word.store(0, std::memory_order_relaxed);
    }

    void begin() {
        round_ = 1;
        clear(tokens_);
        clear(complete_);
    }

    CrossOrder order_ = CrossOrder::edges;
    std::uint32_t round_ = 1;
    std::vector<std::uint8_t> domains_;
    // Of each task: its tokens as the second and as the first task of an edge.
    std::vector<std::vector<std::uint32_t>> waits_;
    std::vector<std::vector<std::uint32_t>> raises_;
    std::vector<std::atomic<std::uint32_t>> tokens_;
    // Of each task: how many of each domain stand before it.
    std::vector<std::array<std::uint32_t, most_domains>> before_;
    std::array<std::atomic<std::uint32_t>, most_domains> complete_{};
};

}  // namespace pto::wsp::backend::npu
