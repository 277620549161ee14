// Descriptor generators as code that every AICPU interprets: what emitted functions are replaced by where a package has the
// bytecode of a program of spaces. Arithmetic, axes, tiles and workspace are those of emitted functions, from `generator.hpp`.
//
// Code is words of 32 bits: an instruction is its operation, its type (bits 8-15) and the type that a conversion begins with
// (bits 16-23), and words of operands. Values are 64 bits on a stack; a function has variables, the first of which are what it
// is given. Nothing is trusted: what is no code ends the run.
#pragma once

#include "launch.hpp"

namespace pto::wsp::backend::npu::code {

// What instructions do. Operands of the stack stand in parentheses, words that follow in brackets.
enum class Op : std::uint8_t {
    halt,
    constant,     // [low, high]
    parameter,    // [number]
    local,        // [number]
    set,          // (value) [number]
    no,           // (value)
    neg,          // (value)
    add,          // (a, b), as all of two operands
    sub,
    mul,
    div,
    rem,
    ceil_div,
    min,
    max,
    shl,
    shr,
    bit_and,
    bit_or,
    bit_xor,
    lt,
    le,
    gt,
    ge,
    eq,
    ne,
    cast,         // (value)
    math,         // (value) [function]
    load,         // (array, index)
    array_max,    // (array, count)
    array_sum,    // (array, count)
    array_len,    // (array)
    jump,         // [to]
    jump_zero,    // (value) [to]
    step,         // one step of a loop
    at_least_1,   // (step)
    advance,      // (variable, end, step)
    call,         // (arguments) [function]
    result,       // (value): ends a function with it
    leave,        // ends a function without one
    no_tier,      // no tier takes a value
    alloc,        // (count, index, key, bytes) [tiers, words of the key]
    max_blocks,
    axis_extent,  // [axis]
    axis_tile,    // [axis, array of lengths or all ones]
    set_tile,     // (elements) [axis]
    set_extent,   // (elements) [axis]
    set_extents,  // (array) [axis]
    enter,        // [stage, count, axes]
    emit,         // (fields, priority) [descriptor]
    fence,
    count,
};

enum class Type : std::uint8_t { boolean, i32, u32, i64, u64, f32, f64 };

struct Function {
    std::uint32_t entry, params, locals;
};

// The generators of a program.
struct Program {
    const std::uint32_t* words;
    std::size_t num_words;
    const Function* functions;
    std::size_t num_functions;
    // Words of each descriptor.
    const std::uint32_t* fields;
    std::size_t num_descriptors;
    // Where instructions stand in the source.
    WordPlaces places;
};

// What a launch gives them.
struct Given {
    const std::uint64_t* params;
    std::size_t num_params;
    const IntArray* arrays;
    std::size_t num_arrays;
};

// Most values on the stack, variables and calls under way.
constexpr std::size_t max_values = std::size_t{1} << 16;

template <class Launch, class Out>
class Machine {
public:
    Machine(const Program& program, const Given& given, const Launch& l, Planner& s, Out& out)
        : program_(program), given_(given), l_(l), s_(s), out_(out) {}

    // Runs from the first word to the end, or to the first trap.
    void run() {
        stack_.resize(max_values);
        std::size_t began = 0;
        while (!s_.failed() && !done_) {
            began = at_;
            instruction();
        }
        if (s_.failed()) s_.place = program_.places.find(static_cast<std::uint32_t>(began), generator::no_word);
    }

private:
    struct Frame {
        std::size_t back, base;
    };

    void damaged() { s_.fail<bool>(Trap::table); }

    std::uint32_t word() {
        if (at_ < program_.num_words) return program_.words[at_++];
        damaged();
        return 0;
    }
    void push(std::uint64_t value) {
        if (top_ < max_values) stack_[top_++] = value;
        else damaged();
    }
    std::uint64_t pop() {
        if (top_ > 0) return stack_[--top_];
        damaged();
        return 0;
    }
    template <class T>
    T take() {
        const std::uint64_t bits = pop();
        if constexpr (std::is_floating_point_v<T>) {
            T value{};
            std::memcpy(&value, &bits, sizeof value);
            return value;
        } else return static_cast<T>(bits);
    }
    template <class T>
    void give(T value) {
        push(generator::word(value));
    }
    std::uint64_t* local() {
        const std::size_t at = base_ + word();
        if (at < locals_.size()) return &locals_[at];
        damaged();
        return nullptr;
    }
    IntArray array(std::uint64_t at) {
        if (at < given_.num_arrays) return given_.arrays[at];
        damaged();
        return {};
    }
    std::uint32_t axis() {
        const std::uint32_t at = word();
        if (at < l_.axes.size()) return at;
        damaged();
        return 0;
    }
    void go(std::size_t to) {
        // Loops of code have a step each time round: what goes round without one is damaged.
        if (to <= at_ && ++rounds_ > 2 * steps_ + 1) damaged();
        at_ = to;
    }

    // Calls `f` with a value of the type.
    template <class F>
    void integer(Type type, F f) {
        switch (type) {
            case Type::i32: return f(std::int32_t{});
            case Type::u32: return f(std::uint32_t{});
            case Type::i64: return f(std::int64_t{});
            case Type::u64: return f(std::uint64_t{});
            default: return damaged();
        }
    }
    template <class F>
    void real(Type type, F f) {
        if (type == Type::f32) return f(float{});
        if (type == Type::f64) return f(double{});
        damaged();
    }
    template <class F>
    void number(Type type, F f) {
        if (type == Type::f32 || type == Type::f64) real(type, f);
        else integer(type, f);
    }
    template <class F>
    void any(Type type, F f) {
        if (type == Type::boolean) f(bool{});
        else number(type, f);
    }
    // An operation on two values of one type.
    template <class T, class F>
    void two(T, F f) {
        const T b = take<T>();
        const T a = take<T>();
        give(f(a, b));
    }

    void instruction() {
        const std::uint32_t head = word();
        const auto type = static_cast<Type>(head >> 8 & 0xFF);
        if ((head & 0xFF) >= static_cast<std::uint32_t>(Op::count)) return damaged();
        const auto op = static_cast<Op>(head & 0xFF);
        if (op >= Op::add && op <= Op::ne) return binary(op, type);
        switch (op) {
            case Op::halt: done_ = true; return;
            case Op::constant: {
                const std::uint64_t low = word();
                return push(low | std::uint64_t{word()} << 32);
            }
            case Op::parameter: {
                const std::uint32_t at = word();
                if (at < given_.num_params) push(given_.params[at]);
                else damaged();
                return;
            }
            case Op::local:
                if (const std::uint64_t* value = local()) push(*value);
                return;
            case Op::set:
                if (std::uint64_t* value = local()) *value = pop();
                return;
            case Op::no: return give(!take<bool>());
            case Op::neg: return number(type, [&](auto t) { give(s_.neg(take<decltype(t)>())); });
            case Op::cast: return convert(static_cast<Type>(head >> 16 & 0xFF), type);
            case Op::math: return real(type, [&](auto t) { give(function(take<decltype(t)>())); });
            case Op::jump: return go(word());
            case Op::jump_zero: {
                const std::uint32_t to = word();
                if (pop() == 0) go(to);
                return;
            }
            case Op::step:
                ++steps_;
                s_.step();
                return;
            case Op::at_least_1: return integer(type, [&](auto t) { give(s_.at_least_1(take<decltype(t)>())); });
            case Op::advance:
                return integer(type, [&](auto t) {
                    using T = decltype(t);
                    const T step = take<T>(), end = take<T>(), value = take<T>();
                    // Code that is not damaged advances what is below its end, by 1 or more.
                    if (value < end && step > 0) give(generator::advance(value, end, step));
                    else damaged();
                });
            case Op::call: return call();
            case Op::result: {
                const std::uint64_t value = pop();
                leave();
                return push(value);
            }
            case Op::leave: return leave();
            default: return launch(op, type);
        }
    }

    void binary(Op op, Type type) {
        const auto compares = [&](auto of) { any(type, [&](auto t) { two(t, of); }); };
        const auto bits = [&](auto of) { integer(type, [&](auto t) { two(t, of); }); };
        const auto numbers = [&](auto of) { number(type, [&](auto t) { two(t, of); }); };
        switch (op) {
            case Op::add: return numbers([&](auto a, auto b) { return s_.add(a, b); });
            case Op::sub: return numbers([&](auto a, auto b) { return s_.sub(a, b); });
            case Op::mul: return numbers([&](auto a, auto b) { return s_.mul(a, b); });
            case Op::div: return numbers([&](auto a, auto b) { return s_.div(a, b); });
            case Op::rem: return numbers([&](auto a, auto b) { return s_.rem(a, b); });
            case Op::ceil_div: return numbers([&](auto a, auto b) { return s_.ceil_div(a, b); });
            case Op::min: return numbers([&](auto a, auto b) { return s_.min(a, b); });
            case Op::max: return numbers([&](auto a, auto b) { return s_.max(a, b); });
            case Op::shl: return bits([&](auto a, auto b) { return s_.shl(a, b); });
            case Op::shr: return bits([&](auto a, auto b) { return s_.shr(a, b); });
            case Op::bit_and: return bits([](auto a, auto b) { return a & b; });
            case Op::bit_or: return bits([](auto a, auto b) { return a | b; });
            case Op::bit_xor: return bits([](auto a, auto b) { return a ^ b; });
            case Op::lt: return compares([](auto a, auto b) { return a < b; });
            case Op::le: return compares([](auto a, auto b) { return a <= b; });
            case Op::gt: return compares([](auto a, auto b) { return a > b; });
            case Op::ge: return compares([](auto a, auto b) { return a >= b; });
            case Op::eq: return compares([](auto a, auto b) { return a == b; });
            default: return compares([](auto a, auto b) { return a != b; });
        }
    }

    void convert(Type from, Type to) {
        any(from, [&](auto a) {
            const auto value = take<decltype(a)>();
            any(to, [&](auto b) { give(s_.template cast<decltype(b)>(value)); });
        });
    }

    template <class T>
    T function(T value) {
        switch (word()) {
            case 0: return std::exp(value);
            case 1: return std::exp2(value);
            case 2: return std::log(value);
            case 3: return std::log2(value);
            case 4: return std::sqrt(value);
            case 5: return std::fabs(value);
            case 6: return std::sin(value);
            case 7: return std::cos(value);
            default: damaged(); return value;
        }
    }

    void call() {
        const std::uint32_t at = word();
        if (at >= program_.num_functions) return damaged();
        // The first is a generator, which nothing calls.
        if (!frames_.empty()) s_.step();
        const Function& of = program_.functions[at];
        const std::size_t base = locals_.size();
        if (of.params > of.locals || base + of.locals > max_values || frames_.size() >= max_values) return damaged();
        locals_.resize(base + of.locals, 0);
        for (std::size_t param = of.params; param-- > 0;) locals_[base + param] = pop();
        frames_.push_back({at_, base_});
        base_ = base;
        at_ = of.entry;
    }
    void leave() {
        if (frames_.empty()) return damaged();
        locals_.resize(base_);
        at_ = frames_.back().back;
        base_ = frames_.back().base;
        frames_.pop_back();
    }

    // What generators ask of a launch, and their descriptors.
    void launch(Op op, Type type) {
        switch (op) {
            case Op::load: {
                const std::uint64_t index = pop();
                const IntArray of = array(pop());
                return any(type, [&](auto t) { give(s_.template load<decltype(t)>(of, index)); });
            }
            case Op::array_max: {
                const std::uint64_t n = pop();
                const IntArray of = array(pop());
                return any(type, [&](auto t) { give(s_.template array_max<decltype(t)>(of, n)); });
            }
            case Op::array_sum: {
                const std::uint64_t n = pop();
                return push(s_.array_sum(array(pop()), n));
            }
            case Op::array_len: {
                const std::uint64_t length = array(pop()).length;
                return any(type, [&](auto t) { give(s_.template cast<decltype(t)>(length)); });
            }
            case Op::no_tier: return push(s_.fail<std::uint32_t>(Trap::tier));
            case Op::alloc: return alloc();
            case Op::max_blocks: return push(s_.max_blocks());
            case Op::axis_extent: return push(s_.axis_extent(axis()));
            case Op::axis_tile: {
                const std::uint32_t of = axis(), lengths = word();
                const IntArray all = lengths == UINT32_MAX ? IntArray{} : array(lengths);
                return push(s_.axis_tile(of, lengths == UINT32_MAX ? nullptr : &all));
            }
            case Op::set_tile: return s_.set_tile(axis(), take<std::uint32_t>());
            case Op::set_extent: return s_.set_extent(axis(), take<std::uint32_t>());
            case Op::set_extents: {
                const std::uint32_t of = axis();
                return s_.set_extents(of, array(pop()));
            }
            case Op::enter: return enter();
            case Op::emit: return emit();
            case Op::fence: return out_.fence(s_);
            default: return damaged();
        }
    }

    void alloc() {
        const std::uint32_t tiers = word(), length = word();
        const auto bytes = take<std::uint32_t>();
        if (length > top_) return damaged();
        std::vector<std::uint32_t> key(length);
        for (std::size_t at = length; at-- > 0;) key[at] = take<std::uint32_t>();
        const auto index = take<std::uint32_t>(), count = take<std::uint32_t>();
        push(s_.alloc_ws(tiers, key.data(), length, bytes, count, index));
    }

    void enter() {
        const std::uint32_t stage = word(), length = word();
        if (length > l_.axes.size()) return damaged();
        std::vector<std::uint32_t> space(length);
        for (std::uint32_t& of : space) of = axis();
        s_.enter(stage, std::move(space));
    }

    void emit() {
        const std::uint32_t descriptor = word();
        const auto priority = take<std::int32_t>();
        if (descriptor >= program_.num_descriptors) return damaged();
        fields_.assign(program_.fields[descriptor] + std::size_t{1}, 0);
        for (std::size_t at = program_.fields[descriptor]; at-- > 0;) fields_[at] = take<std::uint32_t>();
        if (!s_.failed()) out_.emit(l_, s_, descriptor, fields_.data(), priority);
    }

    const Program program_;
    const Given& given_;
    const Launch& l_;
    Planner& s_;
    Out& out_;
    std::size_t at_ = 0, base_ = 0, top_ = 0;
    std::uint64_t rounds_ = 0, steps_ = 0;
    bool done_ = false;
    std::vector<std::uint64_t> stack_, locals_;
    std::vector<Frame> frames_;
    std::vector<std::uint32_t> fields_;
};

// Runs the generators.
template <class Launch, class Out>
void run(const Program& program, const Given& given, const Launch& l, Planner& s, Out& out) {
    Machine<Launch, Out>(program, given, l, s, out).run();
}

}  // namespace pto::wsp::backend::npu::code
