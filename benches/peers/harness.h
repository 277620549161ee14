// The command line, the measuring and the one line of JSON that all C++ programs share.
//
// A program is a class `Peer` with
//   explicit Peer(unsigned workers);
//   static constexpr bool stored;                                   // whether a graph can be kept, and run again
//   template <class P, class B> void build(const P& pattern, const B& body);
//   void run();                                                     // returns when every task has run
//   void clear();                                                   // forgets the graph, keeps memory where it can
// A `Peer` that is not `stored` submits and runs in `run`.
#pragma once

#include "bodies.h"
#include "patterns.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <unistd.h>

namespace peers {

inline double cpu_ns() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// Bytes of this process that are in memory.
inline double resident_bytes() {
    long total = 0, resident = 0;
    if (FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
        std::fclose(file);
    }
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

[[noreturn]] inline void fail(const std::string& text) {
    std::fprintf(stderr, "%s\n", text.c_str());
    std::exit(1);
}

inline void expect_tally(uint64_t tasks, uint64_t runs) {
    const uint64_t expected = tasks * (tasks + 1) / 2 * runs, found = Tally::take();
    if (found != expected)
        fail("tasks are missing or ran twice: tally " + std::to_string(found) + ", expected " + std::to_string(expected));
}

/// Runs the graph once with a body that sees the order; stops the program when the order is wrong.
template <class Peer, class Pattern> uint64_t checked(unsigned workers, const Pattern& pattern) {
    std::vector<uint64_t> expected(pattern.tasks), found(pattern.tasks);
    Order<Pattern> sequential{&pattern, &expected};
    for (uint32_t task = 0; task < pattern.tasks; ++task) sequential(task);
    Order<Pattern> body{&pattern, &found};
    Peer peer(workers);
    for (int runs = 0; runs < (Peer::stored ? 2 : 1); ++runs) {
        std::fill(found.begin(), found.end(), 0);
        if (runs == 0) peer.build(pattern, body);
        peer.run();
        if (found != expected) fail("a task ran before one of its predecessors, or never");
    }
    return body.checksum();
}

inline std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4f", value);
    return text;
}

/// A moment on the wall, and of the time that all threads have computed.
struct Moment {
    double wall = now_ns();
    double cpu = cpu_ns();
};

/// Spans of one phase.
class Phase {
public:
    void add(const Moment& start, const Moment& end, double tasks) {
        walls_.push_back((end.wall - start.wall) / tasks);
        cpus_.push_back((end.cpu - start.cpu) / tasks);
    }

    /// The medians as two fields of JSON.
    std::string json(const char* name, bool known) const {
        const std::string key(name);
        return "\"" + key + "_ns\":" + (known ? number(median(walls_)) : "null") + ",\"" + key +
               "_cpu_ns\":" + (known ? number(median(cpus_)) : "null") + ",";
    }

private:
    std::vector<double> walls_, cpus_;
};

/// The fields that every line begins with.
inline std::string head(const char* name, const std::string& label, uint32_t tasks, unsigned workers, unsigned repetitions) {
    return std::string("{\"peer\":\"") + name + "\",\"pattern\":\"" + label + "\",\"tasks\":" + std::to_string(tasks) +
           ",\"workers\":" + std::to_string(workers) + ",\"repetitions\":" + std::to_string(repetitions) + ",";
}

/// Builds and runs one graph several times; prints medians in nanoseconds per task.
template <class Peer, class Pattern>
void measure(const char* name, const std::string& label, unsigned workers, unsigned repetitions, const Pattern& pattern) {
    const double n = std::max(1u, pattern.tasks);
    Phase build, run, rerun, total;
    const double before = resident_bytes();
    Peer peer(workers);
    double bytes = 0;
    for (unsigned k = 0; k <= repetitions; ++k) {
        peer.clear();
        const Moment start;
        peer.build(pattern, Count{});
        const Moment built;
        if (k == 0) bytes = resident_bytes() - before;
        const Moment launch;
        peer.run();
        const Moment ran;
        if (Peer::stored) peer.run();
        const Moment again;
        expect_tally(pattern.tasks, Peer::stored ? 2 : 1);
        if (k == 0) continue;
        build.add(start, built, n);
        run.add(launch, ran, n);
        rerun.add(ran, again, n);
        total.add(start, ran, n);
    }
    const std::string line = head(name, label, pattern.tasks, workers, repetitions) + build.json("build", Peer::stored) +
                             run.json("run", Peer::stored) + rerun.json("rerun", Peer::stored) + total.json("total", true) +
                             "\"bytes\":" + (Peer::stored ? number(std::max(0.0, bytes) / n) : "null");
    std::printf("%s,\"checksum\":\"%016llx\"}\n", line.c_str(),
                static_cast<unsigned long long>(checked<Peer>(workers, pattern)));
}

/// Iterations of the longest task that is tried.
constexpr uint64_t LONGEST = 1u << 13;

/// How long a task of a graph is, and the part of the workers' time that goes into tasks when the graph is built and run.
struct Useful {
    double task_ns;
    double part;
};

/// Measures a graph in turn with the same tasks in a plain loop of one thread.
template <class Peer>
Useful useful(Peer& peer, const Listed& pattern, unsigned workers, unsigned repetitions, const uint64_t& iterations) {
    const Busy body{&iterations};
    std::vector<double> loops, graphs;
    for (unsigned k = 0; k < repetitions; ++k) {
        const double first = now_ns();
        for (uint32_t task = 0; task < pattern.tasks; ++task) body(task);
        const double start = now_ns();
        peer.clear();
        peer.build(pattern, body);
        peer.run();
        graphs.push_back(now_ns() - start);
        loops.push_back(start - first);
        expect_tally(pattern.tasks, 2);
    }
    const double loop = median(loops);
    return {loop / pattern.tasks, loop / (median(graphs) * workers)};
}

/// Finds the shortest task with which half of the workers' time is useful; prints it in nanoseconds, or null if none of up
/// to `LONGEST` iterations is long enough.
template <class Peer>
void metg(const char* name, const std::string& label, unsigned workers, unsigned repetitions, const Listed& pattern) {
    uint64_t below = 0, above = 8, iterations = 0;
    double found = NAN;
    Peer peer(workers);
    const auto enough = [&](uint64_t tried) {
        iterations = tried;
        const Useful measured = useful(peer, pattern, workers, repetitions, iterations);
        if (measured.part >= 0.5) found = measured.task_ns;
        return measured.part >= 0.5;
    };
    while (!enough(above) && above < LONGEST) {
        below = above;
        above *= 2;
    }
    while (!std::isnan(found) && above - below > std::max<uint64_t>(1, above / 32)) {
        const uint64_t middle = below + (above - below) / 2;
        (enough(middle) ? above : below) = middle;
    }
    const std::string line = head(name, label, pattern.tasks, workers, repetitions) +
                             "\"metg_ns\":" + (std::isnan(found) ? "null" : number(found));
    std::printf("%s,\"checksum\":\"%016llx\"}\n", line.c_str(),
                static_cast<unsigned long long>(checked<Peer>(workers, pattern)));
}

inline uint32_t whole(const char* text, uint32_t max) {
    char* end = nullptr;
    const unsigned long value = std::strtoul(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value < 1 || value > max)
        fail(std::string("`") + text + "` is no whole number from 1 to " + std::to_string(max));
    return static_cast<uint32_t>(value);
}

/// `graph PATTERN SIZE WORKERS REPETITIONS` or `metg PATTERN WIDTH STEPS WORKERS REPETITIONS`.
template <class Peer> int peer_main(const char* name, int argc, char** argv) {
    const uint32_t most = 1u << 28;
    if (argc == 6 && std::strcmp(argv[1], "graph") == 0) {
        const std::string pattern = argv[2];
        const uint32_t size = whole(argv[3], most), workers = whole(argv[4], 1024), reps = whole(argv[5], 1000);
        if (pattern == "independent") measure<Peer>(name, pattern, workers, reps, Independent{size});
        else if (pattern == "chain") measure<Peer>(name, pattern, workers, reps, Chain{size});
        else if (pattern == "wavefront") measure<Peer>(name, pattern, workers, reps, Wavefront{size});
        else if (pattern == "random") measure<Peer>(name, pattern, workers, reps, random_layered(size));
        else fail("the patterns are independent, chain, wavefront, random");
    } else if (argc == 7 && std::strcmp(argv[1], "metg") == 0) {
        const std::string pattern = argv[2];
        const std::vector<std::string> known{"trivial", "no_comm", "stencil_1d", "fft", "tree", "random_nearest", "spread"};
        if (std::find(known.begin(), known.end(), pattern) == known.end()) fail("`" + pattern + "` is no Task Bench pattern");
        const uint32_t width = whole(argv[3], 1u << 16), steps = whole(argv[4], 1u << 16);
        metg<Peer>(name, pattern, whole(argv[5], 1024), whole(argv[6], 1000), task_bench(pattern, width, steps));
    } else {
        fail("arguments: graph PATTERN SIZE WORKERS REPETITIONS | metg PATTERN WIDTH STEPS WORKERS REPETITIONS");
    }
    return 0;
}

} // namespace peers
