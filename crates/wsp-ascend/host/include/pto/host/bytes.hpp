// Bytes of a memory or a tensor, each with who touched it last and whether it holds a value.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "clock.hpp"

namespace pto::host {

// Bytes from one up to another, which is not among them.
struct Span {
    uint32_t first, end;

    bool holds(const Span &other) const { return first <= other.first && other.end <= end; }
    bool meets(const Span &other) const { return first < other.end && other.first < end; }
    void say(std::string &text) const { host::say(text, {first, "..", end}); }
};

// An access of an instruction: what the states of bytes refer to by number.
struct Access {
    Stamp run;
    // The number of the instruction in its kernel, from 1 on, its name, and where the kernel has it.
    uint32_t instruction;
    const char *name;
    Site site;
    // The bytes of the tile that it is made through; those of the whole tensor for tensors.
    Span through;
    // The buffer of the tile, where the kernel says it, else 0.
    uint32_t buffer;

    PTO_HOST_CODE void say(std::string &text) const {
        host::say(text, {"instruction ", instruction, " ", name, " (", site, ") on ", name_of(run.pipe())});
    }
};

// All accesses of the running kernel.
class Log {
public:
    // Forgets all accesses; numbers go on, so that those in states of bytes are known to be older.
    PTO_HOST_CODE void clear() {
        base_ += static_cast<uint32_t>(all_.size());
        all_.clear();
    }
    PTO_HOST_CODE uint32_t add(const Access &access) {
        all_.push_back(access);
        return base_ + static_cast<uint32_t>(all_.size()) - 1;
    }
    // Null for accesses of earlier kernels.
    const Access *find(uint32_t number) const { return number < base_ ? nullptr : &all_[number - base_]; }
    // Whether numbers run out soon, and states have to be forgotten.
    bool is_full() const { return base_ > 0x40000000U; }
    void restart() { base_ = 1; }

private:
    uint32_t base_ = 1;
    std::vector<Access> all_;
};

// Whether all numbers of a part are the first one, which is what most accesses find: comparing a part with itself one further costs less than a loop.
PTO_HOST_CODE bool are_one(const uint32_t *numbers, Span part) {
    const uint32_t others = part.end - part.first - 1;
    return std::memcmp(numbers + part.first, numbers + part.first + 1, others * sizeof(uint32_t)) == 0;
}

// Gives each byte of a part a number: first one, then as many as there are, which costs less than a loop.
PTO_HOST_CODE void fill(uint32_t *numbers, Span part, uint32_t number) {
    const uint32_t count = part.end - part.first;
    uint32_t *first = numbers + part.first;
    first[0] = number;
    for (uint32_t done = 1; done < count; done *= 2) {
        std::memcpy(first + done, first, (done < count - done ? done : count - done) * sizeof(uint32_t));
    }
}

// Numbers of accesses by byte, 0 at first. Pages that nothing touches take no memory and no time, however large a tensor is.
class Numbers {
public:
    Numbers() = default;
    PTO_HOST_CODE explicit Numbers(uint32_t size) : all_(static_cast<uint32_t *>(std::calloc(size, sizeof(uint32_t)))) {
        if (all_ == nullptr && size > 0) {
            throw std::bad_alloc();
        }
    }
    Numbers(Numbers &&other) noexcept : all_(std::exchange(other.all_, nullptr)) {}
    PTO_HOST_CODE Numbers &operator=(Numbers &&other) noexcept {
        std::swap(all_, other.all_);
        return *this;
    }
    ~Numbers() { std::free(all_); }

    // By byte; null where there are none.
    uint32_t *all() { return all_; }
    const uint32_t *all() const { return all_; }

private:
    uint32_t *all_ = nullptr;
};

// What a byte holds: no value, one that an instruction wrote, one that was given, one that was given and that an instruction has read.
enum class Holds : uint8_t { nothing = 0, written = 1, given = 2, read = 3 };

class Bytes {
public:
    Bytes() = default;
    // Bytes of one core, none of which holds a value.
    PTO_HOST_CODE Bytes(std::string name, uint8_t *data, uint32_t size)
        : name(std::move(name)), data(data), size(size), writes_(size), own_(size), written_(own_.data()) {}
    // Bytes that several cores touch: `written` is by byte what it holds, and theirs together.
    PTO_HOST_CODE Bytes(std::string name, uint8_t *data, uint32_t size, uint8_t *written)
        : name(std::move(name)), data(data), size(size), writes_(size), written_(written) {}

    std::string name;
    uint8_t *data = nullptr;
    uint32_t size = 0;

    // An access reads bytes: they are written, and what wrote them is known to be complete.
    PTO_HOST_APART void read(Span part, uint32_t number, const Access &by, const Log &log, const Clocks &clocks) {
        if (part.first == part.end) {
            return;
        }
        each(writes_.all(), part, [&](uint32_t byte, uint32_t writer) {
            check_order(byte, log.find(writer), "writes", by, clocks);
            check_owner(byte, log.find(writer), by);
        });
        for (uint32_t byte = part.first; byte < part.end;) {
            if (eight_are_read(byte, part.end)) {
                byte += 8;
                continue;
            }
            // Cores read one byte side by side.
            const uint8_t holds = __atomic_load_n(written_ + byte, __ATOMIC_RELAXED);
            if (holds == 0) {
                fault("poison", {by, " reads byte ", byte, " of ", name, ", which holds no value"});
            }
            if (holds == static_cast<uint8_t>(Holds::given)) {
                __atomic_store_n(written_ + byte, static_cast<uint8_t>(Holds::read), __ATOMIC_RELAXED);
            }
            ++byte;
        }
        note_read(part, number, by, log);
    }

    // An access writes bytes: what read or wrote them is known to be complete. `value`: whether they hold a value then.
    PTO_HOST_APART void write(Span part, bool value, uint32_t number, const Access &by, const Log &log,
                                 const Clocks &clocks) {
        if (part.first == part.end) {
            return;
        }
        check_all(writes_.all(), part, "writes", by, log, clocks);
        for (const Reads &reads : reads_) {
            if (reads.last.all() != nullptr) {
                check_all(reads.last.all(), part, "reads", by, log, clocks);
                check_all(reads.before.all(), part, "reads", by, log, clocks);
            }
        }
        fill(writes_.all(), part, number);
        std::memset(written_ + part.first, value ? 1 : 0, part.end - part.first);
        touched_ = part.end > touched_ ? part.end : touched_;
    }

    // Bytes hold no value from now on.
    void poison(Span part) { std::memset(written_ + part.first, 0, part.end - part.first); }
    PTO_HOST_CODE void poison_all() {
        poison({0, touched_});
        touched_ = 0;
    }

    // Whether a byte holds a value.
    bool is_written(uint32_t byte) const { return written_[byte] != 0; }
    Holds holds(uint32_t byte) const { return static_cast<Holds>(written_[byte]); }

    // Forgets all accesses.
    PTO_HOST_CODE void forget() {
        writes_ = Numbers(size);
        reads_ = {};
    }

private:
    // By byte, who of a unit read it last, and which instruction before that one: what works in place reads a byte, then writes it, and waits for the
    // reader before.
    struct Reads {
        Numbers last, before;
    };

    PTO_HOST_CODE void note_read(Span part, uint32_t number, const Access &by, const Log &log) {
        Reads &reads = reads_[static_cast<size_t>(by.run.unit)];
        if (reads.last.all() == nullptr) {
            reads = {Numbers(size), Numbers(size)};
        }
        uint32_t *last = reads.last.all();
        uint32_t *before = reads.before.all();
        const auto is_other = [&](uint32_t other) {
            const Access *reader = log.find(other);
            return reader != nullptr && reader->instruction != by.instruction;
        };
        if (!are_one(last, part)) {
            for (uint32_t byte = part.first; byte < part.end; ++byte) {
                before[byte] = is_other(last[byte]) ? last[byte] : before[byte];
            }
        } else if (is_other(last[part.first])) {
            fill(before, part, last[part.first]);
        }
        fill(last, part, number);
    }

    // Calls a function with each number of a part that is not the one before it, and its byte.
    template <class Function> static void each(const uint32_t *numbers, Span part, const Function &function) {
        function(part.first, numbers[part.first]);
        if (are_one(numbers, part)) {
            return;
        }
        for (uint32_t byte = part.first + 1; byte < part.end; ++byte) {
            if (numbers[byte] != numbers[byte - 1]) {
                function(byte, numbers[byte]);
            }
        }
    }

    // Whether eight bytes from one on, of a part that ends there, hold values of which no read has to be noted: the lowest bit of each is set.
    PTO_HOST_CODE bool eight_are_read(uint32_t byte, uint32_t end) const {
        constexpr uint64_t lowest = 0x0101010101010101;
        const uint8_t *first = written_ + byte;
        if (end - byte < 8 || reinterpret_cast<uintptr_t>(first) % 8 != 0) {
            return false;
        }
        return (__atomic_load_n(reinterpret_cast<const uint64_t *>(first), __ATOMIC_RELAXED) & lowest) == lowest;
    }

    PTO_HOST_CODE void check_all(const uint32_t *numbers, Span part, const char *what, const Access &by, const Log &log,
                   const Clocks &clocks) const {
        each(numbers, part, [&](uint32_t byte, uint32_t number) { check_order(byte, log.find(number), what, by, clocks); });
    }

    PTO_HOST_CODE void check_order(uint32_t byte, const Access *other, const char *what, const Access &by,
                     const Clocks &clocks) const {
        // An instruction may work in place.
        if (other == nullptr || other->instruction == by.instruction || clocks.knows(by.run.unit, other->run)) {
            return;
        }
        fault("order", {by, " touches byte ", byte, " of ", name, " and does not wait for ", *other, ", which ", what,
                        " there; the two touch bytes ", by.through, " and ", other->through});
    }

    // Tiles that share bytes are of one buffer. Where the kernel does not say buffers, one lies in the other: a row and
    // the column of the same bytes, a part and the whole.
    PTO_HOST_CODE void check_owner(uint32_t byte, const Access *writer, const Access &by) const {
        if (writer == nullptr) {
            return;
        }
        const bool said = by.buffer != 0 && writer->buffer != 0;
        if (said && by.buffer != writer->buffer) {
            fault("overlap", {by, " reads byte ", byte, " of ", name, " in buffer ", by.buffer, "; ", *writer,
                              " wrote it in buffer ", writer->buffer});
        }
        if (!said && !by.through.holds(writer->through) && !writer->through.holds(by.through)) {
            fault("overlap", {by, " reads byte ", byte, " of ", name, " in a tile of bytes ", by.through, "; ", *writer,
                              " wrote it in a tile of bytes ", writer->through});
        }
    }

    Numbers writes_;
    // By byte, what it holds, in bytes of its own or of a tensor.
    std::vector<uint8_t> own_;
    uint8_t *written_ = nullptr;
    // The end of what was written since nothing held a value.
    uint32_t touched_ = 0;
    std::array<Reads, units> reads_;
};

}  // namespace pto::host
