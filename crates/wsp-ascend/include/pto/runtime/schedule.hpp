// Words of schedules: what PTO_AFFINITY, PTO_ORDER and PTO_SPLIT of a program are given, and the scopes of its gates.
#pragma once

#include <cstdint>

#include "../wsp/version.hpp"

namespace pto::runtime {

// On which cores tasks of an axis run.
enum class Affinity : std::uint8_t { core_group = 0, core_local = 1, spread = 2 };

enum class OrderKind : std::uint8_t {
    sequential = 0,
    sequential_strict = 1,
    parallel = 2,
    interleaved = 3,
    blocked = 4,
    longest_first = 5,
};

// In which order values of an axis are issued. `count` is at least 1 where the kind has one, and 0 elsewhere.
struct Order {
    OrderKind kind;
    std::uint32_t count;
};

enum class SplitKind : std::uint8_t { whole = 0, fixed = 1, balanced = 2 };

// How a dynamic axis is cut into items. `elements` are those of an item, or between two places where a cut may be.
struct Split {
    SplitKind kind;
    std::uint32_t elements;
};

// A split that also stands without its number.
struct BalancedSplit : Split {
    constexpr Split operator()(std::uint32_t align) const { return {SplitKind::balanced, align}; }
};

// Which tasks a gate counts together.
enum class GateScope : std::uint8_t { global = 0, per_stream = 1, per_pool = 2 };

}  // namespace pto::runtime

// Work of one value of the axis stays on one group of cores, or on one core, or goes all over the cores.
constexpr pto::runtime::Affinity PTO_CORE_GROUP = pto::runtime::Affinity::core_group;
constexpr pto::runtime::Affinity PTO_CORE_LOCAL = pto::runtime::Affinity::core_local;
constexpr pto::runtime::Affinity PTO_SPREAD = pto::runtime::Affinity::spread;

// Values are issued in order; each only after the one before is complete; in any order; the longest first.
constexpr pto::runtime::Order PTO_SEQUENTIAL{pto::runtime::OrderKind::sequential, 0};
constexpr pto::runtime::Order PTO_SEQUENTIAL_STRICT{pto::runtime::OrderKind::sequential_strict, 0};
constexpr pto::runtime::Order PTO_PARALLEL{pto::runtime::OrderKind::parallel, 0};
constexpr pto::runtime::Order PTO_LONGEST_FIRST{pto::runtime::OrderKind::longest_first, 0};
// Groups of `count` values, an item of each in turn; or all values in turn, `count` items of each.
constexpr pto::runtime::Order PTO_INTERLEAVED(std::uint32_t count) { return {pto::runtime::OrderKind::interleaved, count}; }
constexpr pto::runtime::Order PTO_BLOCKED(std::uint32_t count) { return {pto::runtime::OrderKind::blocked, count}; }

// One item; items of so many elements; items that are shares of equal cores, cut at multiples of 16 elements or of so many.
constexpr pto::runtime::Split PTO_WHOLE{pto::runtime::SplitKind::whole, 0};
constexpr pto::runtime::Split PTO_FIXED(std::uint32_t elements) { return {pto::runtime::SplitKind::fixed, elements}; }
constexpr pto::runtime::BalancedSplit PTO_BALANCED{{pto::runtime::SplitKind::balanced, 16}};

// A gate counts the tasks of each pool by itself.
constexpr pto::runtime::GateScope PTO_PER_POOL = pto::runtime::GateScope::per_pool;
