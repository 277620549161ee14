// Generates the tasks of a program of 27 words for one AICPU. Emitted by PTO-WSP; do not edit.
#include "pto/wsp/backend/npu/expander_support.hpp"

namespace pto::wsp::backend::npu::program {

using namespace expander;

static_assert(max_rank == 6u, "the headers are of another version");
static_assert(max_aicpus == 1024u, "the headers are of another version");
static_assert(max_loop_depth == 16u, "the headers are of another version");
static_assert(max_generator_steps == 20000000000u, "the headers are of another version");
static_assert(max_while_rounds == 1048576u, "the headers are of another version");

enum : std::uint16_t {
    table_indptr,
    table_experts,
};
enum : std::uint16_t {
    axis_b,
    axis_route,
    axis_2,
};
enum : std::uint16_t {
    kernel_ffn,
    kernel_norm,
};
enum : std::uint16_t {
    tensor_w,
    tensor_y,
    tensor_again,
};

static Int key_18([[maybe_unused]] const State& s) { return Int(s.axis[axis_b]); }

static Int key_19([[maybe_unused]] const State& s) { return Int(s.axis[axis_route]); }

static Rule filter_0(const State& s, [[maybe_unused]] const Rule& outer) {
    const Int metric = key_18(s);
    if (!metric.ok()) return s.by_key(metric);
    if (metric.value < 1) return in_pool(outer, Pool::cube);
    return s.by_hash(key_19(s));
}

static Int expr_6(const State& s, std::int64_t v1) {
    static_cast<void>(s);
    Int t0(0);
    Int t1(0);
    t0 = Int(v1);
    t1 = Int(2);
    t0 = at(8, (t0 % t1));
    t1 = Int(0);
    t0 = (t0 == t1);
    if (!t0.ok()) return t0;
    if (t0.value == 0) goto at_8;
    t0 = Int(1);
    goto at_11;
    at_8:
    t0 = s.slot(0);
    t1 = Int(1);
    t0 = (t0 > t1);
    at_11:
    return t0;
}

// Whether the metric of a configuration is an expression over axes.
static bool is_metric(std::uint32_t expression) {
    switch (expression) {
        case 18: return true;
        case 19: return true;
        default: return false;
    }
}

static Int metric([[maybe_unused]] const State& s, std::uint32_t expression) {
    switch (expression) {
        case 18: return key_18(s);
        case 19: return key_19(s);
        default: return 0;
    }
}

static bool expand(State& s) {
    [[maybe_unused]] const Rule rule = s.by_config();
    // 0: DISPATCH_FILTER
    [[maybe_unused]] const Rule rule_0 = filter_0(s, rule);
    // 5: WHILE
    {
        const Int most_5 = Int(3);
        if (!s.check(most_5.bad)) return s.fail(5);
        for (std::int64_t v0_round = 0;; ++v0_round) {
            const Int holds_5 = s.slot(0);
            if (!s.check(holds_5.bad)) return s.fail(5);
            if (holds_5.value == 0) {
                if (v0_round > 0) s.tell(Ordered::end);
                break;
            }
            if (!(v0_round < most_5.value || s.check(FaultKind::rounds))) return s.fail(5);
            if (!s.tick()) return s.fail(5);
            s.tell(v0_round == 0 ? Ordered::begin : Ordered::step);
            [[maybe_unused]] const Rule rule_at_0 = s.by_config(rule, 0, v0_round);
            [[maybe_unused]] const Rule rule_0_at_0 = filter_0(s, rule_at_0);
            // 8: PARALLEL_FOR over axis_b
            {
                Loop loop_8;
                if (!s.range(loop_8, Int(0), Int(2), 1)) return s.fail(8);
                const std::int64_t outer_8 = s.axis[axis_b];
                Visit visit_8(s, loop_8);
                for (std::uint64_t i_8 = visit_8.first(); i_8 < loop_8.trips; i_8 = visit_8.next(i_8)) {
                    if (!s.tick()) return s.fail(8);
                    visit_8.begin(i_8);
                    [[maybe_unused]] const std::int64_t v1_b = loop_8.at(i_8);
                    s.axis[axis_b] = v1_b;
                    [[maybe_unused]] const Rule rule_at_1 = s.by_config(rule_at_0, 1, v1_b);
                    [[maybe_unused]] const Rule rule_0_at_1 = filter_0(s, rule_at_1);
                    // 11: SELECT over axis_route
                    {
                        Loop loop_11;
                        if (!s.sparse(loop_11, table_indptr, table_experts, v1_b)) return s.fail(11);
                        const std::int64_t outer_11 = s.axis[axis_route];
                        Visit visit_11(s, loop_11);
                        visit_11.each(1);
                        for (std::uint64_t i_11 = visit_11.first(); i_11 < loop_11.trips; i_11 = visit_11.next(i_11)) {
                            if (!s.tick()) return s.fail(11);
                            visit_11.begin(i_11);
                            [[maybe_unused]] const std::int64_t v2_route = loop_11.column(i_11);
                            [[maybe_unused]] const std::int64_t p2_route = loop_11.at(i_11);
                            s.axis[axis_route] = v2_route;
                            [[maybe_unused]] const Rule rule_at_2 = s.by_config(rule_at_1, 2, v2_route);
                            [[maybe_unused]] const Rule rule_0_at_2 = filter_0(s, rule_at_2);
                            if (visit_11.skips(rule_0_at_2)) continue;
                            // 13: TASK kernel_ffn
                            if (s.mine(rule_0_at_2)) {
                                Pool pool = pool_of(rule_0_at_2, Pool::cube);
                                Pool outside = pool;
                                if (!(rule_0_at_2.pool < 0 || configure(s, outside))) return s.fail(13);
                                Region regions[2];
                                s.whole(regions[0], tensor_w, AccessMode::in, 2);
                                if (!s.index(regions[0], 0, Int(v2_route))) return s.fail(13);
                                s.whole(regions[1], tensor_y, AccessMode::out, 2);
                                if (!s.index(regions[1], 0, Int(p2_route))) return s.fail(13);
                                const std::int64_t vars[] = {v0_round, v1_b, v2_route};
                                const std::int64_t indices[] = {v1_b, v2_route};
                                Task task{s.ordinal, 13, kernel_ffn, pool, -1, 0, nullptr, 0, regions, 2, nullptr, 0, vars, 3, indices, 2};
                                s.sink.task(s.sink.user, &task);
                            } else if (!s.bad.is_none()) {
                                return s.fail(13);
                            }
                            ++s.ordinal;
                        }
                        visit_11.end();
                        s.axis[axis_route] = outer_11;
                    }
                }
                visit_8.end();
                s.axis[axis_b] = outer_8;
            }
            // 9: FOR_EACH over axis_2
            {
                Loop loop_9;
                if (!s.range(loop_9, Int(0), Int(3), 1)) return s.fail(9);
                Visit visit_9(s, loop_9);
                if (visit_9.any()) s.tell(Ordered::begin);
                for (std::uint64_t i_9 = visit_9.first(); i_9 < loop_9.trips; i_9 = visit_9.next(i_9)) {
                    if (!s.tick()) return s.fail(9);
                    visit_9.begin(i_9);
                    [[maybe_unused]] const std::int64_t v1 = loop_9.at(i_9);
                    [[maybe_unused]] const Rule rule_at_1 = s.by_config(rule_at_0, 1, v1);
                    [[maybe_unused]] const Rule rule_0_at_1 = filter_0(s, rule_at_1);
                    if (i_9 > 0) s.tell(Ordered::step);
                    // 19: COND
                    {
                        const Int holds_19 = expr_6(s, v1);
                        if (!s.check(holds_19.bad)) return s.fail(19);
                        if (holds_19.value != 0) {
                            // 22: TASK kernel_norm
                            if (s.mine(rule_0_at_1)) {
                                Pool pool = pool_of(rule_0_at_1, Pool::vector);
                                Pool outside = pool;
                                if (!(rule_0_at_1.pool < 0 || configure(s, outside))) return s.fail(22);
                                Region regions[2];
                                s.whole(regions[0], tensor_y, AccessMode::in_out, 2);
                                if (!s.index(regions[0], 0, Int(v1))) return s.fail(22);
                                s.whole(regions[1], tensor_again, AccessMode::out, 1);
                                const std::int64_t vars[] = {v0_round, v1};
                                const std::int64_t indices[] = {v1};
                                Task task{s.ordinal, 22, kernel_norm, pool, -1, 0, nullptr, 0, regions, 2, nullptr, 0, vars, 2, indices, 1};
                                s.sink.task(s.sink.user, &task);
                            } else if (!s.bad.is_none()) {
                                return s.fail(22);
                            }
                            ++s.ordinal;
                        }
                    }
                }
                visit_9.end();
                if (visit_9.any()) s.tell(Ordered::end);
            }
        }
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
    const expander::Needs needs{0, 2, 3, true};
    const Status status = expander::fits(*launch, *config, *sink, needs, is_metric);
    if (status != status_done) return status;
    std::int64_t axis[3] = {};
    std::uint64_t labels[1];
    for (std::uint64_t& label : labels) label = expander::nothing;
    expander::State s(*launch, *config, *sink, metric, axis, labels);
    const bool finished = expand(s);
    return expander::close(s, finished, *outcome);
}
