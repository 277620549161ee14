// Which tasks the host runs, which those of cores, and which of one side wait for which of the other.
//
// A sink that takes all tasks of a launch, in their order, and runs none. It finds the edges between the two sides from what an executor orders
// by: regions, `after`, fences, ordered scopes, streams. Edges inside a side are that side's: the executor keeps those between tasks of
// cores, and the host runs its tasks one after the other. So of a stretch of ordinals that a task waits for, it waits for the last of the
// host, and of those of cores the first task of the host behind it waits for all.
#pragma once

#include <string>
#include <vector>

#include "../../graph/tensor_map.hpp"
#include "domain_handshake.hpp"
#include "task_sink.hpp"

namespace pto::wsp::backend::npu {

class CrossPlan {
public:
    // Which kernels are the host's, and how many buffers a launch has.
    CrossPlan(bool (*on_host)(std::uint16_t kernel), std::uint32_t buffers) : on_host_(on_host), buffers_(buffers) {}
    CrossPlan(const CrossPlan&) = delete;
    CrossPlan& operator=(const CrossPlan&) = delete;

    TaskSink sink() { return TaskSink{this, 1, 0, begin, submit, end, alloc, fence, ordered, wait}; }

    // What waits for what, as it was found. False when there are more tasks than 32 bits count.
    bool build(CrossOrder order) {
        std::vector<std::uint8_t> domains;
        if (places_.size() > UINT32_MAX) return false;
        for (Place& place : places_) {
            place.number = static_cast<CrossEdges::Task>(domains.size());
            if (place.tasks > 0) domains.push_back(place.on_host ? 0 : 1);
        }
        for (CrossEdges::Edge& edge : found_) edge = {places_[edge.first].number, places_[edge.second].number};
        const bool built = edges_.build(domains, found_, order);
        found_.clear();
        return built;
    }
    // How many edges between the sides have tokens.
    std::size_t tokens() const { return edges_.tokens(); }

    bool is_of_host(std::uint64_t ordinal) const { return ordinal < places_.size() && places_[ordinal].on_host; }
    bool may_start(std::uint64_t ordinal) const { return edges_.may_start(places_[ordinal].number); }
    // A task of an ordinal is complete; the ordinal is with its last one.
    void completed(std::uint64_t ordinal) {
        if (--places_[ordinal].tasks == 0) edges_.complete(places_[ordinal].number);
    }
    // All tasks of an ordinal are complete.
    void completed_all(std::uint64_t ordinal) { edges_.complete(places_[ordinal].number); }

private:
    struct Place {
        // Tasks of the ordinal, and its number among those that have some.
        std::uint32_t tasks = 0;
        CrossEdges::Task number = 0;
        bool on_host = false;
    };
    struct Scope {
        std::uint64_t begin, step;
    };
    static constexpr std::uint64_t nothing = UINT64_MAX;

    static CrossPlan& of(void* user) { return *static_cast<CrossPlan*>(user); }

    static bool begin(void* user, std::uint64_t ordinal) {
        CrossPlan& own = of(user);
        own.now_ = ordinal;
        if (own.places_.size() <= ordinal) own.places_.resize(ordinal + 1);
        return true;
    }
    static bool end(void*, std::uint64_t) { return true; }
    static bool wait(void*, const Region*, std::uint64_t) { return true; }
    static bool fence(void* user, std::uint64_t ordinal) {
        of(user).fence_ = ordinal;
        return true;
    }
    static bool ordered(void* user, Ordered event, std::uint64_t ordinal) {
        std::vector<Scope>& scopes = of(user).scopes_;
        if (event == Ordered::begin) scopes.push_back({ordinal, ordinal});
        else if (scopes.empty()) return false;
        else if (event == Ordered::end) scopes.pop_back();
        else scopes.back().step = ordinal;
        return true;
    }
    static bool alloc(void* user, std::uint64_t bytes, Tensor* tensor) {
        *tensor = {nullptr, bytes, of(user).buffers_++, 1, 1, {}};
        return true;
    }
    static bool submit(void* user, const TaskArgs* task) {
        of(user).take(*task);
        return true;
    }

    void take(const TaskArgs& task) {
        Place& place = places_[now_];
        if (place.tasks++ == 0) {
            place.on_host = on_host_(task.kernel);
            wait_for(0, fence_);
            for (const Scope& scope : scopes_) wait_for(scope.begin, scope.step);
            if (barrier_ != nothing) edge(barrier_);
        }
        for (std::size_t at = 0; at < task.num_after; ++at) edge(task.after[at]);
        if (task.stream >= 0) in_stream(static_cast<std::size_t>(task.stream));
        if (task.overflow) {
            wait_for(0, now_);
            barrier_ = now_;
        }
        for (std::size_t at = 0; at < task.num_regions; ++at) access(task.regions[at]);
        if (place.on_host) last_of_host_ = now_;
    }

    void access(const Region& region) {
        graph::Box box;
        box.buffer = region.tensor;
        for (std::size_t d = 0; d < max_rank; ++d) {
            box.lo[d] = region.lo[d];
            box.hi[d] = region.hi[d];
        }
        const bool writes = region.mode != AccessMode::in;
        const graph::ProducerRef self{static_cast<graph::TaskId>(now_), 0};
        const auto found = [](void* user, const graph::ProducerRef& before, const graph::Box&) { of(user).edge(before.producer); };
        map_.conflicts(box, writes, self, {found, this});
        map_.insert(box, writes, self);
    }

    void in_stream(std::size_t stream) {
        if (streams_.size() <= stream) streams_.resize(stream + 1, nothing);
        if (streams_[stream] != nothing) edge(streams_[stream]);
        streams_[stream] = now_;
    }

    // The task of the other side comes first.
    void edge(std::uint64_t before) {
        if (before >= now_ || places_[before].tasks == 0 || places_[before].on_host == places_[now_].on_host) return;
        found_.push_back({static_cast<CrossEdges::Task>(before), static_cast<CrossEdges::Task>(now_)});
    }

    // All tasks of the other side from one ordinal up to another come first.
    void wait_for(std::uint64_t begin, std::uint64_t end) {
        // The task of the host before this one has waited for them.
        const bool past = places_[now_].on_host && last_of_host_ != nothing && last_of_host_ >= end && last_of_host_ != now_;
        if (past || begin >= end) return;
        for (std::uint64_t at = end; at-- > begin;) {
            edge(at);
            if (places_[at].on_host && !places_[now_].on_host && places_[at].tasks > 0) return;
        }
    }

    bool (*on_host_)(std::uint16_t kernel);
    std::uint32_t buffers_;
    std::vector<Place> places_;
    std::vector<CrossEdges::Edge> found_;
    CrossEdges edges_;
    std::vector<Scope> scopes_;
    std::vector<std::uint64_t> streams_;
    graph::DynamicTensorMap map_{nullptr};
    std::uint64_t now_ = 0;
    std::uint64_t fence_ = 0;
    std::uint64_t barrier_ = nothing;
    std::uint64_t last_of_host_ = nothing;
};

}  // namespace pto::wsp::backend::npu
