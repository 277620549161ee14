// Runs a graph of kernels with threads.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <unordered_map>

#include "graph.hpp"

namespace pto::wsp::backend::npu {

inline namespace by_threads {

class GraphExecutor {
public:
    // What a kernel does; false when it failed.
    using KernelFunction = std::function<bool(const Node& node)>;

    // Nothing else changes the graph while it runs. The thread that calls execute() is one of the threads.
    explicit GraphExecutor(Graph& graph, int num_threads = 4) : graph_(graph), num_threads_(num_threads) {}
    GraphExecutor(const GraphExecutor&) = delete;
    GraphExecutor& operator=(const GraphExecutor&) = delete;

    // What runs for the nodes of a kernel, instead of what was given before.
    void add_kernel(const std::string& name, KernelFunction function) { kernels_[name] = std::move(function); }

    // Runs every node once, after those that it waits for; the graph is finalized first if it is not. False with a fault: the
    // nodes wait for each other, a kernel is missing (nothing has run then), or one failed, and no node was started after that.
    bool execute() {
        fault_.clear();
        if (!check()) return false;
        graph_.reset();
        ready_queue_ = {};
        for (const std::int32_t node : graph_.get_ready_nodes()) ready_queue_.push(node);
        remaining_ = graph_.get_nodes().size();
        std::vector<std::thread> workers;
        try {
            while (workers.size() + 1 < static_cast<std::size_t>(num_threads_)) workers.emplace_back([this] { worker_thread(); });
        } catch (const std::exception&) {
            // Those that there are run the graph.
        }
        worker_thread();
        for (std::thread& worker : workers) worker.join();
        return fault_.empty();
    }

    // Why the last run ended early; empty when it did not.
    const std::string& fault() const { return fault_; }

private:
    bool check() {
        if (num_threads_ < 1) {
            fault_ = "a graph runs with at least 1 thread, not " + std::to_string(num_threads_);
        } else if (!graph_.is_finalized() && !graph_.finalize()) {
            fault_ = graph_.fault();
        }
        for (const Node& node : graph_.get_nodes()) {
            if (fault_.empty() && kernels_.count(node.kernel_name) == 0) {
                fault_ = "node " + std::to_string(node.node_id) + ": no kernel `" + node.kernel_name + "` was added";
            }
        }
        return fault_.empty();
    }

    void worker_thread() {
        std::unique_lock<std::mutex> lock(queue_mutex_);
        while (true) {
            // While nodes remain and none is ready, one runs: dependencies have no cycle.
            changed_.wait(lock, [this] { return is_over() || !ready_queue_.empty(); });
            if (is_over()) return;
            const std::int32_t node = ready_queue_.front();
            ready_queue_.pop();
            lock.unlock();
            std::string fault = launch_kernel(graph_.get_nodes()[static_cast<std::size_t>(node)]);
            lock.lock();
            if (fault.empty()) {
                node_complete(node);
            } else if (fault_.empty()) {
                fault_ = std::move(fault);
            }
            if (is_over()) changed_.notify_all();
        }
    }

    bool is_over() const { return remaining_ == 0 || !fault_.empty(); }

    // Runs a node; what went wrong, or nothing.
    std::string launch_kernel(const Node& node) const {
        std::string why = "it says so";
        try {
            if (kernels_.at(node.kernel_name)(node)) return {};
        } catch (const std::exception& exception) {
            why = exception.what();
        } catch (...) {
            why = "it has thrown";
        }
        return "node " + std::to_string(node.node_id) + ": kernel `" + node.kernel_name + "` failed: " + why;
    }

    // Under the lock.
    void node_complete(std::int32_t node_id) {
        --remaining_;
        for (const std::int32_t next : graph_.successors(node_id)) {
            if (!graph_.count_down(next)) continue;
            ready_queue_.push(next);
            changed_.notify_one();
        }
    }

    Graph& graph_;
    int num_threads_;
    std::unordered_map<std::string, KernelFunction> kernels_;
    std::queue<std::int32_t> ready_queue_;
    std::mutex queue_mutex_;
    std::condition_variable changed_;
    std::size_t remaining_ = 0;
    std::string fault_;
};

}  // namespace by_threads

}  // namespace pto::wsp::backend::npu
