// oneTBB's scheduler under a graph of our own: a counter per task; a task whose counter reaches zero is handed to a
// task_group, except the first successor, which the finishing task runs itself.
#include "records.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

namespace {

class Counters {
public:
    static constexpr bool stored = true;

    explicit Counters(unsigned workers)
        : limit_(oneapi::tbb::global_control::max_allowed_parallelism, workers), arena_(static_cast<int>(workers)) {}

    template <class Pattern, class Body> void build(const Pattern& pattern, const Body& body) {
        records_.build(pattern);
        body_.set(body);
    }

    void run() {
        arena_.execute([&] {
            for (uint32_t task = 0; task < records_.tasks.size(); ++task)
                if (records_.tasks[task].predecessors == 0) group_.run([this, task] { execute(task); });
            group_.wait();
        });
    }

    void clear() { records_.clear(); }

private:
    void execute(uint32_t task) {
        while (task != peers::NONE) {
            body_(task);
            uint32_t next = peers::NONE;
            for (uint32_t at = records_.tasks[task].first_edge; at != peers::NONE;) {
                const peers::Edge edge = records_.edges[at];
                if (records_.arrive(edge.to)) {
                    if (next != peers::NONE) group_.run([this, next] { execute(next); });
                    next = edge.to;
                }
                at = edge.next;
            }
            task = next;
        }
    }

    oneapi::tbb::global_control limit_;
    oneapi::tbb::task_arena arena_;
    oneapi::tbb::task_group group_;
    peers::Records records_;
    peers::AnyBody body_;
};

} // namespace

int main(int argc, char** argv) { return peers::peer_main<Counters>("tbb_counters", argc, argv); }
