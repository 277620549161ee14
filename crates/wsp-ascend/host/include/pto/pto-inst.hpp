// Tile instructions of Ascend cores on the host: kernels that are emitted for PTO-ISA are compiled with these headers
// and run over real memories, with a clock per unit. They stand in for what a test needs of that interface, and are
// written from its documentation alone.
//
// What a platform refuses does not compile. A run ends at a missing order between two instructions, a wrong event, a
// read of what nothing wrote, an address or index past an end, and valid extents of 0; see `host/fault.hpp`.
#pragma once

#define PTO_HOST 1

#include "host/arithmetic.hpp"
#include "host/arrange.hpp"
#include "host/convert.hpp"
#include "host/divide.hpp"
#include "host/expand.hpp"
#include "host/fill.hpp"
#include "host/matmul.hpp"
#include "host/reduce.hpp"
#include "host/select.hpp"
#include "host/transfer.hpp"

#ifndef __gm__
#define __gm__
#endif
#ifndef __aicore__
#define __aicore__
#endif
#ifndef AICORE
#define AICORE
#endif

namespace pto::host {

// Says of which buffer a tile is, by a number from 1 on: a byte that is read through a tile of one buffer and was
// written through that of another is a fault, wherever the two lie.
template <typename D>
void of_buffer(D &tile, uint32_t buffer) {
    tile.belong(buffer);
}

// An element of a tensor, read by S.
template <typename T>
T load_scalar(const T *from, PTO_HOST_SITE) {
    Instruction run("load_scalar", PIPE_S, site, true);
    const GlobalView one{elem_of<T>, const_cast<T *>(from), {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}};
    const Place place(run, one, {1, 1});
    run.read(place.bytes(), place.runs(run));
    return *from;
}

// An element of a tensor gets a value by S.
template <typename T>
void store_scalar(T *to, T value, PTO_HOST_SITE) {
    Instruction run("store_scalar", PIPE_S, site);
    const GlobalView one{elem_of<T>, to, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}};
    const Place place(run, one, {1, 1});
    place.own_lines(run, place.runs(run));
    run.write(place.bytes(), place.runs(run));
    *to = value;
    run.end();
}

}  // namespace pto::host
