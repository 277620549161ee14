// Generates the tasks of a program of 19 words for one AICPU. Emitted by PTO-WSP; do not edit.
#include "pto/wsp/backend/npu/expander_support.hpp"

namespace pto::wsp::backend::npu::program {

using namespace expander;

static_assert(max_rank == 6u, "the headers are of another version");
static_assert(max_aicpus == 1024u, "the headers are of another version");
static_assert(max_loop_depth == 16u, "the headers are of another version");
static_assert(max_generator_steps == 20000000000u, "the headers are of another version");
static_assert(max_while_rounds == 1048576u, "the headers are of another version");

enum : std::uint16_t {
    value_batch,
    value_heads,
};
enum : std::uint16_t {
    table_lens,
};
enum : std::uint16_t {
    axis_b,
    axis_h,
    axis_tile,
};
enum : std::uint16_t {
    kernel_attn,
};
enum : std::uint16_t {
    tensor_q,
    tensor_kv,
    tensor_o,
};

static bool count_4([[maybe_unused]] State& s, [[maybe_unused]] std::int64_t v0_b, std::uint64_t& tasks) {
    Tally tally;
    {
        Loop loop_4;
        if (!s.ragged(loop_4, table_lens, s.length(table_lens), Int(v0_b))) return false;
        tally.add(loop_4.trips, 1);
    }
    tasks = tally.tasks;
    return tally.known;
}

static bool count_2([[maybe_unused]] State& s, [[maybe_unused]] std::int64_t v0_b, std::uint64_t& tasks) {
    Tally tally;
    {
        Loop loop_2;
        if (!s.range(loop_2, 0, s.value(value_heads), 1)) return false;
        std::uint64_t each_2 = 0;
        if (loop_2.trips > 0 && !count_4(s, v0_b, each_2)) return false;
        tally.add(loop_2.trips, each_2);
    }
    tasks = tally.tasks;
    return tally.known;
}

// Whether the metric of a configuration is an expression over axes.
static bool is_metric(std::uint32_t expression) {
    switch (expression) {
        default: return false;
    }
}

static Int metric([[maybe_unused]] const State& s, std::uint32_t expression) {
    switch (expression) {
        default: return 0;
    }
}

static bool expand(State& s) {
    [[maybe_unused]] const Rule rule = s.by_config();
    // 0: PARALLEL_FOR over axis_b
    {
        Loop loop_0;
        if (!s.range(loop_0, 0, s.value(value_batch), 1)) return s.fail(0);
        Visit visit_0(s, loop_0);
        for (std::uint64_t i_0 = visit_0.first(); i_0 < loop_0.trips; i_0 = visit_0.next(i_0)) {
            if (!s.tick()) return s.fail(0);
            visit_0.begin(i_0);
            [[maybe_unused]] const std::int64_t v0_b = loop_0.at(i_0);
            [[maybe_unused]] const Rule rule_at_0 = s.by_config(rule, 0, v0_b);
            std::uint64_t tasks_0 = 0;
            if (s.may_skip(rule_at_0) && count_2(s, v0_b, tasks_0) && s.skips(rule_at_0, tasks_0)) {
                s.ordinal += tasks_0;
                continue;
            }
            // 2: PARALLEL_FOR over axis_h
            {
                Loop loop_2;
                if (!s.range(loop_2, 0, s.value(value_heads), 1)) return s.fail(2);
                Visit visit_2(s, loop_2);
                std::uint64_t tasks_2 = 0;
                if (loop_2.trips > 0 && s.shared() && count_4(s, v0_b, tasks_2)) visit_2.each(tasks_2);
                visit_2.by_config(rule_at_0, 1, 2);
                for (std::uint64_t i_2 = visit_2.first(); i_2 < loop_2.trips; i_2 = visit_2.next(i_2)) {
                    if (!s.tick()) return s.fail(2);
                    visit_2.begin(i_2);
                    [[maybe_unused]] const std::int64_t v1_h = loop_2.at(i_2);
                    [[maybe_unused]] const Rule rule_at_1 = s.by_config(rule_at_0, 1, v1_h);
                    // 4: PARALLEL_FOR over axis_tile
                    {
                        Loop loop_4;
                        if (!s.ragged(loop_4, table_lens, s.length(table_lens), Int(v0_b))) return s.fail(4);
                        Visit visit_4(s, loop_4);
                        visit_4.each(1);
                        visit_4.by_config(rule_at_1, 2, 2);
                        for (std::uint64_t i_4 = visit_4.first(); i_4 < loop_4.trips; i_4 = visit_4.next(i_4)) {
                            if (!s.tick()) return s.fail(4);
                            visit_4.begin(i_4);
                            [[maybe_unused]] const std::int64_t v2_tile = loop_4.at(i_4);
                            [[maybe_unused]] const Rule rule_at_2 = s.by_config(rule_at_1, 2, v2_tile);
                            // 7: TASK kernel_attn
                            if (s.mine(rule_at_2)) {
                                Pool pool = pool_of(rule_at_2, Pool::cube);
                                if (!configure(s, pool)) return s.fail(7);
                                Region regions[3];
                                s.whole(regions[0], tensor_q, AccessMode::in, 3);
                                if (!s.index(regions[0], 0, Int(v0_b))) return s.fail(7);
                                if (!s.index(regions[0], 1, Int(v1_h))) return s.fail(7);
                                s.whole(regions[1], tensor_kv, AccessMode::in, 3);
                                if (!s.index(regions[1], 0, Int(v0_b))) return s.fail(7);
                                if (!s.sized(regions[1], 1, at(4, (Int(v2_tile) * Int(64))), 64)) return s.fail(7);
                                s.whole(regions[2], tensor_o, AccessMode::in_out, 3);
                                if (!s.index(regions[2], 0, Int(v0_b))) return s.fail(7);
                                if (!s.index(regions[2], 1, Int(v1_h))) return s.fail(7);
                                std::int64_t params[1] = {};
                                params[0] = v2_tile;
                                const std::int64_t vars[] = {v0_b, v1_h, v2_tile};
                                const std::int64_t indices[] = {v0_b, v1_h, v2_tile};
                                Task task{s.ordinal, 7, kernel_attn, pool, -1, 0, params, 1, regions, 3, nullptr, 0, vars, 3, indices, 3};
                                s.sink.task(s.sink.user, &task);
                            } else if (!s.bad.is_none()) {
                                return s.fail(7);
                            }
                            ++s.ordinal;
                        }
                        visit_4.end();
                    }
                }
                visit_2.end();
            }
        }
        visit_0.end();
    }
    return true;
}

}  // namespace pto::wsp::backend::npu::program

extern "C" int wsp_expand(const pto::wsp::backend::npu::Launch* launch,
                          const pto::wsp::backend::npu::DispatchConfig* config,
                          const pto::wsp::backend::npu::Sink* sink,
                          pto::wsp::backend::npu::Outcome* outcome) {
    using namespace pto::wsp::backend::npu::program;
    using namespace pto::wsp::backend::npu;
    const expander::Needs needs{2, 1, 3, false};
    const Status status = expander::fits(*launch, *config, *sink, needs, is_metric);
    if (status != status_done) return status;
    std::int64_t axis[3] = {};
    std::uint64_t labels[1];
    for (std::uint64_t& label : labels) label = expander::nothing;
    expander::State s(*launch, *config, *sink, metric, axis, labels);
    const bool finished = expand(s);
    return expander::close(s, finished, *outcome);
}
