// A graph of kernels that a host builds, and runs with threads (graph_executor.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../../version.hpp"
#include "on_device_gen.hpp"

namespace pto::wsp::backend::npu {

// Emitted task graphs have a Graph of their own (task_graph.hpp), with which a program may be linked.
inline namespace by_threads {

using TensorRegion = Region;

// A kernel to run. What `params` points to is the caller's, and lasts until the graph has run.
struct Node {
    std::int32_t node_id = 0;
    std::string kernel_name;
    void* params = nullptr;
    std::size_t params_size = 0;
    std::vector<TensorRegion> resources;

    // Nodes that it waits for, and how many of them are not complete in the present run.
    std::vector<std::int32_t> dependencies;
    std::atomic<std::int32_t> pending_deps{0};

    Node() = default;
    // While the graph is built no other thread sees it.
    Node(Node&& other) noexcept
        : node_id(other.node_id),
          kernel_name(std::move(other.kernel_name)),
          params(other.params),
          params_size(other.params_size),
          resources(std::move(other.resources)),
          dependencies(std::move(other.dependencies)),
          pending_deps(other.pending_deps.load(std::memory_order_relaxed)) {}
};

class Graph {
public:
    // Adds a node, and gives its number.
    std::int32_t add_node(const std::string& kernel, void* params, std::size_t params_size,
                          const std::vector<TensorRegion>& resources) {
        Node node;
        node.node_id = static_cast<std::int32_t>(nodes_.size());
        node.kernel_name = kernel;
        node.params = params;
        node.params_size = params_size;
        node.resources = resources;
        nodes_.push_back(std::move(node));
        wait_graph_.emplace_back();
        finalized_ = false;
        return nodes_.back().node_id;
    }

    // `to` starts after `from` is complete; twice is once. False when one of them is no node.
    bool add_dependency(std::int32_t from, std::int32_t to) {
        if (!has(from) || !has(to)) return false;
        std::vector<std::int32_t>& before = nodes_[index(to)].dependencies;
        if (std::find(before.begin(), before.end(), from) != before.end()) return true;
        before.push_back(from);
        wait_graph_[index(from)].push_back(to);
        finalized_ = false;
        return true;
    }

    // Finds what can start at once. False when nodes wait for each other: fault() names one of them. A node that is added later,
    // or a dependency, asks for it again.
    bool finalize() {
        reset();
        std::vector<std::int32_t> open = ready_nodes_;
        std::size_t reached = 0;
        for (; reached < open.size(); ++reached) {
            for (const std::int32_t next : wait_graph_[index(open[reached])]) {
                if (count_down(next)) open.push_back(next);
            }
        }
        finalized_ = reached == nodes_.size();
        fault_.clear();
        if (!finalized_) {
            const auto waits = [](const Node& node) { return node.pending_deps.load(std::memory_order_relaxed) > 0; };
            const Node& node = *std::find_if(nodes_.begin(), nodes_.end(), waits);
            fault_ = std::to_string(nodes_.size() - reached) + " nodes wait for each other or for such nodes, among them node " +
                     std::to_string(node.node_id) + " (kernel `" + node.kernel_name + "`)";
        }
        reset();
        return finalized_;
    }

    bool is_finalized() const { return finalized_; }
    const std::string& fault() const { return fault_; }

    const std::vector<Node>& get_nodes() const { return nodes_; }
    // Nodes without dependencies; found by finalize().
    const std::vector<std::int32_t>& get_ready_nodes() const { return ready_nodes_; }
    // Nodes that wait for a node.
    const std::vector<std::int32_t>& successors(std::int32_t node) const { return wait_graph_[index(node)]; }

    // No node is complete.
    void reset() {
        ready_nodes_.clear();
        for (Node& node : nodes_) {
            node.pending_deps.store(static_cast<std::int32_t>(node.dependencies.size()), std::memory_order_relaxed);
            if (node.dependencies.empty()) ready_nodes_.push_back(node.node_id);
        }
    }

    // A node that this one waits for is complete; whether it was the last.
    bool count_down(std::int32_t node) { return nodes_[index(node)].pending_deps.fetch_sub(1, std::memory_order_acq_rel) == 1; }

private:
    static std::size_t index(std::int32_t node) { return static_cast<std::size_t>(node); }
    bool has(std::int32_t node) const { return node >= 0 && index(node) < nodes_.size(); }

    std::vector<Node> nodes_;
    std::vector<std::vector<std::int32_t>> wait_graph_;
    std::vector<std::int32_t> ready_nodes_;
    std::string fault_;
    bool finalized_ = false;
};

}  // namespace by_threads

}  // namespace pto::wsp::backend::npu
