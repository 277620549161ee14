// Code of generators with random edits: it ends, with tasks or with a trap, and touches nothing but what it is given.
#include <cstdio>
#include <cstdlib>

#include "places.hpp"
#include "pto/wsp/backend/npu/generator_code.hpp"

namespace program {
using namespace pto::wsp::backend::npu;
using generator::no_word;
}

#include "program.inc"

namespace {

using namespace pto::wsp::backend::npu;

struct Random {
    std::uint64_t state;

    std::uint32_t below(std::uint32_t end) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<std::uint32_t>(state % end);
    }
};

struct Axes {
    std::vector<generator::Axis> axes;
};

// Counts tasks, and reads their words.
struct Out {
    std::uint64_t tasks = 0, sum = 0;

    void emit(const Axes&, generator::Checked& s, std::uint32_t descriptor, const std::uint32_t* fields, std::int32_t priority) {
        for (std::uint32_t at = 0; at < program::fields[descriptor]; ++at) sum += fields[at];
        sum += static_cast<std::uint32_t>(priority);
        if (++tasks > 1000) s.fail<bool>(Trap::tasks);
    }
    void fence(generator::Checked&) {}
};

}  // namespace

int main(int argc, char** argv) {
    const int cases = argc > 1 ? std::atoi(argv[1]) : 0;
    const std::vector<std::uint32_t> own(program::words, program::words + program::generators.num_words);
    const std::uint32_t lengths[] = {200, 64, 7, 300};
    const IntArray arrays[] = {{lengths, 4, generator::IntType::u32}, {lengths, 4, generator::IntType::u32}};
    const std::uint64_t params[] = {4, 8, 2, 64, 16, 300, 1, 0, 4, 8, 2, 64};
    const code::Given given{params, 12, arrays, 2};
    int done = 0, trapped = 0;
    for (int at = 0; at < cases; ++at) {
        Random random{static_cast<std::uint64_t>(at) + 1};
        std::vector<std::uint32_t> words = own;
        // The first is as it was emitted.
        for (std::uint32_t edits = at == 0 ? 0 : 1 + random.below(4); edits > 0; --edits) {
            std::uint32_t& word = words[random.below(static_cast<std::uint32_t>(words.size()))];
            switch (random.below(4)) {
                case 0: word ^= 1u << random.below(32); break;
                case 1: word = random.below(64); break;
                case 2: word = own[random.below(static_cast<std::uint32_t>(own.size()))]; break;
                default: word = random.below(UINT32_MAX); break;
            }
        }
        if (at % 8 == 7) words.resize(random.below(static_cast<std::uint32_t>(words.size())));
        code::Program edited = program::generators;
        edited.words = words.data();
        edited.num_words = words.size();
        Axes launch{std::vector<generator::Axis>(8)};
        Planner planner(launch.axes, 24);
        Out out;
        code::run(edited, given, launch, planner, out);
        ++(planner.failed() ? trapped : done);
    }
    std::printf("%d codes with edits, %s\n", cases, done > 0 && trapped > 0 ? "ended or trapped" : "all alike");
    return 0;
}
