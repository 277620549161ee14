// The floor: what plain records, counters and edges cost with nothing around them. A finishing worker runs the first
// ready successor itself (edges are listed youngest first, so that it is the last one found) and keeps the others on a
// stack of its own; idle workers steal from the bottom of that stack.
#include "records.h"

#include <memory>
#include <thread>

namespace {

using peers::NONE;

inline void pause() { __builtin_ia32_pause(); }

/// Ready tasks of one worker: the owner takes the youngest, thieves the oldest (Chase and Lev, bounded).
class Ready {
public:
    bool push(uint32_t task) {
        const int64_t bottom = bottom_.load(std::memory_order_relaxed);
        if (bottom - top_.load(std::memory_order_acquire) >= CAPACITY) return false;
        slots_[bottom & (CAPACITY - 1)].store(task, std::memory_order_relaxed);
        bottom_.store(bottom + 1, std::memory_order_release);
        return true;
    }

    uint32_t pop() {
        const int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
        if (top_.load(std::memory_order_relaxed) > bottom) return NONE; // only the owner pushes: it is empty for good
        bottom_.store(bottom, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        int64_t top = top_.load(std::memory_order_relaxed);
        uint32_t task = NONE;
        if (top <= bottom) {
            task = slots_[bottom & (CAPACITY - 1)].load(std::memory_order_relaxed);
            if (top < bottom) return task;
            if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst)) task = NONE;
        }
        bottom_.store(bottom + 1, std::memory_order_release);
        return task;
    }

    uint32_t steal() {
        int64_t top = top_.load(std::memory_order_acquire);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (top >= bottom_.load(std::memory_order_acquire)) return NONE;
        const uint32_t task = slots_[top & (CAPACITY - 1)].load(std::memory_order_relaxed);
        return top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst) ? task : NONE;
    }

private:
    static constexpr int64_t CAPACITY = 1 << 16;
    alignas(64) std::atomic<int64_t> top_{0};
    alignas(64) std::atomic<int64_t> bottom_{0};
    std::unique_ptr<std::atomic<uint32_t>[]> slots_ = std::make_unique<std::atomic<uint32_t>[]>(CAPACITY);
};

struct alignas(64) Worker {
    Ready ready;
    std::vector<uint32_t> spare; // what does not fit into `ready`
    alignas(64) std::atomic<uint64_t> done{0};
};

class Floor {
public:
    static constexpr bool stored = true;

    explicit Floor(unsigned workers) : workers_(workers) {
        for (unsigned w = 1; w < workers; ++w) threads_.emplace_back([this, w] { serve(w); });
    }

    ~Floor() {
        epoch_.store(STOP, std::memory_order_release);
        for (auto& thread : threads_) thread.join();
    }

    template <class Pattern, class Body> void build(const Pattern& pattern, const Body& body) {
        records_.build(pattern);
        alone_ = [](Floor& floor, const void* store) { floor.run_alone(*static_cast<const Body*>(store)); };
        together_ = [](Floor& floor, const void* store, unsigned w) { floor.share(*static_cast<const Body*>(store), w); };
        std::memcpy(store_, &body, sizeof body);
    }

    void run() {
        if (threads_.empty()) return alone_(*this, store_);
        for (auto& worker : workers_) worker.done.store(0, std::memory_order_relaxed);
        cursor_.store(0, std::memory_order_relaxed);
        away_.store(0, std::memory_order_relaxed);
        epoch_.fetch_add(1, std::memory_order_release);
        together_(*this, store_, 0);
        while (away_.load(std::memory_order_acquire) < threads_.size()) pause();
    }

    void clear() { records_.clear(); }

private:
    static constexpr uint64_t STOP = ~0ULL;
    static constexpr uint32_t CHUNK = 256; // tasks looked through for roots at a time

    template <class Body> void run_alone(const Body& body) {
        std::vector<uint32_t>& stack = workers_[0].spare;
        for (uint32_t root = 0; root < records_.tasks.size(); ++root) {
            if (records_.tasks[root].predecessors != 0) continue;
            uint32_t task = root;
            while (task != NONE) {
                body(task);
                uint32_t next = NONE;
                for (uint32_t at = records_.tasks[task].first_edge; at != NONE;) {
                    const peers::Edge edge = records_.edges[at];
                    if (records_.arrive_alone(edge.to)) {
                        if (next != NONE) stack.push_back(next);
                        next = edge.to;
                    }
                    at = edge.next;
                }
                if (next == NONE && !stack.empty()) next = stack.back(), stack.pop_back();
                task = next;
            }
        }
    }

    /// What a worker does in a run: its own ready tasks, then roots, then what others have.
    template <class Body> void share(const Body& body, unsigned self) {
        Worker& own = workers_[self];
        const uint32_t tasks = records_.tasks.size();
        uint64_t done = 0;
        for (unsigned idle = 0;;) {
            uint32_t task = take(own);
            if (task == NONE && roots(body, own, done)) continue;
            if (task == NONE) task = workers_[(self + 1) % workers_.size()].ready.steal();
            if (task != NONE) {
                idle = 0;
                follow(body, own, task, done);
                continue;
            }
            own.done.store(done, std::memory_order_release);
            uint64_t all = 0;
            for (auto& worker : workers_) all += worker.done.load(std::memory_order_acquire);
            if (all == tasks) return;
            if (++idle % 1024 == 0) std::this_thread::yield();
            pause();
        }
    }

    static uint32_t take(Worker& own) {
        const uint32_t task = own.ready.pop();
        if (task != NONE || own.spare.empty()) return task;
        const uint32_t spare = own.spare.back();
        own.spare.pop_back();
        return spare;
    }

    /// Takes the roots among the next tasks; whether there were tasks left to look at.
    template <class Body> bool roots(const Body& body, Worker& own, uint64_t& done) {
        const uint32_t tasks = records_.tasks.size();
        if (cursor_.load(std::memory_order_relaxed) >= tasks) return false;
        const uint32_t from = cursor_.fetch_add(CHUNK, std::memory_order_relaxed);
        for (uint32_t root = from; root < std::min(tasks, from + CHUNK); ++root) {
            const peers::Record& record = records_.tasks[root];
            if (record.predecessors != 0) continue;
            const bool leads_on = record.first_edge != NONE; // then another worker may want it
            if (!leads_on || !own.ready.push(root)) follow(body, own, root, done);
        }
        return from < tasks;
    }

    template <class Body> void follow(const Body& body, Worker& own, uint32_t task, uint64_t& done) {
        while (task != NONE) {
            body(task);
            ++done;
            uint32_t next = NONE;
            for (uint32_t at = records_.tasks[task].first_edge; at != NONE;) {
                const peers::Edge edge = records_.edges[at];
                if (records_.arrive(edge.to)) {
                    if (next != NONE && !own.ready.push(next)) own.spare.push_back(next);
                    next = edge.to;
                }
                at = edge.next;
            }
            task = next;
        }
    }

    void serve(unsigned self) {
        for (uint64_t seen = 0;;) {
            uint64_t epoch;
            for (unsigned idle = 0; (epoch = epoch_.load(std::memory_order_acquire)) == seen;) {
                if (++idle % 1024 == 0) std::this_thread::yield();
                pause();
            }
            if (epoch == STOP) return;
            seen = epoch;
            together_(*this, store_, self);
            away_.fetch_add(1, std::memory_order_release);
        }
    }

    peers::Records records_;
    std::vector<Worker> workers_;
    std::vector<std::thread> threads_;
    void (*alone_)(Floor&, const void*) = nullptr;
    void (*together_)(Floor&, const void*, unsigned) = nullptr;
    alignas(8) unsigned char store_[32] = {};
    alignas(64) std::atomic<uint64_t> epoch_{0};
    alignas(64) std::atomic<uint32_t> cursor_{0};
    alignas(64) std::atomic<size_t> away_{0};
};

} // namespace

int main(int argc, char** argv) { return peers::peer_main<Floor>("floor", argc, argv); }
