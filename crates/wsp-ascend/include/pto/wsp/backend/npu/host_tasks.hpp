// What a run and the tasks that a host runs itself, between those of cores, are to each other.
#pragma once

#include <cstdint>
#include <string>

#include "../../version.hpp"

namespace pto::wsp::backend::npu {

// How a run and the tasks that the host runs itself wait for each other.
class HostTurns {
public:
    virtual ~HostTurns() = default;
    // A task is complete, or the next one waits: others go on. False when the run has ended early.
    virtual bool pause(bool waits) = 0;
    // A task has failed.
    virtual void failed(const std::string& text, std::uint16_t kernel, std::uint64_t ordinal) = 0;
};

// Tasks that the host runs itself, beside those of cores.
class HostTasks {
public:
    virtual ~HostTasks() = default;
    // Runs them, one after the other, on the thread that calls it.
    virtual void run(HostTurns& turns) = 0;
    // Whether the tasks of a kernel are among them.
    virtual bool runs(std::uint16_t kernel) const = 0;
    // Whether what the next one waits for is complete.
    virtual bool has_work() const = 0;
    // Whether the tasks of the host that an ordinal of cores waits for are complete.
    virtual bool may_start(std::uint64_t ordinal) const = 0;
    // A task of a core is complete.
    virtual void completed(std::uint64_t ordinal) = 0;
};

}  // namespace pto::wsp::backend::npu
