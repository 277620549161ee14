// Uses every header, with threads; what goes wrong ends the program with its line.
#include "pto/rt/backend/npu/domain_handshake.hpp"
#include "pto/rt/backend/npu/graph_executor.hpp"
#include "pto/rt/backend/npu/kernel_launch.hpp"
#include "pto/rt/backend/npu/stream_manager.hpp"
#include "pto/wsp/backend/npu/generator_code.hpp"
#include "pto/runtime/descriptor.hpp"
#include "pto/runtime/schedule.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include <unistd.h>

using namespace pto::wsp::backend::npu;

namespace {

void must(bool condition, int line = __builtin_LINE()) {
    if (condition) return;
    std::fprintf(stderr, "line %d does not hold\n", line);
    std::_Exit(1);
}

std::uint32_t drawn(std::uint64_t& state, std::uint64_t end) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return static_cast<std::uint32_t>(state % end);
}

void handshake_without_time() {
    DomainHandshake handshake;
    const DomainHandshake::Limit none{0};
    must(!handshake.wait_cpu_ready(none) && !handshake.wait_accelerator_ready(none) && !handshake.wait_transfer_complete(none));
    handshake.accelerator_ready();
    must(!handshake.wait_cpu_ready(none) && handshake.wait_accelerator_ready(none) && !handshake.wait_transfer_complete(none));
    handshake.cpu_ready();
    handshake.transfer_complete();
    must(handshake.wait_cpu_ready(none) && handshake.wait_transfer_complete(std::chrono::hours(1)));
    must(handshake.reset() && !handshake.wait_cpu_ready(none));
}

void handshake_of_two_threads() {
    DomainHandshake handshake;
    // Not atomic: the signals order it.
    int cell = 0;
    for (int launch = 0; launch < 300; ++launch) {
        std::thread accelerator([&] {
            handshake.accelerator_ready();
            must(handshake.wait_cpu_ready(std::chrono::hours(1)));
            cell += 1;
            handshake.transfer_complete();
        });
        must(handshake.wait_accelerator_ready(DomainHandshake::no_limit));
        cell += 1;
        handshake.cpu_ready();
        must(handshake.wait_transfer_complete(DomainHandshake::no_limit));
        must(cell == 2 * (launch + 1));
        accelerator.join();
        must(handshake.reset());
    }
    std::thread waiter([&] { must(handshake.wait_cpu_ready(DomainHandshake::no_limit)); });
    while (handshake.reset()) std::this_thread::yield();
    handshake.cpu_ready();
    waiter.join();
    must(handshake.reset());
}

// A thread per domain; cells are not atomic, so that a missing edge is a race.
void run_domains(CrossEdges& cross, const std::vector<std::uint8_t>& domains, const std::vector<CrossEdges::Edge>& edges,
                 std::vector<std::uint32_t>& cells) {
    std::vector<std::thread> threads;
    for (std::size_t domain = 0; domain < CrossEdges::most_domains; ++domain) {
        threads.emplace_back([&, domain] {
            for (std::uint32_t task = 0; task < domains.size(); ++task) {
                if (domains[task] != domain) continue;
                while (!cross.may_start(task)) std::this_thread::yield();
                std::uint32_t value = task + 1;
                for (const auto& edge : edges) {
                    if (edge.second == task) value = value * 31 + cells[edge.first];
                }
                cells[task] = value;
                cross.complete(task);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

void edges_between_domains() {
    std::uint64_t state = 77;
    for (int round = 0; round < 60; ++round) {
        std::vector<std::uint8_t> domains(1 + drawn(state, 40));
        for (std::uint8_t& domain : domains) domain = static_cast<std::uint8_t>(drawn(state, 3));
        std::vector<CrossEdges::Edge> edges;
        for (std::uint32_t to = 1; to < domains.size(); ++to) {
            for (std::uint32_t count = drawn(state, 4); count > 0; --count) edges.push_back({drawn(state, to), to});
        }
        std::vector<std::uint32_t> fine(domains.size()), coarse(domains.size());
        CrossEdges cross;
        for (int again = 0; again < 2; ++again) {
            if (again == 0) must(cross.build(domains, edges, CrossOrder::edges));
            run_domains(cross, domains, edges, fine);
            cross.next_round();
        }
        must(cross.build(domains, edges, CrossOrder::phases) && cross.tokens() == 0);
        run_domains(cross, domains, edges, coarse);
        must(fine == coarse);
    }
    CrossEdges cross;
    must(!cross.build({0, 1}, {{1, 0}}, CrossOrder::edges) && !cross.build({0, 1}, {{0, 2}}, CrossOrder::edges));
    must(!cross.build({0, 3}, {}, CrossOrder::edges));
    must(cross.build({0, 1, 0}, {{0, 1}, {0, 1}, {0, 2}, {1, 2}}, CrossOrder::edges) && cross.tokens() == 2);
    must(cross.may_start(0) && !cross.may_start(1) && !cross.may_start(2));
    cross.complete(1);
    must(cross.may_start(2) && !cross.may_start(1));
    must(cross.build({0, 1, 0}, {{1, 2}}, CrossOrder::phases) && !cross.may_start(1));
}

void graphs_of_kernels() {
    std::uint64_t state = 78;
    for (int round = 0; round < 40; ++round) {
        Graph graph;
        std::vector<int> cells(1 + drawn(state, 60));
        for (int& cell : cells) graph.add_node("count", &cell, sizeof cell, {{0, AccessMode::out, {0}, {1}}});
        for (std::int32_t to = 1; to < static_cast<std::int32_t>(cells.size()); ++to) {
            for (std::uint32_t count = drawn(state, 3); count > 0; --count) {
                must(graph.add_dependency(static_cast<std::int32_t>(drawn(state, static_cast<std::uint64_t>(to))), to));
            }
        }
        must(!graph.is_finalized() && graph.finalize() && !graph.get_ready_nodes().empty());
        must(graph.get_nodes()[0].resources.size() == 1 && graph.get_nodes()[0].params_size == sizeof(int));
        for (const int threads : {1, 4}) {
            for (int& cell : cells) cell = 0;
            GraphExecutor executor(graph, threads);
            // Not atomic: dependencies order what nodes read.
            executor.add_kernel("count", [&](const Node& node) {
                int value = 1;
                for (const std::int32_t before : node.dependencies) value += cells[static_cast<std::size_t>(before)];
                must(*static_cast<int*>(node.params) == 0);
                *static_cast<int*>(node.params) = value;
                return true;
            });
            must(executor.execute() && executor.fault().empty());
            for (const Node& node : graph.get_nodes()) {
                int value = 1;
                for (const std::int32_t before : node.dependencies) value += cells[static_cast<std::size_t>(before)];
                must(cells[static_cast<std::size_t>(node.node_id)] == value);
            }
        }
    }
}

// Two kernels wait for each other; then one thread runs a chain while the other has nothing to do, and both end.
void two_nodes_at_once() {
    Graph graph;
    for (const char* kernel : {"meet", "meet", "chain", "chain", "chain"}) graph.add_node(kernel, nullptr, 0, {});
    for (const std::int32_t node : {1, 2, 3}) must(graph.add_dependency(node, node + 1));
    std::atomic<int> met{0}, chained{0};
    GraphExecutor executor(graph, 2);
    executor.add_kernel("meet", [&](const Node&) {
        for (++met; met < 2;) std::this_thread::yield();
        return true;
    });
    executor.add_kernel("chain", [&](const Node&) {
        for (int round = 0; round < 1000; ++round) std::this_thread::yield();
        return ++chained > 0;
    });
    must(executor.execute() && met == 2 && chained == 3);
}

void graphs_that_do_not_run() {
    Graph graph;
    std::atomic<int> runs{0};
    GraphExecutor executor(graph, 2);
    const auto counts = [&](const Node&) { return ++runs > 0; };
    must(executor.execute());
    for (const char* kernel : {"a", "b", "c"}) graph.add_node(kernel, nullptr, 0, {});
    must(!executor.execute() && executor.fault() == "node 0: no kernel `a` was added");
    for (const char* kernel : {"a", "c"}) executor.add_kernel(kernel, counts);
    executor.add_kernel("b", [](const Node&) { return false; });
    must(!graph.add_dependency(0, 3) && !graph.add_dependency(-1, 0) && graph.add_dependency(0, 1) && graph.add_dependency(1, 2));
    must(!executor.execute() && executor.fault() == "node 1: kernel `b` failed: it says so" && runs == 1);
    executor.add_kernel("b", [](const Node&) -> bool { throw std::runtime_error("no memory"); });
    must(!executor.execute() && executor.fault() == "node 1: kernel `b` failed: no memory" && runs == 2);
    executor.add_kernel("b", counts);
    must(executor.execute() && executor.fault().empty() && runs == 5);
    must(graph.add_dependency(2, 1) && !executor.execute() && runs == 5);
    must(executor.fault() == "2 nodes wait for each other or for such nodes, among them node 1 (kernel `b`)");
    Graph self;
    self.add_node("a", nullptr, 0, {});
    must(self.add_dependency(0, 0) && !self.finalize());
    GraphExecutor none(self, 0);
    must(!none.execute() && none.fault() == "a graph runs with at least 1 thread, not 0");
}

// A runtime whose first stream fails.
int streams_alive = 0, streams_synchronized = 0;
int streams[2];
int create(void** stream) {
    if (streams_alive == 2) return 7;
    *stream = &streams[streams_alive++];
    return 0;
}
int synchronize(void* stream) { return ++streams_synchronized, stream == &streams[0] ? 5 : 0; }
int destroy(void*) { return --streams_alive, 0; }

void streams_of_tasks() {
    {
        StreamManager manager({create, synchronize, destroy});
        must(manager.create_streams(2) == 0 && manager.create_streams(3) == 7 && manager.size() == 2);
        must(manager.assign_stream(40, 1) && manager.assign_stream(41, 1) && manager.assign_stream(41, 0));
        must(!manager.assign_stream(42, 2) && !manager.assign_stream(42, -1));
        must(manager.stream_of(40) == &streams[1] && manager.stream_of(41) == &streams[0] && manager.stream_of(42) == nullptr);
        must(manager.synchronize_stream(0) == 5 && manager.synchronize_stream(1) == 0);
        must(manager.synchronize_stream(2) == StreamManager::no_stream);
        must(manager.synchronize_all() == 5 && streams_synchronized == 4);
    }
    must(streams_alive == 0);
}

void launches_of_kernels() {
    KernelBoard board(2);
    int value = 20;
    must(!kernel_launch(0, &value, sizeof value) && !task_wait_for_kernel(0) && !signal_kernel_complete(0));
    // What the kernels write, ordered by the launches.
    int sums[2] = {};
    std::atomic<bool> over{false};
    std::thread core([&] {
        const UseKernels use(board);
        while (!over) {
            for (const int kernel : {0, 1}) {
                KernelCall call;
                if (!board.poll(kernel, &call)) continue;
                must(call.params_size == sizeof(int));
                sums[kernel] += *static_cast<int*>(call.params);
                must(signal_kernel_complete(kernel) && !signal_kernel_complete(2));
            }
            std::this_thread::yield();
        }
    });
    const UseKernels use(board);
    must(!task_wait_for_kernel(0) && !kernel_launch(2, nullptr, 0));
    for (int launch = 1; launch <= 200; ++launch) {
        int params = launch;
        must(kernel_launch(0, &params, sizeof params));
        params = -1;
        must(!kernel_launch(0, &params, sizeof params));
        must(kernel_launch(1, &value, sizeof value));
        must(task_wait_for_kernel(1) && task_wait_for_kernel(0) && !task_wait_for_kernel(0));
        must(sums[0] == launch * (launch + 1) / 2 && sums[1] == 20 * launch);
    }
    over = true;
    core.join();
    // Without a core the wait is given up, when what is called meanwhile says so.
    KernelBoard other(1, [](void* user) { return --*static_cast<int*>(user) > 0; }, &value);
    {
        const UseKernels inner(other);
        must(kernel_launch(0, nullptr, 0) && !task_wait_for_kernel(0) && value == 0);
    }
    must(!task_wait_for_kernel(0));
}

struct Chunk {
    std::uint32_t tier;
    std::uint32_t batch_idx, head_idx;
    std::uint32_t bounds[2];
};
struct Pointer {
    std::uint32_t* data;
};
struct Large {
    std::uint32_t words[17];
};
static_assert(pto::runtime::is_descriptor<Chunk> && pto::runtime::descriptor_words<Chunk> == 5, "as it is declared");
static_assert(!pto::runtime::is_descriptor<Pointer> && !pto::runtime::is_descriptor<Large>, "no descriptors");
static_assert(sizeof(PTO_WorkDescriptor<3, 2>) == 7 * 4, "without gaps");
static_assert(PTO_INTERLEAVED(4).count == 4 && PTO_SEQUENTIAL.count == 0, "counts");
static_assert(PTO_BALANCED(32).elements == 32 && PTO_BALANCED.elements == 16, "with a number and without");

void descriptors() {
    const PTO_WorkDescriptor<1, 1> work = {2, {3}, {4}, 5};
    std::uint32_t words[4];
    pto::runtime::put_descriptor(work, words);
    must(words[0] == 2 && words[1] == 3 && words[2] == 4 && words[3] == 5);
    must(pto::runtime::get_descriptor<PTO_WorkDescriptor<1, 1>>(words).workspace_offset == 5);
}

struct Tasks {
    static std::uint32_t kernel_of(std::uint32_t descriptor, const std::uint32_t*) { return descriptor; }
    template <class Launch>
    static bool submit(const Launch&, const TaskSink&, std::uint64_t, std::uint32_t, const std::uint32_t*, Place) { return true; }
};

// Steps to a descriptor are bounded, and counted anew behind it and in the generator of another stage.
void generators_end() {
    const std::vector<Axis> axes;
    Planner s(axes, 1);
    TaskSink sink{};
    sink.num_aicpus = 2;
    sink.my_aicpu_id = 1;
    Submit<int, Tasks> out(sink);
    for (const bool next_stage : {false, true}) {
        s.idle = generator::max_steps_to_descriptor - 2;
        must(s.step());
        if (next_stage) s.enter(1, {});
        else out.emit(0, s, 0, nullptr, 0);
        must(s.step());
    }
    s.idle = generator::max_steps_to_descriptor - 1;
    must(!s.step() && s.trap == Trap::steps);
}

struct Launched {
    std::vector<Axis> axes;
};

// A call is a step too, of functions and of code: a generator that calls a function.
void calls_are_steps() {
    const auto word = [](code::Op op) { return static_cast<std::uint32_t>(op); };
    const std::uint32_t words[] = {word(code::Op::call), 0, word(code::Op::halt), word(code::Op::call), 1, word(code::Op::leave), word(code::Op::leave)};
    const code::Function functions[] = {{3, 0, 0}, {6, 0, 0}};
    const generator::SourcePlace place{};
    const generator::WordPlace rows[] = {{3, generator::no_word, &place}};
    const code::Program program{words, 7, functions, 2, nullptr, 0, {rows, 1}};
    const Launched launched;
    TaskSink sink{};
    Submit<Launched, Tasks> out(sink);
    for (const bool ends : {false, true}) {
        Planner called(launched.axes, 1), coded(launched.axes, 1);
        called.idle = coded.idle = generator::max_steps_to_descriptor - (ends ? 1 : 2);
        must(called.called(&place).failed() == ends);
        code::run(program, {}, launched, coded, out);
        for (const Planner& s : {called, coded}) must(ends ? s.trap == Trap::steps && s.place == &place : s.trap == Trap::none);
    }
}

}  // namespace

int main() {
    // What would hang ends.
    alarm(120);
    handshake_without_time();
    handshake_of_two_threads();
    edges_between_domains();
    graphs_of_kernels();
    two_nodes_at_once();
    graphs_that_do_not_run();
    streams_of_tasks();
    launches_of_kernels();
    descriptors();
    generators_end();
    calls_are_steps();
}
