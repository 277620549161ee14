// OpenMP tasks with `depend`: the run time system finds the edges from one address per task. Tasks run while others are
// still submitted, so that submission and execution cannot be told apart.
#include "harness.h"

#include <functional>
#include <omp.h>

namespace {

class Depend {
public:
    static constexpr bool stored = false;

    explicit Depend(unsigned workers) : workers_(workers) {}

    template <class Pattern, class Body> void build(const Pattern& pattern, const Body& body) {
        if (cells_.size() < pattern.tasks) cells_.resize(pattern.tasks);
        run_ = [this, &pattern, body] { submit(pattern, body); };
    }

    void run() { run_(); }

    void clear() {}

private:
    template <class Pattern, class Body> void submit(const Pattern& pattern, Body body) {
        char* cells = cells_.data();
#pragma omp parallel num_threads(workers_)
#pragma omp single
        {
            std::vector<uint32_t> before;
            for (uint32_t task = 0; task < pattern.tasks; ++task) {
                before.clear();
                pattern.predecessors(task, [&](uint32_t p) { before.push_back(p); });
                const uint32_t* list = before.data();
                const int count = static_cast<int>(before.size());
                if (count == 0) {
#pragma omp task firstprivate(task, body) depend(out : cells[task])
                    body(task);
                } else if (count == 1) {
#pragma omp task firstprivate(task, body) depend(in : cells[list[0]]) depend(out : cells[task])
                    body(task);
                } else if (count == 2) {
#pragma omp task firstprivate(task, body) depend(in : cells[list[0]], cells[list[1]]) depend(out : cells[task])
                    body(task);
                } else {
#pragma omp task firstprivate(task, body) depend(iterator(k = 0 : count), in : cells[list[k]]) depend(out : cells[task])
                    body(task);
                }
            }
        }
    }

    unsigned workers_;
    std::vector<char> cells_;
    std::function<void()> run_;
};

} // namespace

int main(int argc, char** argv) { return peers::peer_main<Depend>("openmp_depend", argc, argv); }
