// Plain task records with counters and pooled edges, for the programs that keep their own graph.
#pragma once

#include "harness.h"

#include <sys/mman.h>

namespace peers {

constexpr uint32_t NONE = ~0u;

/// A growing array in reserved address space on huge pages; what it held stays mapped when it is cleared.
template <class T> class Arena {
public:
    explicit Arena(size_t most) : bytes_(most * sizeof(T)) {
        void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) fail("no address space for an arena");
        madvise(at, bytes_, MADV_HUGEPAGE);
        data_ = static_cast<T*>(at);
    }
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() { munmap(data_, bytes_); }

    T& operator[](size_t at) { return data_[at]; }
    T& grow() { return data_[size_++]; }
    uint32_t size() const { return size_; }
    void clear() { size_ = 0; }

private:
    T* data_ = nullptr;
    size_t bytes_;
    uint32_t size_ = 0;
};

/// A task: 32 bytes.
struct alignas(32) Record {
    std::atomic<uint32_t> pending;
    uint32_t predecessors;
    uint32_t first_edge;
    uint32_t task;
};
static_assert(sizeof(Record) == 32);

/// One successor of a task: 8 bytes.
struct Edge {
    uint32_t to;
    uint32_t next;
};

/// Records and edges of one graph.
class Records {
public:
    Records() : tasks(size_t{1} << 28), edges(size_t{1} << 30) {}

    Arena<Record> tasks;
    Arena<Edge> edges;

    template <class Pattern> void build(const Pattern& pattern) {
        for (uint32_t task = 0; task < pattern.tasks; ++task) {
            uint32_t count = 0;
            pattern.predecessors(task, [&](uint32_t p) {
                edges[edges.size()] = {task, tasks[p].first_edge};
                tasks[p].first_edge = edges.size();
                edges.grow();
                ++count;
            });
            Record& record = tasks.grow();
            record.pending.store(count, std::memory_order_relaxed);
            record.predecessors = count;
            record.first_edge = NONE;
            record.task = task;
        }
    }

    /// One predecessor of `task` is complete; whether it was the last. Then its counter is armed for the next run.
    bool arrive_alone(uint32_t task) {
        Record& record = tasks[task];
        const uint32_t left = record.pending.load(std::memory_order_relaxed) - 1;
        record.pending.store(left == 0 ? record.predecessors : left, std::memory_order_relaxed);
        return left == 0;
    }

    /// As `arrive_alone`, with other workers arriving at the same time.
    bool arrive(uint32_t task) {
        Record& record = tasks[task];
        if (record.pending.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
        record.pending.store(record.predecessors, std::memory_order_relaxed);
        return true;
    }

    void clear() {
        tasks.clear();
        edges.clear();
    }
};

/// A body of any type behind one pointer and one call.
class AnyBody {
public:
    template <class Body> void set(const Body& body) {
        static_assert(sizeof(Body) <= sizeof store_ && std::is_trivially_copyable_v<Body>);
        std::memcpy(store_, &body, sizeof body);
        call_ = [](const void* store, uint32_t task) { (*static_cast<const Body*>(store))(task); };
    }

    void operator()(uint32_t task) const { call_(store_, task); }

private:
    alignas(8) unsigned char store_[32] = {};
    void (*call_)(const void*, uint32_t) = nullptr;
};

} // namespace peers
