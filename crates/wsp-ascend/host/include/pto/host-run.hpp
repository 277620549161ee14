// What a program needs that runs kernels: tensors from and to files, cores of a launch, and faults.
//
// A tensor in a file is its elements, row by row, little-endian, and nothing else.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pto-inst.hpp"

namespace pto::host {

// Tensors of a program. Memory of each begins at a multiple of 64 bytes, and lies apart from that of the others.
class Tensors {
public:
    // A tensor with the contents of a file.
    PTO_HOST_CODE void *read(const std::string &path) {
        std::FILE *file = std::fopen(path.c_str(), "rb");
        if (file == nullptr) {
            fail("cannot open", path);
        }
        std::vector<uint8_t> all;
        uint8_t part[1 << 16];
        for (size_t got = 0; (got = std::fread(part, 1, sizeof part, file)) > 0;) {
            all.insert(all.end(), part, part + got);
        }
        const bool good = std::ferror(file) == 0;
        std::fclose(file);
        if (!good) {
            fail("cannot read", path);
        }
        uint8_t *data = add(path, all.size(), true);
        std::copy(all.begin(), all.end(), data);
        return data;
    }

    // A tensor of so many bytes that hold no values.
    void *blank(const std::string &name, size_t bytes) { return add(name, bytes, false); }

    // A tensor with these contents.
    PTO_HOST_CODE void *given(const std::string &name, const void *contents, size_t bytes) {
        uint8_t *data = add(name, bytes, true);
        std::copy_n(static_cast<const uint8_t *>(contents), bytes, data);
        return data;
    }

    // The bytes of a tensor, with `blank` for one that holds no value.
    PTO_HOST_CODE static std::vector<uint8_t> contents(const void *tensor, uint8_t blank = 0xFF) {
        const Global *global = core().tensor_at(tensor);
        if (global == nullptr) {
            return {};
        }
        const Bytes &bytes = global->bytes;
        std::vector<uint8_t> all(bytes.data, bytes.data + bytes.size);
        for (uint32_t byte = 0; byte < bytes.size; ++byte) {
            all[byte] = bytes.is_written(byte) ? all[byte] : blank;
        }
        return all;
    }

    // Elements that no instruction wrote: those that one has read and the others, how many each and the first. Where none of the tensor is
    // written, all count among the others. `given`: they hold what the tensor was given.
    struct Elements {
        uint64_t count = 0, first = 0;
    };
    struct Unwritten {
        Elements unused, read;
        bool given = false;
    };
    PTO_HOST_CODE static Unwritten unwritten(const void *tensor, size_t elem_bytes) {
        Unwritten found;
        const Global *global = core().tensor_at(tensor);
        if (global == nullptr) {
            return found;
        }
        const Bytes &bytes = global->bytes;
        uint64_t written = 0;
        for (uint32_t first = 0; first < bytes.size; first += static_cast<uint32_t>(elem_bytes)) {
            bool is_written = true, is_read = false;
            for (uint32_t byte = first; byte < bytes.size && byte < first + elem_bytes; ++byte) {
                const Holds holds = bytes.holds(byte);
                is_written = is_written && holds == Holds::written;
                is_read = is_read || holds == Holds::read;
                found.given = found.given || holds == Holds::given || holds == Holds::read;
            }
            Elements &of = is_read ? found.read : found.unused;
            if (is_written) {
                ++written;
            } else if (of.count++ == 0) {
                of.first = first / elem_bytes;
            }
        }
        if (written == 0) {
            found = {{found.unused.count + found.read.count, 0}, {}, found.given};
        }
        return found;
    }

    // Writes a tensor to a file; a byte that holds no value is 255.
    PTO_HOST_CODE void write(const void *tensor, const std::string &path) const {
        if (core().tensor_at(tensor) == nullptr) {
            fail("no tensor begins where this is written from:", path);
        }
        std::FILE *file = std::fopen(path.c_str(), "wb");
        if (file == nullptr) {
            fail("cannot open", path);
        }
        const std::vector<uint8_t> all = contents(tensor);
        const bool good = std::fwrite(all.data(), 1, all.size(), file) == all.size();
        if (std::fclose(file) != 0 || !good) {
            fail("cannot write", path);
        }
    }

    // Forgets all tensors: addresses of them are used no longer.
    PTO_HOST_CODE void clear() {
        clear_tensors();
        storage_.clear();
    }

private:
    static constexpr size_t gap = 4096;

    [[noreturn]] PTO_HOST_CODE static void fail(const char *what, const std::string &path) {
        std::fprintf(stderr, "%s %s\n", what, path.c_str());
        std::exit(2);
    }

    PTO_HOST_CODE uint8_t *add(const std::string &name, size_t bytes, bool written) {
        if (bytes > UINT32_MAX - gap) {
            fail("too large:", name);
        }
        storage_.push_back(std::make_unique<std::vector<uint8_t>>(bytes + 2 * gap, uint8_t{0xFF}));
        uint8_t *data = storage_.back()->data() + gap;
        data += (line_bytes - reinterpret_cast<uintptr_t>(data) % line_bytes) % line_bytes;
        add_tensor(name, data, static_cast<uint32_t>(bytes), written);
        return data;
    }

    std::vector<std::unique_ptr<std::vector<uint8_t>>> storage_;
};

// The task that a thread runs, for what cannot be told otherwise.
PTO_HOST_STATE inline const char *&running_task() {
    static thread_local const char *name = nullptr;
    return name;
}

// Ends the program where a kernel divides whole numbers by 0: a core gives any number there.
PTO_HOST_CODE void stop_at_division(int) {
    const char *task = running_task();
    std::fputs(task == nullptr ? "" : "error: task ", stderr);
    std::fputs(task == nullptr ? "" : task, stderr);
    std::fputs(task == nullptr ? "" : ": ", stderr);
    std::fputs("fault [value]: a division of whole numbers by 0, or one whose result does not fit\n", stderr);
    std::_Exit(3);
}

// Runs `kernel(index)` on each of so many cores, one after the other, and gives the first fault, or nothing. Where
// faults end the program, it does not come back from one.
template <typename F>
std::string launch(uint32_t cores, const F &kernel) {
    std::signal(SIGFPE, stop_at_division);
    core().begin_launch(cores);
    for (uint32_t index = 0; index < cores; ++index) {
        try {
            core().begin_kernel(index);
            kernel(index);
            core().end_kernel();
        } catch (const Fault &fault) {
            return fault.text;
        }
    }
    return {};
}

// Around the kernel of a task, on the thread that runs it: hooks of the executor's run. Threads run tasks side by side, on cores of their own.
PTO_HOST_STATE inline void begin_task(uint32_t index) {
    static const auto before = std::signal(SIGFPE, stop_at_division);
    static_cast<void>(before);
    core().begin_task(index);
}
inline void end_task() { core().end_kernel(); }

// Runs a kernel on one core.
template <typename F>
std::string run(const F &kernel) {
    return launch(1, [&](uint32_t) { kernel(); });
}

}  // namespace pto::host
