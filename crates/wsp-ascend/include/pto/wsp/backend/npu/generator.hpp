// What emitted descriptor generators are made of: checked arithmetic, arrays of a launch, tiles and extents of axes, and
// slots of workspace.
//
// A generator is run twice: once to find the sizes of what it needs, once to hand over its tasks. Both runs come to the
// same. The first trap ends a run; until it is looked at, operations on its result give 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "task_sink.hpp"

namespace pto::wsp::backend::npu::generator {

// Why a generator ends early.
enum class Trap : std::uint8_t {
    none,
    overflow,
    division_by_zero,
    shift_range,
    lossy_conversion,
    array_index,
    loop_step,
    steps,
    rounds,
    pointers,
    tier,
    workspace,
    extent,
    tile,
    lengths,
    tasks,
    unbounded,
    row,
    partition,
    expression,
    table,
    depth,
    deadlock,
    closed,
    graph,
    stuck,
    stopped,
};

// A sentence for a trap.
inline const char* text(Trap trap) {
    switch (trap) {
        case Trap::none: return "nothing is wrong";
        case Trap::overflow: return "arithmetic overflow: a result does not fit its type";
        case Trap::division_by_zero: return "division by zero";
        case Trap::shift_range: return "a shift by fewer than 0 bits, or by as many as the type has or more";
        case Trap::lossy_conversion: return "lossy conversion: a value does not fit the type that it becomes";
        case Trap::array_index: return "an index outside of its array";
        case Trap::loop_step: return "a step of a loop below 1";
        case Trap::steps: return "the generator takes 2^28 steps without a descriptor, or more than 2 * 10^10 in all: does a loop not end?";
        case Trap::rounds: return "the condition of a loop still holds after its last round: write a larger `max`";
        case Trap::pointers: return "the row pointers of an axis decrease, or lead past its table of columns";
        case Trap::tier: return "a descriptor picks a tier that there is not";
        case Trap::workspace: return "workspace is asked for as it was not reserved, or takes more than 4 GiB";
        case Trap::extent: return "an axis has no single extent here, or ends before its start";
        case Trap::tile: return "the tile of an axis has 0 elements";
        case Trap::lengths: return "an axis is given more lengths than the first axis has indices";
        case Trap::tasks: return "the launch has more than 2^26 descriptors: does a loop not end? If all do, use larger tiles";
        case Trap::unbounded: return "stores to a tensor are not bounded by fields of descriptors, so that it has no size";
        case Trap::row: return "a row of an axis that its tables do not have";
        case Trap::partition: return "tasks lie past the last range of a static partition, or it has more ranges than there are AICPUs";
        case Trap::expression: return "an expression of the program has no value: it overflows, divides by 0, or reads outside of its table";
        case Trap::table: return "the table of tasks, or the program that makes them, is damaged: emit the package again";
        case Trap::depth: return "the depth of a channel is not from 0 to 4294967295";
        case Trap::deadlock: return "no process of a pipeline can go on: each waits for another";
        case Trap::closed: return "a process sends to a channel that is closed, takes from one without a token left, or closes it again";
        case Trap::graph: return "a condition or an argument of the task graph has no value, or a loop of it takes too many rounds";
        case Trap::stuck: return "no kernel of the task graph runs, and none can start: each waits for another";
        case Trap::stopped: return "the run was ended by what takes the tasks";
    }
    return "";
}

// Where an expression or a statement stands in the source, and its text.
struct SourcePlace {
    const char* file;
    std::uint32_t line, column;
    const char* text;
};

// A trap, and the place that it is at, where that is known.
struct Trapped {
    Trap why = Trap::none;
    const SourcePlace* place = nullptr;
};

// A sentence for it.
inline std::string text(const Trapped& trap) {
    std::string all = text(trap.why);
    if (trap.place == nullptr) return all;
    const SourcePlace& at = *trap.place;
    all += std::string(", at ") + at.file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
    return all + ": `" + at.text + "`";
}

// No word.
constexpr std::uint32_t no_word = UINT32_MAX;
// Stands for the word of the priority of a schedule.
constexpr std::uint32_t priority_word = UINT32_MAX - 1;

// The place of a word of a program: of an instruction, or of a word of an expression of it.
struct WordPlace {
    std::uint32_t word, expr;
    const SourcePlace* place;
};
struct WordPlaces {
    const WordPlace* rows;
    std::size_t count;

    // That of the word of an expression; of the instruction where it has none of its own.
    const SourcePlace* find(std::uint32_t word, std::uint32_t expr) const {
        const SourcePlace *any = nullptr, *whole = nullptr;
        for (std::size_t at = 0; at < count; ++at) {
            const WordPlace& row = rows[at];
            if (row.expr == expr && row.word == word) return row.place;
            if (row.expr == expr && row.word == no_word) any = row.place;
            if (row.expr == no_word && row.word == word) whole = row.place;
        }
        return any != nullptr ? any : whole;
    }
};

// Most descriptors of a launch, and most steps from one to the next.
constexpr std::uint64_t max_descriptors = std::uint64_t{1} << 26;
constexpr std::uint64_t max_steps_to_descriptor = std::uint64_t{1} << 28;

// Types of elements of integer arrays.
enum class IntType : std::uint8_t { i32, u32, i64, u64 };

// A read-only array of integers.
struct IntArray {
    const void* data = nullptr;
    std::uint64_t length = 0;
    IntType type = IntType::u32;

    std::int64_t low(std::uint64_t at) const {
        switch (type) {
            case IntType::i32: return static_cast<const std::int32_t*>(data)[at];
            case IntType::u32: return static_cast<const std::uint32_t*>(data)[at];
            case IntType::i64: return static_cast<const std::int64_t*>(data)[at];
            case IntType::u64: return static_cast<std::int64_t>(static_cast<const std::uint64_t*>(data)[at]);
        }
        return 0;
    }
    // Whether the element is 2^63 or more.
    bool is_huge(std::uint64_t at) const { return type == IntType::u64 && low(at) < 0; }
};

// Arithmetic as a plain run does it: what does not fit its type is a trap. `where` is the place of what is computed.
struct Checked {
    Trap trap = Trap::none;
    // The place of the trap.
    const SourcePlace* place = nullptr;

    using Where = const SourcePlace*;

    // Rounds of loops and calls since the last descriptor.
    std::uint64_t idle = 0;

    bool failed() const { return trap != Trap::none; }
    Trapped trapped() const { return {trap, place}; }

    template <typename T>
    T fail(Trap why, Where where = nullptr) {
        if (trap == Trap::none) {
            trap = why;
            place = where;
        }
        return T{};
    }

    template <typename T>
    T add(T a, T b, Where where = nullptr) {
        if constexpr (std::is_floating_point_v<T>) return a + b;
        else {
            T c{};
            return __builtin_add_overflow(a, b, &c) ? fail<T>(Trap::overflow, where) : c;
        }
    }
    template <typename T>
    T sub(T a, T b, Where where = nullptr) {
        if constexpr (std::is_floating_point_v<T>) return a - b;
        else {
            T c{};
            return __builtin_sub_overflow(a, b, &c) ? fail<T>(Trap::overflow, where) : c;
        }
    }
    template <typename T>
    T mul(T a, T b, Where where = nullptr) {
        if constexpr (std::is_floating_point_v<T>) return a * b;
        else {
            T c{};
            return __builtin_mul_overflow(a, b, &c) ? fail<T>(Trap::overflow, where) : c;
        }
    }
    template <typename T>
    bool divides(T a, T b, Where where) {
        if (b == 0) return fail<bool>(Trap::division_by_zero, where);
        if constexpr (std::is_signed_v<T>) {
            if (a == std::numeric_limits<T>::min() && b == T{-1}) return fail<bool>(Trap::overflow, where);
        }
        return true;
    }
    template <typename T>
    T div(T a, T b, Where where = nullptr) {
        if constexpr (std::is_floating_point_v<T>) return a / b;
        else return divides(a, b, where) ? T(a / b) : T{};
    }
    template <typename T>
    T rem(T a, T b, Where where = nullptr) {
        if constexpr (std::is_floating_point_v<T>) return std::fmod(a, b);
        else {
            if constexpr (std::is_signed_v<T>) {
                if (b == T{-1}) return T{};
            }
            return divides(a, b, where) ? T(a % b) : T{};
        }
    }
    template <typename T>
    T ceil_div(T a, T b, Where where = nullptr) {
        if constexpr (std::is_floating_point_v<T>) return std::ceil(a / b);
        else {
            if (!divides(a, b, where)) return T{};
            const bool up = a % b != 0 && (a < T{}) == (b < T{});
            return T(a / b + (up ? 1 : 0));
        }
    }
    // NaN as soon as one operand is one; of two equal zeros the first.
    template <typename T>
    T min(T a, T b) {
        return b < a || b != b ? b : a;
    }
    template <typename T>
    T max(T a, T b) {
        return b > a || b != b ? b : a;
    }
    template <typename T>
    bool shifts(T by, Where where) {
        if (by < T{} || static_cast<std::uint64_t>(by) >= 8 * sizeof(T)) return fail<bool>(Trap::shift_range, where);
        return true;
    }
    template <typename T>
    T shl(T a, T by, Where where = nullptr) {
        if (!shifts(by, where)) return T{};
        const T c = static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << by);
        return (c >> by) == a ? c : fail<T>(Trap::overflow, where);
    }
    template <typename T>
    T shr(T a, T by, Where where = nullptr) {
        return shifts(by, where) ? T(a >> by) : T{};
    }
    template <typename T>
    T neg(T a, Where where = nullptr) {
        if constexpr (std::is_floating_point_v<T>) return -a;
        else return sub(T{}, a, where);
    }

    // The step of a loop.
    template <typename T>
    T at_least_1(T step, Where where = nullptr) {
        return step < T{1} ? fail<T>(Trap::loop_step, where) : step;
    }

    // How many elements an axis has, and those of its tile.
    std::uint32_t extent(std::uint32_t start, std::uint32_t end, Where where = nullptr) {
        return end < start ? fail<std::uint32_t>(Trap::extent, where) : end - start;
    }
    std::uint32_t tile(std::uint32_t elements, Where where = nullptr) {
        return elements == 0 ? fail<std::uint32_t>(Trap::tile, where) : elements;
    }

    // Integers must fit; floats lose their fraction and must then fit.
    template <typename To, typename From>
    To cast(From a, Where where = nullptr) {
        if constexpr (std::is_same_v<To, bool>) return a != From{};
        else if constexpr (std::is_floating_point_v<To>) return static_cast<To>(a);
        else if constexpr (std::is_floating_point_v<From>) {
            const double whole = std::trunc(static_cast<double>(a));
            const double above = std::ldexp(1.0, std::numeric_limits<To>::digits);
            const double below = std::is_signed_v<To> ? -above : 0.0;
            return whole >= below && whole < above ? static_cast<To>(whole) : fail<To>(Trap::lossy_conversion, where);
        } else {
            const To c = static_cast<To>(a);
            const bool same_sign = (c < To{}) == (a < From{});
            return same_sign && static_cast<From>(c) == a ? c : fail<To>(Trap::lossy_conversion, where);
        }
    }

    template <typename T>
    T load(const IntArray& array, std::uint64_t at, Where where = nullptr) {
        if (at >= array.length) return fail<T>(Trap::array_index, where);
        if (array.is_huge(at)) return cast<T>(static_cast<std::uint64_t>(array.low(at)), where);
        return cast<T>(array.low(at), where);
    }
    // The largest of the first `n` elements, 0 of none.
    template <typename T>
    T array_max(const IntArray& array, std::uint64_t n, Where where = nullptr) {
        if (n > array.length) return fail<T>(Trap::array_index, where);
        T most{};
        for (std::uint64_t at = 0; at < n; ++at) {
            const T value = load<T>(array, at, where);
            most = at == 0 || value > most ? value : most;
        }
        return most;
    }
    // The sum of the first `n` elements.
    std::uint64_t array_sum(const IntArray& array, std::uint64_t n, Where where = nullptr) {
        if (n > array.length) return fail<std::uint64_t>(Trap::array_index, where);
        std::uint64_t sum = 0;
        for (std::uint64_t at = 0; at < n && !failed(); ++at) sum = add(sum, load<std::uint64_t>(array, at, where), where);
        return sum;
    }
};

// Two operands. In braces the left one is computed first, so that its trap is the one that is kept.
template <typename T>
struct Both {
    T left, right;
};

// What `made` makes of them.
template <typename T, typename F>
auto in_order(Both<T> of, F made) {
    return made(of.left, of.right);
}

// The next value of the variable of a loop, or its end.
template <typename T>
T advance(T at, T end, T step) {
    using U = std::make_unsigned_t<T>;
    const U left = static_cast<U>(end) - static_cast<U>(at);
    return left <= static_cast<U>(step) ? end : static_cast<T>(at + step);
}

// A bound of a region that cannot be evaluated bounds nothing, and a guard excludes nothing.
template <typename F>
bool guard(F condition) {
    Checked trial;
    const bool holds = condition(trial);
    return trial.failed() || holds;
}
template <typename F>
std::uint32_t bound(std::uint32_t otherwise, F value) {
    Checked trial;
    const std::uint32_t found = value(trial);
    return trial.failed() ? otherwise : found;
}

// The slots of workspace of a launch. Slots of one key lie side by side, whatever the order of generation.
class Workspace {
public:
    std::uint64_t bytes() const { return bytes_; }

    // The offset of a slot.
    std::uint32_t slot(Checked& s, std::vector<std::uint32_t> key, std::uint32_t slot_bytes, std::uint32_t count,
                       std::uint32_t index, const SourcePlace* where) {
        if (s.failed()) return 0;
        if (index >= count) return s.fail<std::uint32_t>(Trap::workspace, where);
        if (slot_bytes == 0) return 0;
        const auto [at, is_new] = held_.try_emplace(std::move(key), Held{bytes_, slot_bytes, count});
        if (is_new) {
            const std::uint64_t more = std::uint64_t{slot_bytes} * count;
            if (bytes_ + more > UINT32_MAX) return s.fail<std::uint32_t>(Trap::workspace, where);
            bytes_ += more;
        }
        const Held& held = at->second;
        if (held.slot_bytes != slot_bytes || held.count != count) return s.fail<std::uint32_t>(Trap::workspace, where);
        return static_cast<std::uint32_t>(held.base + std::uint64_t{index} * slot_bytes);
    }

private:
    struct Held {
        std::uint64_t base;
        std::uint32_t slot_bytes;
        std::uint32_t count;
    };
    std::map<std::vector<std::uint32_t>, Held> held_;
    std::uint64_t bytes_ = 0;
};

// What a program says of an axis.
struct Axis {
    // Elements, where a launch decides: else `dynamic`.
    std::uint32_t extent = 0;
    bool dynamic = true;
    // Elements of a tile: of a fixed size, chosen, or 1 of an axis without tiles.
    enum class Tiles : std::uint8_t { none, fixed, automatic } tiles = Tiles::none;
    std::uint32_t fixed = 1;
    // The first index, and most last elements.
    std::uint32_t start = 0;
    std::uint32_t last = UINT32_MAX;
};

// The search of FlashInfer's decode planner: the smallest chunk, not below 256, for which all chunks fit the cores at
// once; the longest length where none does.
inline std::uint32_t binary_search_chunk_size(const std::vector<std::uint32_t>& lengths, std::uint64_t heads,
                                              std::uint32_t cores) {
    std::uint32_t low = 256, high = 0;
    for (const std::uint32_t n : lengths) high = std::max(high, n);
    while (low < high) {
        const std::uint32_t mid = low + (high - low) / 2;
        long double blocks = 0;
        for (const std::uint32_t n : lengths) blocks += n / mid + (n % mid != 0 ? 1 : 0);
        if (blocks * heads > cores) low = mid + 1;
        else high = mid;
    }
    return low;
}

// The tile with which a run is expected to take the least time: of 256, its doubles, the longest length, and the
// smallest for which all items fit the cores. What a task costs beside its elements, and its part of a merge, are
// counted in elements.
inline std::uint32_t automatic_tile(const std::vector<std::uint32_t>& lengths, std::uint64_t heads, std::uint32_t cores) {
    constexpr std::uint64_t task = 64, merge = 32;
    std::uint32_t longest = 256;
    for (const std::uint32_t n : lengths) longest = std::max(longest, n);
    const auto time = [&](std::uint32_t tile) {
        unsigned __int128 elements = 0, items = 0, parts = 0;
        for (const std::uint32_t n : lengths) {
            const std::uint64_t count = n / tile + (n % tile != 0 ? 1 : 0);
            elements += n;
            items += count;
            parts += count > 1 ? count : 0;
        }
        const std::uint64_t cuts = longest / tile + (longest % tile != 0 ? 1 : 0);
        const unsigned __int128 last = cuts > 1 ? 2 * merge * cuts : 0;
        const unsigned __int128 largest = std::min(longest, tile) + task;
        if (items * heads <= cores) return 2 * largest + last;
        const unsigned __int128 work = (elements + task * items + merge * parts) * heads;
        const unsigned __int128 each = std::max(cores, 1u);
        return 2 * ((work + each - 1) / each) + largest + last;
    };
    std::vector<std::uint32_t> candidates;
    for (std::uint64_t tile = 256; tile < longest; tile *= 2) candidates.push_back(static_cast<std::uint32_t>(tile));
    candidates.push_back(longest);
    candidates.push_back(binary_search_chunk_size(lengths, heads, cores));
    std::uint32_t best = candidates[0];
    for (const std::uint32_t tile : candidates) {
        if (time(tile) < time(best) || (time(tile) == time(best) && tile > best)) best = tile;
    }
    return best;
}

// Element `i` is the sum of the first `i` elements.
inline std::vector<std::uint64_t> starts(Checked& s, const IntArray& of, std::uint32_t last) {
    std::vector<std::uint64_t> sums{0};
    for (std::uint64_t at = 0; at < of.length; ++at) {
        sums.push_back(sums.back() + std::min(s.load<std::uint32_t>(of, at), last));
    }
    return sums;
}

// Indices by falling element, equal ones by rising index.
inline std::vector<std::uint32_t> longest_first(Checked& s, const IntArray& of, std::uint32_t last) {
    std::vector<std::uint32_t> lengths, order;
    for (std::uint64_t at = 0; at < of.length; ++at) {
        lengths.push_back(std::min(s.load<std::uint32_t>(of, at), last));
        order.push_back(static_cast<std::uint32_t>(at));
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return lengths[a] > lengths[b]; });
    return order;
}

// What a generator asks for, and what becomes of its descriptors.
class Planner : public Checked {
public:
    Planner(const std::vector<Axis>& axes, std::uint32_t cores) : axes_(axes), cores_(cores), set_(axes.size()) {}

    // Goes on with the generator of another stage, over these axes.
    void enter(std::uint32_t stage, std::vector<std::uint32_t> space) {
        stage_ = stage;
        space_ = std::move(space);
        for (Set& set : set_) set.has_extent = false;
        idle = 0;
    }

    std::uint32_t max_blocks() const { return cores_; }
    const Workspace& workspace() const { return workspace_; }

    // One round of a loop or one call: false when the generator is to end.
    bool step(Where where = nullptr) {
        if (++idle >= max_steps_to_descriptor || ++steps_ > max_generator_steps) fail<bool>(Trap::steps, where);
        return !failed();
    }

    // For a function that is called.
    Planner& called(Where where = nullptr) {
        step(where);
        return *this;
    }

    std::uint32_t alloc_ws(std::uint32_t tiers, const std::uint32_t* key, std::size_t length, std::uint32_t slot_bytes,
                           std::uint32_t count, std::uint32_t index, Where where = nullptr) {
        std::vector<std::uint32_t> all{stage_, tiers};
        all.insert(all.end(), key, key + length);
        return workspace_.slot(*this, std::move(all), slot_bytes, count, index, where);
    }

    void set_tile(std::uint32_t axis, std::uint32_t size, Where where = nullptr) {
        if (failed()) return;
        if (size == 0) {
            fail<bool>(Trap::tile, where);
            return;
        }
        set_[axis].tile = size;
        check_counts(where);
    }

    void set_extent(std::uint32_t axis, std::uint32_t extent, Where where = nullptr) {
        if (failed()) return;
        set_[axis].has_extent = true;
        set_[axis].single = true;
        set_[axis].extents = {std::min(extent, axes_[axis].last)};
        check_counts(where);
    }

    void set_extents(std::uint32_t axis, const IntArray& extents, Where where = nullptr) {
        if (failed()) return;
        std::vector<std::uint32_t> all;
        for (std::uint64_t at = 0; at < extents.length; ++at) {
            all.push_back(std::min(load<std::uint32_t>(extents, at, where), axes_[axis].last));
        }
        set_[axis].has_extent = true;
        set_[axis].single = false;
        set_[axis].extents = std::move(all);
        check_counts(where);
    }

    std::uint32_t axis_extent(std::uint32_t axis, Where where = nullptr) {
        const Set& set = set_[axis];
        if (set.has_extent && set.single) return set.extents[0];
        if (set.has_extent || axes_[axis].dynamic) return fail<std::uint32_t>(Trap::extent, where);
        return axes_[axis].extent;
    }

    // As set, as declared, or chosen now for these lengths where nothing else says how long the axis is.
    std::uint32_t axis_tile(std::uint32_t axis, const IntArray* lengths, Where where = nullptr) {
        if (failed()) return 1;
        if (set_[axis].tile == 0) {
            const Axis& of = axes_[axis];
            switch (of.tiles) {
                case Axis::Tiles::none: set_tile(axis, 1, where); break;
                case Axis::Tiles::fixed: set_tile(axis, of.fixed, where); break;
                case Axis::Tiles::automatic: set_tile(axis, chosen(axis, lengths, where), where); break;
            }
        }
        return std::max(set_[axis].tile, 1u);
    }

    // How many iterations an axis has, where its elements are known at launch.
    std::uint32_t iterations(std::uint32_t axis) {
        const std::uint32_t tile = axes_[axis].tiles == Axis::Tiles::none ? 1 : axis_tile(axis, nullptr);
        return ceil_div(axes_[axis].extent, tile);
    }

private:
    struct Set {
        bool has_extent = false;
        bool single = false;
        std::uint32_t tile = 0;
        std::vector<std::uint32_t> extents;
    };

    std::uint32_t chosen(std::uint32_t axis, const IntArray* lengths, Where where) {
        std::vector<std::uint32_t> all;
        if (set_[axis].has_extent) all = set_[axis].extents;
        else if (!axes_[axis].dynamic) all = {axes_[axis].extent};
        else if (lengths != nullptr) {
            for (std::uint64_t at = 0; at < lengths->length; ++at) all.push_back(load<std::uint32_t>(*lengths, at, where));
        } else return fail<std::uint32_t>(Trap::extent, where);
        std::uint64_t heads = 1;
        for (std::size_t at = 1; at < space_.size(); ++at) {
            const Axis& of = axes_[space_[at]];
            if (space_[at] == axis || of.dynamic) continue;
            heads = of.extent != 0 && heads > UINT64_MAX / of.extent ? UINT64_MAX : heads * of.extent;
        }
        return automatic_tile(all, heads, cores_);
    }

    // Lengths that no index of the first axis has would never be looked at.
    void check_counts(Where where) {
        if (space_.empty()) return;
        const std::uint32_t first = space_[0];
        const Axis& of = axes_[first];
        const Set& set = set_[first];
        std::uint64_t end = 0;
        if (set.has_extent && set.single) end = set.extents[0];
        else if (!of.dynamic) end = of.extent;
        else return;
        const std::uint32_t fixed = of.tiles == Axis::Tiles::fixed ? of.fixed : 0;
        const std::uint32_t tile = set.tile != 0 ? set.tile : fixed;
        if (of.tiles == Axis::Tiles::none) end += of.start;
        else if (tile != 0) end = end / tile + (end % tile != 0 ? 1 : 0);
        else return;
        for (std::size_t at = 1; at < space_.size(); ++at) {
            const Set& other = set_[space_[at]];
            if (other.has_extent && !other.single && other.extents.size() > end) fail<bool>(Trap::lengths, where);
        }
    }

    const std::vector<Axis>& axes_;
    std::uint32_t cores_;
    std::uint32_t stage_ = 0;
    std::vector<std::uint32_t> space_;
    std::vector<Set> set_;
    Workspace workspace_;
    std::uint64_t steps_ = 0;
};

// A number as a word of a task.
template <typename T>
std::uint64_t word(T value) {
    std::uint64_t bits = 0;
    if constexpr (std::is_floating_point_v<T>) std::memcpy(&bits, &value, sizeof value);
    else bits = static_cast<std::uint64_t>(value);
    return bits;
}

}  // namespace pto::wsp::backend::npu::generator
