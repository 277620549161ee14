// Random task sets, and the order that they have to keep, found pair by pair.
#pragma once

#include <cstdint>
#include <vector>

#include "pto/wsp/backend/npu/host_run.hpp"

namespace tasks {

using namespace pto::wsp::backend::npu;
using host_detail::Draw;
namespace graph = pto::wsp::graph;

struct Place {
    std::uint32_t buffer;
    bool writes;
    std::uint32_t lo[max_rank], hi[max_rank];
};

struct One {
    std::uint64_t ordinal = 0;
    std::int32_t stream = -1;
    std::int32_t priority = 0;
    Pool pool = Pool::any;
    std::vector<Place> places;
    std::vector<std::uint64_t> after;
    // Accesses memory of its ordinal: reads it, or writes it.
    bool scratch_reads = false, scratch_writes = false;
    // More regions than there is room for.
    bool overflow = false;
};

struct Event {
    std::uint64_t ordinal;
    Ordered what;
};

struct Set {
    std::uint16_t aicpus = 1;
    std::uint32_t streams = 3, buffers = 4;
    std::vector<One> all;
    // By ordinal.
    std::vector<std::uint16_t> owner;
    std::vector<bool> fence, scratch;
    // By ordinal; empty where cores run all.
    std::vector<bool> on_host;
    // Boundaries of ordered scopes, in order.
    std::vector<Event> events;
};

inline Place place(Draw& draw, std::uint32_t buffer, bool writes) {
    Place one{buffer, writes, {}, {}};
    // Buffers have 1, 2, 3 and 6 dimensions, of 8 elements each: tiles, rows, and any box.
    const std::uint32_t rank = buffer == 3 ? 6 : buffer + 1;
    const std::uint32_t form = draw.below(4);
    for (std::uint32_t d = 0; d < max_rank; ++d) {
        one.hi[d] = 1;
        if (d >= rank) continue;
        if (form < 2) {
            one.lo[d] = 2 * draw.below(4);
            one.hi[d] = one.lo[d] + 2;
        } else if (form == 2) {
            one.lo[d] = d == 0 ? draw.below(8) : 0;
            one.hi[d] = d == 0 ? one.lo[d] + 1 : 8;
        } else {
            one.lo[d] = draw.below(8);
            one.hi[d] = one.lo[d] + draw.below(9 - one.lo[d]);
        }
    }
    return one;
}

inline void scopes(Draw& draw, Set& set, std::uint64_t ordinals) {
    std::uint32_t depth = 0;
    for (std::uint64_t at = 0; at < ordinals; ++at) {
        const std::uint32_t what = draw.below(12);
        if (what == 0 && depth < 3) {
            set.events.push_back({at, Ordered::begin});
            ++depth;
        } else if (what < 4 && depth > 0) {
            set.events.push_back({at, what == 1 ? Ordered::end : Ordered::step});
            depth -= what == 1 ? 1 : 0;
        }
    }
    for (; depth > 0; --depth) set.events.push_back({ordinals, Ordered::end});
}

inline Set plain(std::uint64_t seed, std::uint16_t aicpus) {
    Draw draw(seed);
    Set set;
    set.aicpus = aicpus;
    const std::uint64_t ordinals = 8 + draw.below(40);
    const bool scoped = draw.below(3) == 0, fenced = draw.below(3) == 0, streamed = draw.below(2) == 0;
    const bool edged = draw.below(2) == 0, in_turn = draw.below(2) == 0;
    for (std::uint64_t ordinal = 0; ordinal < ordinals; ++ordinal) {
        set.owner.push_back(static_cast<std::uint16_t>(in_turn ? ordinal % aicpus : draw.below(aicpus)));
        set.fence.push_back(fenced && draw.below(10) == 0);
        set.scratch.push_back(draw.below(4) == 0);
        const std::uint32_t count = draw.below(8) == 0 ? draw.below(3) : 1;
        for (std::uint32_t at = 0; at < count; ++at) {
            One one;
            one.ordinal = ordinal;
            one.stream = streamed ? static_cast<std::int32_t>(draw.below(4)) - 1 : -1;
            one.priority = static_cast<std::int32_t>(draw.below(5)) - 2;
            const std::uint32_t pool = draw.below(3);
            one.pool = pool == 0 ? Pool::vector : pool == 1 ? Pool::cube : Pool::any;
            const std::uint32_t places = draw.below(4);
            for (std::uint32_t p = 0; p < places; ++p) one.places.push_back(place(draw, draw.below(4), draw.below(2) == 0));
            if (edged && ordinal > 0 && draw.below(3) == 0) one.after.push_back(draw.below(static_cast<std::uint32_t>(ordinal)));
            one.scratch_writes = at == 0;
            one.scratch_reads = at > 0;
            one.overflow = draw.below(60) == 0;
            set.all.push_back(one);
        }
    }
    if (scoped) scopes(draw, set, ordinals);
    return set;
}

// The same, and the host runs some ordinals.
inline Set with_host(std::uint64_t seed, std::uint16_t aicpus) {
    Set set = plain(seed, aicpus);
    Draw draw(seed + 77);
    const std::uint32_t one_in = 2 + draw.below(4);
    for (std::size_t at = 0; at < set.owner.size(); ++at) set.on_host.push_back(draw.below(one_in) == 0);
    return set;
}

inline bool meet(const Place& a, const Place& b) {
    if (a.buffer != b.buffer || (!a.writes && !b.writes)) return false;
    for (std::uint32_t d = 0; d < max_rank; ++d) {
        const std::uint32_t lo = a.lo[d] > b.lo[d] ? a.lo[d] : b.lo[d];
        const std::uint32_t hi = a.hi[d] < b.hi[d] ? a.hi[d] : b.hi[d];
        if (lo >= hi) return false;
    }
    return true;
}

// Whether a step of an ordered scope that holds both ordinals ends between them.
inline bool step_between(const Set& set, std::uint64_t a, std::uint64_t b) {
    // Scopes that hold `a`, and whether a step of each has ended since.
    std::vector<bool> open;
    std::size_t at = 0;
    for (; at < set.events.size() && set.events[at].ordinal <= a; ++at) {
        if (set.events[at].what == Ordered::begin) open.push_back(false);
        if (set.events[at].what == Ordered::end) open.pop_back();
    }
    // Scopes that began since.
    std::uint32_t inner = 0;
    for (; at < set.events.size() && set.events[at].ordinal <= b; ++at) {
        switch (set.events[at].what) {
            case Ordered::begin: ++inner; break;
            case Ordered::step:
                if (inner == 0 && !open.empty()) open.back() = true;
                break;
            case Ordered::end:
                if (inner > 0) --inner;
                else open.pop_back();
                break;
        }
    }
    for (const bool ended : open) {
        if (ended) return true;
    }
    return false;
}

// Whether a task that is submitted later starts after an earlier one is complete. Streams apart.
inline bool comes_first(const Set& set, const One& a, const One& b) {
    if (a.overflow || b.overflow) return true;
    for (const std::uint64_t ordinal : b.after) {
        if (ordinal == a.ordinal) return true;
    }
    for (std::uint64_t ordinal = a.ordinal + 1; ordinal <= b.ordinal; ++ordinal) {
        if (set.fence[ordinal]) return true;
    }
    if (a.ordinal == b.ordinal && set.scratch[a.ordinal] && (a.scratch_writes || b.scratch_writes)) return true;
    for (const Place& one : a.places) {
        for (const Place& other : b.places) {
            if (meet(one, other)) return true;
        }
    }
    return step_between(set, a.ordinal, b.ordinal);
}

}  // namespace tasks
