// Units that run side by side, and the events between them.
#pragma once

#include "platform.hpp"

// Units by the names that kernels give them. `PIPE_ALL` stands for all.
enum pipe_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_FIX, PIPE_ALL };

// Events of an ordered pair of units.
enum event_t : int { EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };

namespace pto::host {

constexpr int pipes = PIPE_ALL;
constexpr int events = 8;
// Events from one core of a task to the other, for all pairs of their units.
constexpr int events_between = 8;

// The cores of a task. A kernel for one kind of core runs on the first.
enum class Side { Vector, Cube };
constexpr int sides = 2;

// Units of both cores: those of the first, then those of the second.
constexpr int units = sides * pipes;

constexpr int unit_of(Side side, pipe_t pipe) { return static_cast<int>(side) * pipes + pipe; }
constexpr bool same_core(int a, int b) { return a / pipes == b / pipes; }
constexpr bool is_scalar(int unit) { return unit % pipes == PIPE_S; }

constexpr const char *name_of(pipe_t pipe) {
    constexpr const char *names[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "all units"};
    return names[static_cast<int>(pipe)];
}

constexpr const char *name_of(Side side) { return side == Side::Cube ? "cube core" : "vector core"; }

// Whether an instruction of the unit sees what the one before it wrote. On a2 and a3, `pipe_barrier(PIPE_V)` stands
// between instructions of V.
constexpr bool completes_in_order(int unit) { return is_a5 || unit % pipes != PIPE_V; }

}  // namespace pto::host
