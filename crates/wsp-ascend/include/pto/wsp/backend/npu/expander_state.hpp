// The state of a generated expander: names of the launch, loops, rules of ownership, and the arguments of tasks.
#pragma once

#include "pto/wsp/backend/npu/expander_int.hpp"

namespace pto::wsp::backend::npu::expander {

// The iterations of a loop that is entered.
struct Loop {
    std::int64_t start = 0;
    std::int64_t stride = 1;
    std::uint64_t trips = 0;
    const std::int64_t* columns = nullptr;

    // The index of an iteration below `trips`.
    std::int64_t at(std::uint64_t iteration) const {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                         static_cast<std::uint64_t>(stride) * iteration);
    }
    // Of a row of a sparse axis, the column.
    std::int64_t column(std::uint64_t iteration) const { return columns[at(iteration)]; }
};

// Which tasks of a stretch of the program are this AICPU's, as far as is known there.
struct Rule {
    enum Kind : std::uint8_t { undecided, in_turn, ranges, span, mine, others, fault } kind = undecided;
    // Why a task has no owner.
    Why bad = FaultKind::none;
    // The pool that a threshold gives a task; -1 for that of its kernel.
    std::int16_t pool = -1;
    // Where ranges of ordinals end; the r-th belongs to AICPU r modulo their number.
    const std::uint32_t* ends = nullptr;
    std::size_t num_ends = 0;
};

// Tasks in turn.
inline Rule in_turn() {
    Rule rule;
    rule.kind = Rule::in_turn;
    return rule;
}

// Ranges of ordinals.
inline Rule in_ranges(const std::uint32_t* ends, std::size_t count) {
    Rule rule;
    rule.kind = Rule::ranges;
    rule.ends = ends;
    rule.num_ends = count;
    return rule;
}

// As the rule outside, in a pool.
inline Rule in_pool(Rule outer, Pool pool) {
    outer.pool = static_cast<std::int16_t>(pool);
    return outer;
}

// The pool of a task whose kernel has `pool`.
inline Pool pool_of(const Rule& rule, Pool pool) { return rule.pool < 0 ? pool : static_cast<Pool>(rule.pool); }

// Iterations that may be looked at to count tasks, beside those that walking pays for.
constexpr std::uint64_t looks = 1u << 20;
// No ordinal.
constexpr std::uint64_t nothing = UINT64_MAX;

// An expansion under way.
struct State {
    const Launch& launch;
    const DispatchConfig& config;
    const Sink& sink;
    // The metric of a configuration, which the program evaluates.
    Int (*metric)(const State& s, std::uint32_t expression);
    // The index of the innermost loop over each axis, 0 without one.
    std::int64_t* axis;
    // The last task of each label.
    std::uint64_t* labels;
    std::uint64_t ordinal = 0;
    std::uint64_t steps = 0;
    std::uint64_t counted = 0;
    Why bad = FaultKind::none;
    std::uint32_t word = 0;

    State(const Launch& l, const DispatchConfig& c, const Sink& k, Int (*m)(const State&, std::uint32_t),
          std::int64_t* a, std::uint64_t* b)
        : launch(l), config(c), sink(k), metric(m), axis(a), labels(b) {}

    // Names.
    std::int64_t value(std::uint32_t index) const { return launch.values[index]; }
    std::int64_t length(std::uint32_t table) const {
        return static_cast<std::int64_t>(launch.table_lengths[table]);
    }
    Int element(std::uint32_t table, Int index) const;
    Int slot(std::uint32_t index) const;

    // Notes a fault, or that there is none.
    bool check(Why why) {
        bad = why;
        return why.is_none();
    }
    // Ends the expansion because of the fault that was noted.
    bool fail(std::uint32_t at) {
        word = at;
        return false;
    }
    // Whether another iteration may be looked at to count tasks. Looking costs no more than a multiple of walking.
    bool look() { return ++counted <= looks + 16 * steps; }
    // Counts a step.
    bool tick() {
        if (sink.stop != nullptr && *sink.stop) return check(FaultKind::stopped);
        return ++steps <= max_generator_steps || check(FaultKind::steps);
    }

    // Loops.
    bool range(Loop& loop, Int lo, Int hi, Int stride);
    bool ragged(Loop& loop, std::uint32_t lengths, std::int64_t rows, Int row);
    bool sparse(Loop& loop, std::uint32_t pointers, std::uint32_t columns, Int row);

    // Ownership.
    //
    // A single AICPU leaves out nothing, so that it meets every fault and every step of an ordered scope.
    bool shared() const { return config.num_aicpus > 1; }
    Rule by_config() const;
    Rule by_config(Rule outer, std::uint32_t depth, std::int64_t variable) const;
    Rule by_key(Int key) const;
    Rule by_hash(Int key) const;
    bool mine(const Rule& rule);
    std::uint64_t next_owned(const Rule& rule, std::uint64_t from) const;
    bool may_skip(const Rule& rule) const;
    bool skips(const Rule& rule, std::uint64_t tasks) const;

    // Tasks.
    bool set(std::int64_t& to, Int from) { return check(from.bad) && ((to = from.value), true); }
    void whole(Region& region, std::uint32_t tensor, AccessMode mode, std::uint32_t rank) const;
    bool bound(Region& region, std::uint32_t dimension, Int lo, Int hi);
    bool index(Region& region, std::uint32_t dimension, Int at);
    bool sized(Region& region, std::uint32_t dimension, Int lo, Int len);
    bool stream(Task& task, std::uint32_t streams, Int key);
    bool priority(Task& task, Int key);
    void after(std::uint64_t* ordinals, std::size_t& count, std::uint32_t label) const;
    void tell(Ordered event) const {
        if (sink.ordered != nullptr) sink.ordered(sink.user, event, ordinal);
    }
};

inline Int State::element(std::uint32_t table, Int index) const {
    if (!index.ok()) return index;
    if (index.value < 0 || index.value >= length(table)) return FaultKind::table_index;
    return launch.tables[table][index.value];
}

inline Int State::slot(std::uint32_t index) const {
    std::int64_t found = 0;
    return sink.slot(sink.user, index, ordinal, &found) ? Int(found) : Int(FaultKind::slot);
}

inline bool State::range(Loop& loop, Int lo, Int hi, Int stride) {
    if (!either(lo, hi).is_none()) return check(either(lo, hi));
    if (!stride.ok()) return check(stride.bad);
    if (stride.value < 1) return check(FaultKind::step);
    loop = Loop{lo.value, stride.value, 0, nullptr};
    if (lo.value < hi.value) {
        const std::uint64_t last = static_cast<std::uint64_t>(hi.value) - static_cast<std::uint64_t>(lo.value) - 1;
        loop.trips = last / static_cast<std::uint64_t>(stride.value) + 1;
    }
    // A whole range of integers has one more iteration than can be counted; it is too long anyway.
    const bool wraps = lo.value < hi.value && loop.trips == 0;
    return check(wraps || loop.trips > max_generator_steps ? FaultKind::iterations : FaultKind::none);
}

inline bool State::ragged(Loop& loop, std::uint32_t lengths, std::int64_t rows, Int row) {
    if (!row.ok()) return check(row.bad);
    if (row.value < 0 || row.value >= rows || row.value >= length(lengths)) return check(FaultKind::row);
    return range(loop, 0, launch.tables[lengths][row.value], 1);
}

inline bool State::sparse(Loop& loop, std::uint32_t pointers, std::uint32_t columns, Int row) {
    if (!row.ok()) return check(row.bad);
    if (row.value < 0 || row.value >= length(pointers) - 1) return check(FaultKind::row);
    const std::int64_t from = launch.tables[pointers][row.value];
    const std::int64_t to = launch.tables[pointers][row.value + 1];
    if (from < 0 || to < from || to > length(columns)) return check(FaultKind::pointers);
    if (!range(loop, from, to, 1)) return false;
    loop.columns = launch.tables[columns];
    return true;
}

// Where no variable has been looked at.
inline Rule State::by_config() const {
    Rule rule;
    switch (config.policy_type) {
        case PolicyType::round_robin:
        case PolicyType::threshold: rule.kind = Rule::in_turn; break;
        case PolicyType::static_partition: rule.kind = Rule::span; break;
        case PolicyType::affinity: rule.kind = Rule::undecided; break;
    }
    return rule;
}

// Where the variable at a depth is known.
inline Rule State::by_config(Rule outer, std::uint32_t depth, std::int64_t variable) const {
    const bool decides = outer.kind == Rule::undecided && config.affinity.axis_depth == depth;
    return decides ? by_key(variable) : outer;
}

inline Rule State::by_key(Int key) const {
    Rule rule;
    if (key.ok()) {
        rule.kind = residue(key.value, config.num_aicpus) == config.my_aicpu_id ? Rule::mine : Rule::others;
    } else {
        rule.kind = Rule::fault;
        rule.bad = key.bad;
    }
    return rule;
}

inline Rule State::by_hash(Int key) const {
    if (!key.ok()) return by_key(key);
    return by_key(static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(key.value)) % config.num_aicpus));
}

// Whether the next task is this AICPU's. False as well when the rule is at fault, which is noted then.
inline bool State::mine(const Rule& rule) {
    bad = FaultKind::none;
    switch (rule.kind) {
        case Rule::mine: return true;
        case Rule::others: return false;
        // There is no variable at that depth, which stands for 0.
        case Rule::undecided: return config.my_aicpu_id == 0;
        case Rule::fault: return check(rule.bad);
        case Rule::in_turn: return ordinal % config.num_aicpus == config.my_aicpu_id;
        case Rule::span:
            return config.static_partition.task_range_start <= ordinal &&
                   ordinal < config.static_partition.task_range_end;
        case Rule::ranges:
            if (rule.num_ends == 0 || rule.ends[rule.num_ends - 1] <= ordinal) {
                return check(FaultKind::past_partition);
            }
            return next_owned(rule, ordinal) == ordinal;
    }
    return false;
}

// The first ordinal from `from` on that is this AICPU's; `nothing` when there is none. Past the last range of a
// partition every ordinal is everyone's, so that the fault is found.
inline std::uint64_t State::next_owned(const Rule& rule, std::uint64_t from) const {
    const std::uint64_t n = config.num_aicpus;
    switch (rule.kind) {
        case Rule::others: return nothing;
        case Rule::in_turn: {
            const std::uint64_t ahead = (config.my_aicpu_id + n - from % n) % n;
            return ahead > nothing - from ? nothing : from + ahead;
        }
        case Rule::span: {
            const std::uint64_t start = config.static_partition.task_range_start;
            const std::uint64_t next = from < start ? start : from;
            return next < config.static_partition.task_range_end ? next : nothing;
        }
        case Rule::ranges: {
            std::uint64_t start = 0;
            for (std::size_t r = 0; r < rule.num_ends; ++r) {
                const std::uint64_t next = from < start ? start : from;
                if (next < rule.ends[r] && r % n == config.my_aicpu_id) return next;
                start = rule.ends[r];
            }
            return from < start ? start : from;
        }
        default: return from;
    }
}

// Whether the rule may leave out a stretch of tasks.
inline bool State::may_skip(const Rule& rule) const {
    const bool decided = rule.kind != Rule::undecided && rule.kind != Rule::fault;
    return shared() && decided && rule.kind != Rule::mine;
}

// Whether none of the next `tasks` tasks is this AICPU's.
inline bool State::skips(const Rule& rule, std::uint64_t tasks) const {
    if (!may_skip(rule) || tasks > nothing - ordinal) return false;
    return tasks == 0 || next_owned(rule, ordinal) >= ordinal + tasks;
}

inline void State::whole(Region& region, std::uint32_t tensor, AccessMode mode, std::uint32_t rank) const {
    region.tensor = tensor;
    region.mode = mode;
    for (std::uint32_t d = 0; d < max_rank; ++d) {
        region.lo[d] = 0;
        region.hi[d] = d < rank ? launch.extents[tensor][d] : 1;
    }
}

inline bool State::bound(Region& region, std::uint32_t dimension, Int lo, Int hi) {
    if (!either(lo, hi).is_none()) return check(either(lo, hi));
    const std::int64_t extent = launch.extents[region.tensor][dimension];
    if (lo.value < 0 || hi.value < lo.value || extent < hi.value) return check(FaultKind::outside);
    region.lo[dimension] = static_cast<std::uint32_t>(lo.value);
    region.hi[dimension] = static_cast<std::uint32_t>(hi.value);
    return true;
}

inline bool State::index(Region& region, std::uint32_t dimension, Int at) { return sized(region, dimension, at, 1); }

// A length that leads past every extent is found to lie outside.
inline bool State::sized(Region& region, std::uint32_t dimension, Int lo, Int len) {
    if (!either(lo, len).is_none()) return check(either(lo, len));
    const Int end = lo + len;
    return bound(region, dimension, lo, end.ok() ? end : Int(len.value < 0 ? INT64_MIN : INT64_MAX));
}

inline bool State::stream(Task& task, std::uint32_t streams, Int key) {
    if (!key.ok()) return check(key.bad);
    task.stream = static_cast<std::int32_t>(residue(key.value, streams));
    return true;
}

inline bool State::priority(Task& task, Int key) {
    if (!key.ok()) return check(key.bad);
    if (key.value < INT32_MIN || key.value > INT32_MAX) return check(FaultKind::priority);
    task.priority = static_cast<std::int32_t>(key.value);
    return true;
}

inline void State::after(std::uint64_t* ordinals, std::size_t& count, std::uint32_t label) const {
    if (labels[label] == nothing) return;
    for (std::size_t i = 0; i < count; ++i) {
        if (ordinals[i] == labels[label]) return;
    }
    ordinals[count++] = labels[label];
}

// Gives a task the pool that a configuration's threshold says, if it says one.
inline bool configure(State& s, Pool& pool) {
    if (s.config.policy_type != PolicyType::threshold) return true;
    const ThresholdParams& params = s.config.threshold;
    const Int metric = s.metric(s, params.metric);
    if (!metric.ok()) return s.check(metric.bad);
    std::uint32_t level = 0;
    while (level + 1u < params.num_levels && params.thresholds[level] <= metric.value) ++level;
    const std::uint8_t policy = params.policy_per_level[level];
    if (policy == policy_pool + 0) pool = Pool::vector;
    if (policy == policy_pool + 1) pool = Pool::cube;
    if (policy == policy_pool + 2) pool = Pool::any;
    return true;
}

}  // namespace pto::wsp::backend::npu::expander
