// Random task sets on the executor: every order that it chooses is one that they allow.
#include <cstdio>

#include "cost.hpp"
#include "effects.hpp"
#include "faults.hpp"
#include "pto/wsp/backend/npu/host_side.hpp"
#include "maps.hpp"
#include "results.hpp"
#include "tasks.hpp"

namespace {

using namespace tasks;

// What a run is and what came of it.
struct Trial {
    const Set* set;
    std::uint32_t window, gate_global, gate_per_pool, gate_per_stream;
    std::vector<std::uint64_t> started, ended;
    std::vector<std::uint32_t> runs;
    std::atomic<std::uint64_t> clock{1};
    std::atomic<std::uint32_t> submitted{0}, completed{0};
    std::uint32_t in_flight = 0, by_pool[3] = {}, by_stream[8] = {};
    std::atomic<const char*> wrong{nullptr};
    Tensor one_tensor{};
    CrossOrder order = CrossOrder::edges;

    bool is_of_host(const One& one) const { return !set->on_host.empty() && set->on_host[one.ordinal]; }
};
Trial* trial;
constexpr std::uint16_t kernel_of_cores = 7, kernel_of_host = 8;
// The most tasks of one stream at once, in all trials.
std::uint32_t most_of_stream = 0;

void say(const char* what) { trial->wrong = what; }

// The place of a task in its set is its first scalar, behind one tensor where it has one.
std::size_t index_of(const std::int64_t* args) { return static_cast<std::size_t>(args[1]); }

void runs(std::size_t at, std::uint64_t* data, std::uint32_t bytes) {
    const One& one = trial->set->all[at];
    ++trial->runs[at];
    if (!trial->set->scratch[one.ordinal]) return;
    for (std::uint32_t word = 0; word < bytes / 8; ++word) {
        if (one.scratch_writes) data[word] = one.ordinal;
        if (data[word] != one.ordinal) say("memory of an ordinal was given away while it was used");
    }
}

void kernel(std::uint16_t number, const std::int64_t* args) {
    if (number != kernel_of_cores) say("a core runs a task of the host");
    const ChipTensor& memory = *reinterpret_cast<const ChipTensor*>(static_cast<std::uintptr_t>(args[0]));
    std::uint64_t* data = reinterpret_cast<std::uint64_t*>(static_cast<std::uintptr_t>(memory.buffer.addr));
    runs(index_of(args), data, memory.shapes[0]);
}

void run_on_host(const TaskArgs& task) {
    Trial& t = *trial;
    const std::size_t at = static_cast<std::size_t>(task.scalars[0]);
    t.started[at] = t.clock++;
    runs(at, static_cast<std::uint64_t*>(task.tensors[0]->data), task.tensors[0]->extents[0]);
    t.ended[at] = t.clock++;
}

void observe(void*, const CoreTask& task, std::uint32_t, bool starts) {
    Trial& t = *trial;
    const std::size_t at = index_of(task.args);
    const One& one = t.set->all[at];
    (starts ? t.started : t.ended)[at] = t.clock++;
    const std::uint32_t more = starts ? 1u : ~0u;
    t.in_flight += more;
    std::uint32_t& pool = t.by_pool[one.pool == Pool::vector ? 0 : one.pool == Pool::cube ? 1 : 2];
    pool += more;
    if (one.stream >= 0) t.by_stream[one.stream] += more;
    if (one.stream >= 0 && t.by_stream[one.stream] > most_of_stream) most_of_stream = t.by_stream[one.stream];
    if (!starts) ++t.completed;
    if (t.gate_global != 0 && t.in_flight > t.gate_global) say("the gate of all tasks is exceeded");
    if (t.gate_per_pool != 0 && pool > t.gate_per_pool) say("the gate of a pool is exceeded");
    const std::uint32_t most = t.gate_per_stream == 0 ? 1 : t.gate_per_stream;
    if (one.stream >= 0 && t.by_stream[one.stream] > most) say("the gate of a stream is exceeded");
}

bool submit(TaskSink& sink, std::size_t at, const Tensor* scratch, bool is_aicpu) {
    const One& one = trial->set->all[at];
    TaskArgs args;
    args.kernel = trial->is_of_host(one) ? kernel_of_host : kernel_of_cores;
    args.pool = one.pool;
    args.stream = one.stream;
    args.priority = one.priority;
    args.add_tensor(scratch == nullptr ? trial->one_tensor : *scratch);
    args.add_scalar(at);
    if (scratch != nullptr) args.add_whole(*scratch, one.scratch_writes ? AccessMode::out : AccessMode::in);
    for (const Place& place : one.places) {
        Tensor tensor{};
        tensor.buffer = place.buffer;
        args.add_region(tensor, place.writes ? AccessMode::in_out : AccessMode::in, place.lo, place.hi);
    }
    args.after = one.after.data();
    args.num_after = static_cast<std::uint16_t>(one.after.size());
    args.overflow = one.overflow;
    if (!sink.submit(sink.user, &args)) return false;
    if (!is_aicpu || args.kernel == kernel_of_host) return true;
    const std::uint32_t submitted = ++trial->submitted;
    if (submitted - trial->completed > trial->window) say("the window is exceeded");
    return true;
}

// Whether an AICPU may leave out a step: it has no tasks in it, and another step follows.
bool is_left_out(const Set& set, std::size_t event, std::uint16_t aicpu) {
    if (set.events[event].what != Ordered::step || event + 1 == set.events.size()) return false;
    if (set.events[event + 1].what != Ordered::step) return false;
    for (std::uint64_t at = set.events[event].ordinal; at < set.events[event + 1].ordinal; ++at) {
        if (set.owner[at] == aicpu) return false;
    }
    return true;
}

// Of an AICPU without a program, of the host with one.
bool orchestrate(void* program, TaskSink& sink) {
    const Set& set = *trial->set;
    const bool is_aicpu = program == nullptr;
    std::size_t next = 0, event = 0;
    for (std::uint64_t ordinal = 0; ordinal <= set.owner.size(); ++ordinal) {
        for (; event < set.events.size() && set.events[event].ordinal == ordinal; ++event) {
            if (is_aicpu && is_left_out(set, event, sink.my_aicpu_id)) continue;
            if (!sink.ordered(sink.user, set.events[event].what, ordinal)) return false;
        }
        if (ordinal == set.owner.size()) return true;
        const bool mine = !is_aicpu || set.owner[ordinal] == sink.my_aicpu_id;
        if (mine && set.fence[ordinal] && !sink.fence(sink.user, ordinal)) return false;
        if (mine && !sink.begin(sink.user, ordinal)) return false;
        Tensor scratch;
        if (mine && set.scratch[ordinal] && !sink.alloc(sink.user, 200, &scratch)) return false;
        for (; next < set.all.size() && set.all[next].ordinal == ordinal; ++next) {
            if (mine && !submit(sink, next, set.scratch[ordinal] ? &scratch : nullptr, is_aicpu)) return false;
        }
        if (mine && !sink.end(sink.user, ordinal)) return false;
    }
    return true;
}

bool before(const Set& set, std::size_t a, std::size_t b, bool* only_starts, std::uint32_t per_stream) {
    const bool first = comes_first(set, set.all[a], set.all[b]);
    const bool streamed = set.all[a].stream >= 0 && set.all[a].stream == set.all[b].stream;
    *only_starts = !first && per_stream > 1;
    return first || streamed;
}

std::string judge(const HostResult& result) {
    const Trial& t = *trial;
    if (!result.fault.empty()) return result.fault;
    if (t.wrong != nullptr) return t.wrong.load();
    if (result.window.most > t.window) return "the window is exceeded";
    for (std::size_t b = 0; b < t.set->all.size(); ++b) {
        if (t.runs[b] != 1) return "task " + std::to_string(b) + " ran " + std::to_string(t.runs[b]) + " times";
        for (std::size_t a = 0; a < b; ++a) {
            bool only_starts = false;
            const bool turn = t.order == CrossOrder::phases && t.is_of_host(t.set->all[a]) != t.is_of_host(t.set->all[b]);
            if (!turn && !before(*t.set, a, b, &only_starts, t.gate_per_stream)) continue;
            const std::uint64_t then = only_starts ? t.started[a] : t.ended[a];
            if (then > t.started[b]) return "task " + std::to_string(b) + " starts before task " + std::to_string(a);
        }
    }
    return {};
}

std::size_t all_tokens = 0;

std::string one_trial(const Set& set, std::uint32_t window, std::uint32_t batch, bool threads, std::uint64_t seed) {
    Draw draw(seed * 31 + window + batch);
    Trial t;
    trial = &t;
    t.order = seed % 2 == 0 ? CrossOrder::edges : CrossOrder::phases;
    t.set = &set;
    t.window = window;
    t.started.resize(set.all.size());
    t.ended.resize(set.all.size());
    t.runs.resize(set.all.size());
    t.gate_global = draw.below(4) == 0 ? 1 + draw.below(3) : 0;
    t.gate_per_pool = draw.below(4) == 0 ? 1 + draw.below(2) : 0;
    t.gate_per_stream = draw.below(3);
    t.one_tensor.rank = 1;
    HostConfig config;
    config.threads = threads;
    config.seed = seed;
    config.core_threads = 3;
    ExecutorConfig& executor = config.executor;
    executor.num_aicpus = set.aicpus;
    executor.cores = {static_cast<std::uint16_t>(1 + draw.below(3)), static_cast<std::uint16_t>(1 + draw.below(4))};
    executor.num_buffers = set.buffers;
    executor.num_streams = set.streams;
    executor.window = window;
    executor.batch = batch;
    executor.gate_global = t.gate_global;
    executor.gate_per_pool = t.gate_per_pool;
    executor.gate_per_stream = t.gate_per_stream;
    executor.order = draw.below(2) == 0 ? graph::ReadyOrder::fifo : graph::ReadyOrder::priority;
    executor.heap_bytes = 256 * (1 + draw.below(4));
    executor.observe = observe;
    alignas(64) char exchange[256];
    HostSide host({orchestrate, &t, [](std::uint16_t number) { return number == kernel_of_host; }, run_on_host, set.buffers, exchange, nullptr});
    if (!set.on_host.empty()) {
        if (!host.plan(t.order)) return "what the host and cores wait for is not found";
        all_tokens += host.tokens();
        config.host = &host;
    }
    const HostResult result = run(config, orchestrate, nullptr, kernel);
    const std::string wrong = judge(result);
    if (wrong.empty()) return {};
    return "seed " + std::to_string(seed) + ", window " + std::to_string(window) + ", batch " + std::to_string(batch) + ", " +
           std::to_string(set.aicpus) + " AICPUs, " + (threads ? "threads" : "steps") + ": " + wrong;
}

// Counts of trials that went wrong; the first few are said.
int all_trials(std::uint64_t seeds, std::uint64_t of_threads, Set (*drawn)(std::uint64_t seed, std::uint16_t aicpus)) {
    int wrong = 0, trials = 0;
    for (std::uint64_t seed = 0; seed < seeds || seed < of_threads; ++seed) {
        for (const std::uint16_t aicpus : {std::uint16_t{1}, std::uint16_t{4}}) {
            const Set set = drawn(seed, aicpus);
            for (const std::uint32_t window : {1, 4, 1024}) {
                for (const std::uint32_t batch : {1, 8}) {
                    for (int mode = 0; mode < 2; ++mode) {
                        if (seed >= (mode == 0 ? seeds : of_threads)) continue;
                        const std::string said = one_trial(set, window, batch, mode == 1, seed);
                        ++trials;
                        wrong += said.empty() ? 0 : 1;
                        if (!said.empty() && wrong <= 5) std::printf("%s\n", said.c_str());
                    }
                }
            }
        }
    }
    std::printf("%d of %d trials went wrong; up to %u tasks of a stream at once\n", wrong, trials, most_of_stream);
    return wrong;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    const auto number = [&](int at, int otherwise) { return argc > at ? std::atoi(argv[at]) : otherwise; };
    if (what == "trials" || what == "host") {
        Set (*const drawn)(std::uint64_t, std::uint16_t) = what == "host" ? with_host : plain;
        const int wrong = all_trials(static_cast<std::uint64_t>(number(2, 50)), static_cast<std::uint64_t>(number(3, 50)), drawn);
        if (what == "host") std::printf("%zu tokens\n", all_tokens);
        return wrong > 0 ? 1 : 0;
    }
    if (what == "maps") return maps::compare(number(2, 200)) ? 0 : 1;
    if (what == "images") {
        const int cases = number(2, 1000), refused = maps::images(cases);
        std::printf("%d changed graphs, %s\n", cases, refused > 0 ? "refused or harmless" : "wrong");
        return refused > 0 ? 0 : 1;
    }
    if (what == "faults") return faults::all();
    if (what == "results") return results::wrong(number(2, 20)) ? 1 : 0;
    if (what == "effects") return effects::say();
    if (what == "cost") return cost::say(number(2, 100000));
    return 2;
}
