// The core that runs kernels: memories, tensors and clocks. Each thread has one; tensors are those of all.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "bytes.hpp"
#include "platform.hpp"

namespace pto::host {

// A tensor: its memory, and by byte whether it holds a value.
struct Known {
    std::string name;
    uint8_t *data;
    uint32_t size;
    std::vector<uint8_t> written;
};

// The tensors of the program. They change while no kernel runs.
struct KnownTensors {
    std::deque<Known> all;
    // How often all were forgotten.
    uint32_t forgotten = 0;
};

PTO_HOST_STATE inline KnownTensors &known_tensors() {
    static KnownTensors one;
    return one;
}

// A tensor at this address; `written`: whether it holds values.
PTO_HOST_CODE void add_tensor(std::string name, uint8_t *data, uint32_t size, bool written) {
    known_tensors().all.push_back({std::move(name), data, size, std::vector<uint8_t>(size, static_cast<uint8_t>(written ? Holds::given : Holds::nothing))});
}

// By byte from a place on, whether it holds a value, and how many bytes there are; null outside of all tensors.
PTO_HOST_CODE uint8_t *values_from(const void *from, uint64_t &bytes) {
    const uintptr_t place = reinterpret_cast<uintptr_t>(from);
    for (Known &known : known_tensors().all) {
        const uintptr_t first = reinterpret_cast<uintptr_t>(known.data);
        if (place >= first && place - first < known.size) {
            bytes = std::min<uint64_t>(bytes, known.size - (place - first));
            return known.written.data() + (place - first);
        }
    }
    return nullptr;
}

// Bytes of a tensor hold no values: no kernel touches them now.
PTO_HOST_CODE void forget_values(const void *from, uint64_t bytes) {
    if (uint8_t *values = values_from(from, bytes)) std::fill(values, values + bytes, uint8_t{0});
}

// Bytes of a tensor hold values where those of another do, from which they were copied: no kernel touches them now.
PTO_HOST_CODE void copy_values(const void *to, const void *from, uint64_t bytes) {
    uint8_t *of = values_from(from, bytes), *values = values_from(to, bytes);
    if (of == nullptr || values == nullptr) return;
    std::memmove(values, of, static_cast<std::size_t>(bytes));
    // A copy writes, whatever was given to what it copies.
    std::transform(values, values + bytes, values, [](uint8_t holds) { return std::min(holds, static_cast<uint8_t>(Holds::written)); });
}

// Forgets all tensors.
PTO_HOST_CODE void clear_tensors() {
    known_tensors().all.clear();
    ++known_tensors().forgotten;
}

// Bytes of a tensor as this core touches them, and which core wrote each line of 64 bytes in this launch, plus 1.
struct Global {
    Bytes bytes;
    std::vector<uint32_t> lines;
};

// Lines of global memory: two cores do not write one.
constexpr uint32_t line_bytes = 64;

class Core {
public:
    PTO_HOST_CODE Core() {
        for (size_t at = 0; at < storage_.size(); ++at) {
            const Memory memory = static_cast<Memory>(at);
            storage_[at].assign(capacity(memory), 0xFF);
            memories_[at] = Bytes(name_of(memory), storage_[at].data(), capacity(memory));
        }
    }

    // A kernel begins on core `index` of its launch: memories hold nothing, and no event is set.
    PTO_HOST_CODE void begin_kernel(uint32_t index) {
        index_ = index;
        instructions_ = 0;
        clocks_ = Clocks();
        log_.clear();
        if (log_.is_full()) {
            restart();
        }
        for (Bytes &bytes : memories_) {
            bytes.poison_all();
        }
    }

    void end_kernel() const { clocks_.finish(); }

    // A task of a run begins on core `index`. Tasks before and beside it are others' concern, and so are the lines that they write.
    PTO_HOST_CODE void begin_task(uint32_t index) {
        cores_ = 1;
        owns_lines_ = false;
        begin_kernel(index);
    }

    // A launch begins: cores may write all lines.
    PTO_HOST_CODE void begin_launch(uint32_t cores) {
        cores_ = cores;
        owns_lines_ = true;
        for (Global &global : globals_) {
            std::fill(global.lines.begin(), global.lines.end(), 0);
        }
    }

    // The tensor in which an address lies; null where there is none.
    PTO_HOST_CODE Global *tensor_at(const void *address) {
        const uintptr_t place = reinterpret_cast<uintptr_t>(address);
        learn_tensors();
        for (Global &global : globals_) {
            const uintptr_t first = reinterpret_cast<uintptr_t>(global.bytes.data);
            // An empty tensor is where it begins.
            if (place >= first && place - first < std::max(global.bytes.size, 1u)) {
                return &global;
            }
        }
        return nullptr;
    }

    Bytes &memory(Memory memory) { return memories_[static_cast<size_t>(memory)]; }
    Clocks &clocks() { return clocks_; }
    Log &log() { return log_; }
    uint32_t next_instruction() { return ++instructions_; }
    // The core's place in its launch.
    uint32_t index() const { return index_; }
    // Cores of its launch.
    uint32_t cores() const { return cores_; }
    // Whether two cores may not write one line.
    bool owns_lines() const { return owns_lines_; }

private:
    PTO_HOST_CODE void learn_tensors() {
        KnownTensors &known = known_tensors();
        if (forgotten_ != known.forgotten) {
            globals_.clear();
            forgotten_ = known.forgotten;
        }
        while (globals_.size() < known.all.size()) {
            Known &one = known.all[globals_.size()];
            globals_.push_back({Bytes(one.name, one.data, one.size, one.written.data()),
                                std::vector<uint32_t>(one.size / line_bytes + 1)});
        }
    }

    PTO_HOST_CODE void restart() {
        log_.restart();
        for (Bytes &bytes : memories_) {
            bytes.forget();
        }
        for (Global &global : globals_) {
            global.bytes.forget();
        }
    }

    std::array<std::vector<uint8_t>, memories> storage_;
    std::array<Bytes, memories> memories_;
    std::list<Global> globals_;
    Clocks clocks_;
    Log log_;
    uint32_t instructions_ = 0;
    uint32_t index_ = 0;
    uint32_t cores_ = 1;
    uint32_t forgotten_ = 0;
    bool owns_lines_ = true;
};

// The core of this thread.
PTO_HOST_STATE inline Core &core() {
    static thread_local const std::unique_ptr<Core> one = std::make_unique<Core>();
    return *one;
}

// An instruction that runs: what it touches, and where.
class Instruction {
public:
    PTO_HOST_CODE Instruction(const char *name, pipe_t unit, Site site, bool only_reads = false)
        : access_{core().clocks().begin(unit, only_reads), core().next_instruction(), name, site, {0, 0}, 0} {
        if (unit == PIPE_M || unit == PIPE_MTE1 || unit == PIPE_FIX) {
            belongs(Side::Cube);
        } else if (unit != PIPE_MTE2 && unit != PIPE_S) {
            belongs(Side::Vector);
        }
    }

    // In a task for both cores, it runs on the one that has its unit.
    PTO_HOST_CODE void belongs(Side side) const {
        if (core().clocks().is_other(side)) {
            wrong("core", {"the ", name_of(core().clocks().side()), " runs what the ", name_of(side), " does"});
        }
    }

    // Its last part: what it wrote is on its way.
    void end() const { core().clocks().end(access_.run); }

    // From now on it touches through a tile of these bytes, of this buffer; 0 where none is said.
    PTO_HOST_CODE void through(Span span, uint32_t buffer = 0) {
        access_.through = span;
        access_.buffer = buffer;
        number_ = core().log().add(access_);
    }

    PTO_HOST_APART void read(Bytes &bytes, const std::vector<Span> &runs) const {
        for (const Span &part : runs) {
            bytes.read(part, number_, access_, core().log(), core().clocks());
        }
    }

    // `value`: whether bytes hold a value then.
    PTO_HOST_APART void write(Bytes &bytes, const std::vector<Span> &runs, bool value = true) const {
        for (const Span &part : runs) {
            bytes.write(part, value, number_, access_, core().log(), core().clocks());
        }
    }

    [[noreturn]] PTO_HOST_CODE void wrong(const char *rule, Pieces pieces) const {
        std::string text;
        say(text, pieces);
        fault(rule, {access_, ": ", text});
    }

private:
    Access access_;
    uint32_t number_ = 0;
};

// The core writes bytes of a tensor: no other core of the launch writes in their lines of 64 bytes.
PTO_HOST_APART void own_lines(const Instruction &run, Global &global, Span part) {
    if (!core().owns_lines()) {
        return;
    }
    const uint32_t own = core().index() + 1;
    for (uint32_t line = part.first / line_bytes; line <= (part.end - 1) / line_bytes; ++line) {
        uint32_t &owner = global.lines[line];
        if (owner != 0 && owner != own) {
            run.wrong("line", {"core ", own - 1, " writes in bytes ", line * line_bytes, "..", (line + 1) * line_bytes,
                               " of ", global.bytes.name, ", and core ", owner - 1, " wrote there in the same launch"});
        }
        owner = own;
    }
}

}  // namespace pto::host

namespace pto::host {

// A core of a task for both runs what follows.
inline void on_core(Side side) { core().clocks().on(side); }

// An event that is set or waited for, or a barrier of a unit, which is both `from` and `to`; so is the unit of an event between cores.
struct Sync {
    pipe_t from, to;
    int id;
    Site site;
};

// Whether a run leaves this out: a test sees that its absence is found. Null where nothing is left out.
inline bool (*omits)(const Sync &) = nullptr;

inline bool is_left_out(const Sync &sync) { return omits != nullptr && omits(sync); }

template <pipe_t unit>
void barrier(PTO_HOST_SITE) {
    static_assert(unit != PIPE_S, "pipe_barrier(PIPE_S) is a fault of the hardware: S runs in order");
    static_assert(!is_a5 || unit != PIPE_V, "a5 has no pipe_barrier(PIPE_V): instructions of V complete in order");
    if (!is_left_out({unit, unit, 0, site})) {
        core().clocks().barrier(unit);
    }
}

}  // namespace pto::host

// Sets an event when all earlier instructions of unit `from` are complete.
PTO_HOST_CODE void set_flag(pipe_t from, pipe_t to, event_t id, PTO_HOST_SITE) {
    if (!pto::host::is_left_out({from, to, static_cast<int>(id), site})) {
        pto::host::core().clocks().set(from, to, static_cast<int>(id), site);
    }
}

// Holds back unit `to` until an event, and clears it.
PTO_HOST_CODE void wait_flag(pipe_t from, pipe_t to, event_t id, PTO_HOST_SITE) {
    if (!pto::host::is_left_out({from, to, static_cast<int>(id), site})) {
        pto::host::core().clocks().wait(from, to, static_cast<int>(id), site);
    }
}

// Sets an event for the other core of the task when all earlier instructions of a unit are complete: numbers are of all its units.
template <typename N>
void set_intra_block(pipe_t from, N id, PTO_HOST_SITE) {
    static_assert(pto::host::is_a5 || sizeof(N) == 0, "events between cores of a task are on a5 only");
    if (!pto::host::is_left_out({from, from, static_cast<int>(id), site})) {
        pto::host::core().clocks().set_between(from, static_cast<int>(id), site);
    }
}

// Holds back a unit until an event of the other core, and clears it.
template <typename N>
void wait_intra_block(pipe_t to, N id, PTO_HOST_SITE) {
    static_assert(pto::host::is_a5 || sizeof(N) == 0, "events between cores of a task are on a5 only");
    if (!pto::host::is_left_out({to, to, static_cast<int>(id), site})) {
        pto::host::core().clocks().wait_between(to, static_cast<int>(id), site);
    }
}

// Later instructions of a unit, or of all of its core, run when the earlier ones are complete. The unit is a constant.
#define pipe_barrier(unit) ::pto::host::barrier<(unit)>()
