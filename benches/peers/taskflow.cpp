// Taskflow: a task per task, `precede` per dependence.
#include "harness.h"

#include <taskflow/taskflow.hpp>

namespace {

class Flow {
public:
    static constexpr bool stored = true;

    explicit Flow(unsigned workers) : executor_(workers) {}

    template <class Pattern, class Body> void build(const Pattern& pattern, const Body& body) {
        tasks_.reserve(pattern.tasks);
        for (uint32_t task = 0; task < pattern.tasks; ++task) {
            tf::Task node = flow_.emplace([body, task] { body(task); });
            pattern.predecessors(task, [&](uint32_t p) { tasks_[p].precede(node); });
            tasks_.push_back(node);
        }
    }

    void run() { executor_.run(flow_).wait(); }

    void clear() {
        flow_.clear();
        tasks_.clear();
    }

private:
    tf::Executor executor_;
    tf::Taskflow flow_;
    std::vector<tf::Task> tasks_;
};

} // namespace

int main(int argc, char** argv) { return peers::peer_main<Flow>("taskflow", argc, argv); }
