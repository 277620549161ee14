// What generated expanders are written in: counts of tasks, and the iterations that an AICPU visits, on top of integers
// and state.
#pragma once

#include "pto/wsp/backend/npu/expander_state.hpp"

namespace pto::wsp::backend::npu::expander {

// The number of tasks of a stretch of the program; none when it is too large to know.
struct Tally {
    std::uint64_t tasks = 0;
    bool known = true;

    void add(std::uint64_t times, std::uint64_t each) {
        std::uint64_t product = 0;
        known = known && !__builtin_mul_overflow(times, each, &product) &&
                !__builtin_add_overflow(tasks, product, &tasks);
    }
};

// Which iterations of a loop this AICPU visits, and what the ordinal is at each.
class Visit {
public:
    Visit(State& state, const Loop& over) : s(state), loop(over), base(state.ordinal), period(1) {}

    // Every iteration has so many tasks.
    void each(std::uint64_t tasks) {
        std::uint64_t all = 0;
        counted = s.shared() && !__builtin_mul_overflow(loop.trips, tasks, &all) && all < nothing - base;
        per_iteration = tasks;
    }

    // The rule is the same for all iterations.
    void by_rule(const Rule& decided) {
        if (!counted || decided.kind == Rule::undecided || decided.kind == Rule::fault) return;
        if (decided.kind == Rule::mine) return;
        if (decided.kind == Rule::others || per_iteration == 0) {
            from = loop.trips;
            return;
        }
        rule = &decided;
        from = holding(s.next_owned(decided, base));
    }

    // As by_rule, but the configuration may name the variable of this loop, at `depth`. No variable in it is deeper than
    // `deepest`.
    void by_config(const Rule& decided, std::uint32_t depth, std::uint32_t deepest) {
        if (decided.kind != Rule::undecided) return by_rule(decided);
        const std::uint32_t names = s.config.affinity.axis_depth;
        if (names == depth && loop.columns == nullptr) {
            return by_key(loop.at(0), loop.at(1), loop.at(loop.trips == 0 ? 0 : loop.trips - 1));
        }
        if (names > deepest && counted && s.config.my_aicpu_id != 0) from = loop.trips;
    }

    // The owner follows from a key that grows evenly: its values in the first, the second and the last iteration.
    void by_key(Int first, Int second, Int last) {
        if (!counted || loop.trips == 0 || !first.ok() || !last.ok()) return;
        if (loop.trips > 1 && !second.ok()) return;
        const std::uint64_t n = s.config.num_aicpus;
        const std::uint64_t begin = residue(first.value, n);
        const std::uint64_t slope = loop.trips > 1 ? (residue(second.value, n) + n - begin) % n : 0;
        const std::uint64_t wanted = (s.config.my_aicpu_id + n - begin) % n;
        const std::uint64_t common = divisor(slope, n);
        period = n / common;
        const std::uint64_t found = wanted / common * inverse(slope / common % period, period) % period;
        from = wanted % common == 0 ? found : loop.trips;
    }

    // Whether the iteration that has begun holds no task of this AICPU.
    bool skips(const Rule& decided) const { return counted && s.skips(decided, per_iteration); }
    bool any() const { return from < loop.trips; }
    std::uint64_t first() const { return from; }
    std::uint64_t next(std::uint64_t i) const {
        return rule == nullptr ? i + period : holding(s.next_owned(*rule, base + (i + 1) * per_iteration));
    }
    // Tasks before an iteration are counted, whoever owns them.
    void begin(std::uint64_t i) const {
        if (counted) s.ordinal = base + i * per_iteration;
    }
    void end() const {
        if (counted) s.ordinal = base + loop.trips * per_iteration;
    }

private:
    State& s;
    const Loop& loop;
    std::uint64_t base;
    std::uint64_t per_iteration = 0;
    bool counted = false;
    std::uint64_t from = 0;
    std::uint64_t period;
    const Rule* rule = nullptr;

    // The iteration in which a task lies.
    std::uint64_t holding(std::uint64_t at) const {
        if (at == nothing) return loop.trips;
        const std::uint64_t i = (at - base) / per_iteration;
        return i < loop.trips ? i : loop.trips;
    }

    static std::uint64_t divisor(std::uint64_t a, std::uint64_t b) {
        while (a != 0) {
            const std::uint64_t rest = b % a;
            b = a;
            a = rest;
        }
        return b;
    }

    // What times `a` leaves 1 modulo `n`; 0 modulo 1. The two have no common divisor.
    static std::uint64_t inverse(std::uint64_t a, std::uint64_t n) {
        std::int64_t rest = static_cast<std::int64_t>(n), last = static_cast<std::int64_t>(a);
        std::int64_t times = 0, last_times = 1;
        while (last != 0) {
            const std::int64_t quotient = rest / last;
            const std::int64_t next_rest = rest - quotient * last;
            const std::int64_t next_times = times - quotient * last_times;
            rest = last;
            last = next_rest;
            times = last_times;
            last_times = next_times;
        }
        return residue(times, n);
    }
};

// What a program asks of a launch.
struct Needs {
    std::size_t values;
    std::size_t tables;
    std::size_t tensors;
    bool slots;
};

inline Status launch_fits(const Launch& launch, const Needs& needs) {
    const bool enough = launch.num_values >= needs.values && launch.num_tables >= needs.tables &&
                        launch.num_tensors >= needs.tensors;
    return enough ? status_done : status_launch;
}

// Whether a threshold is in order, and what it does not use is 0.
inline bool threshold_fits(const ThresholdParams& params, bool (*names)(std::uint32_t)) {
    if (params.num_levels < 1 || params.num_levels > 8 || !names(params.metric)) return false;
    for (std::uint32_t i = 0; i < 8; ++i) {
        const std::uint32_t bound = params.thresholds[i];
        const bool used = i + 1u < params.num_levels;
        if (used ? i > 0 && params.thresholds[i - 1] >= bound : bound != 0) return false;
        const std::uint8_t policy = params.policy_per_level[i];
        const bool pool = i < params.num_levels && policy >= policy_pool && policy <= policy_pool + 2;
        if (policy != 0 && !pool) return false;
    }
    return true;
}

// Whether the bytes of a configuration from `first` to before `end` are 0.
inline bool zeros(const DispatchConfig& config, std::size_t first, std::size_t end) {
    const unsigned char* bytes = reinterpret_cast<const unsigned char*>(&config);
    while (first < end && bytes[first] == 0) ++first;
    return first >= end;
}

// `names` says whether a metric is an expression of the program.
inline Status config_fits(const DispatchConfig& config, bool (*names)(std::uint32_t)) {
    bool good = config.num_aicpus >= 1 && config.num_aicpus <= max_aicpus;
    good = good && config.my_aicpu_id < config.num_aicpus && zeros(config, 5, 8);
    std::size_t used = 8;
    switch (config.policy_type) {
        case PolicyType::round_robin: break;
        case PolicyType::affinity:
            good = good && config.affinity.axis_depth < max_loop_depth;
            used += sizeof(AffinityParams);
            break;
        case PolicyType::threshold:
            good = good && threshold_fits(config.threshold, names);
            used += sizeof(ThresholdParams);
            break;
        case PolicyType::static_partition:
            good = good && config.static_partition.task_range_start <= config.static_partition.task_range_end;
            used += sizeof(PartitionParams);
            break;
        default: good = false; break;
    }
    return good && zeros(config, used, sizeof(config)) ? status_done : status_config;
}

inline Status fits(const Launch& launch, const DispatchConfig& config, const Sink& sink, const Needs& needs,
                   bool (*names)(std::uint32_t)) {
    if (launch_fits(launch, needs) != status_done) return status_launch;
    if (config_fits(config, names) != status_done) return status_config;
    const bool heard = sink.task != nullptr && (!needs.slots || sink.slot != nullptr);
    return heard ? status_done : status_sink;
}

// Tells what an expansion came to.
inline Status close(const State& s, bool finished, Outcome& outcome) {
    const Why why = finished ? Why(FaultKind::none) : s.bad;
    outcome.fault = Fault{why.kind, finished ? 0 : s.word, s.ordinal, why.expr};
    outcome.ordinals = s.ordinal;
    outcome.steps = s.steps;
    return finished ? status_done : status_fault;
}

}  // namespace pto::wsp::backend::npu::expander
