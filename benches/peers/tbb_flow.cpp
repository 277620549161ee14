// oneTBB's flow graph: a continue_node per task, an edge per dependence.
#include "harness.h"

#include <memory>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

namespace {

namespace flow = oneapi::tbb::flow;
using Node = flow::continue_node<flow::continue_msg>;

class FlowGraph {
public:
    static constexpr bool stored = true;

    explicit FlowGraph(unsigned workers)
        : limit_(oneapi::tbb::global_control::max_allowed_parallelism, workers), arena_(static_cast<int>(workers)) {
        clear();
    }

    ~FlowGraph() { arena_.execute([&] { nodes_.clear(), graph_.reset(); }); }

    template <class Pattern, class Body> void build(const Pattern& pattern, const Body& body) {
        arena_.execute([&] {
            for (uint32_t task = 0; task < pattern.tasks; ++task) {
                Node& node = nodes_.emplace_back(*graph_, [body, task](const flow::continue_msg&) { body(task); });
                bool root = true;
                pattern.predecessors(task, [&](uint32_t p) {
                    flow::make_edge(nodes_[p], node);
                    root = false;
                });
                if (root) roots_.push_back(&node);
            }
        });
    }

    void run() {
        arena_.execute([&] {
            for (Node* root : roots_) root->try_put(flow::continue_msg());
            graph_->wait_for_all();
        });
    }

    void clear() {
        arena_.execute([&] {
            nodes_.clear();
            roots_.clear();
            graph_ = std::make_unique<flow::graph>();
        });
    }

private:
    oneapi::tbb::global_control limit_;
    oneapi::tbb::task_arena arena_;
    std::unique_ptr<flow::graph> graph_;
    std::deque<Node> nodes_;
    std::vector<Node*> roots_;
};

} // namespace

int main(int argc, char** argv) { return peers::peer_main<FlowGraph>("tbb_flow", argc, argv); }
