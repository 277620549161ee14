// Memory that lasts as long as the tasks of an ordinal.
#pragma once

#include "pto/wsp/graph/types.hpp"

namespace pto::wsp::backend::npu {

// Pieces of one memory, in the order of their addresses; those of an ordinal form a group.
class Heap {
public:
    Heap(graph::Arena& arena, void* memory, std::uint64_t bytes, std::uint32_t pieces, std::uint32_t groups)
        : memory_(static_cast<std::uint8_t*>(memory)), bytes_(bytes), num_pieces_(pieces), num_groups_(groups) {
        pieces_ = arena.take<Piece>(std::uint64_t{pieces} + 1);
        groups_ = arena.take<Group>(groups);
        if (!arena.fits()) return;
        for (std::uint32_t at = 0; at < pieces; ++at) pieces_[at] = {0, 0, at + 1, 0, 0};
        free_piece_ = pieces > 0 ? 0 : graph::none;
        if (pieces > 0) pieces_[pieces - 1].next = graph::none;
        // What has no size and begins the memory.
        pieces_[pieces] = {0, 0, pieces, pieces, graph::none};
        cursor_ = pieces;
        for (std::uint32_t at = 0; at < groups; ++at) groups_[at] = {0, at + 1, false};
        groups_[groups - 1].first = graph::none;
        free_group_ = 0;
    }

    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t used() const { return used_; }

    // A group, which its opener closes. There are as many as tasks in the window, and one more.
    std::uint32_t open_group() {
        const std::uint32_t at = free_group_;
        free_group_ = groups_[at].first;
        groups_[at] = {0, graph::none, true};
        return at;
    }
    void close_group(std::uint32_t group) {
        groups_[group].open = false;
        release(group);
    }
    void hold(std::uint32_t group) { ++groups_[group].tasks; }
    // A task of the group is complete.
    void drop(std::uint32_t group) {
        --groups_[group].tasks;
        release(group);
    }

    // A piece of so many bytes, at a multiple of 64; `none` where there is no room now.
    std::uint32_t take(std::uint64_t bytes, std::uint32_t group) {
        const std::uint64_t size = rounded(bytes);
        if (free_piece_ == graph::none || size > bytes_ || used_ + size > bytes_) return graph::none;
        std::uint32_t at = cursor_;
        do {
            const Piece& before = pieces_[at];
            const std::uint64_t from = before.from + before.size;
            const std::uint64_t to = before.next == num_pieces_ ? bytes_ : pieces_[before.next].from;
            if (to - from >= size) return put(at, from, size, group);
            at = before.next;
        } while (at != cursor_);
        return graph::none;
    }
    void* data(std::uint32_t piece) const { return memory_ + pieces_[piece].from; }

    bool is_taken(std::uint64_t piece) const { return piece < num_pieces_ && pieces_[piece].size > 0; }

    // Bytes that a piece takes.
    static std::uint64_t rounded(std::uint64_t bytes) {
        return bytes > UINT64_MAX - 64 ? UINT64_MAX : bytes == 0 ? 64 : (bytes + 63) & ~std::uint64_t{63};
    }

private:
    struct Piece {
        std::uint64_t from, size;
        std::uint32_t next, before;
        // The next of its group.
        std::uint32_t in_group;
    };
    struct Group {
        std::uint32_t tasks;
        std::uint32_t first;
        bool open;
    };

    std::uint32_t put(std::uint32_t before, std::uint64_t from, std::uint64_t size, std::uint32_t group) {
        const std::uint32_t at = free_piece_;
        free_piece_ = pieces_[at].next;
        pieces_[at] = {from, size, pieces_[before].next, before, groups_[group].first};
        groups_[group].first = at;
        pieces_[pieces_[at].next].before = at;
        pieces_[before].next = at;
        used_ += size;
        return cursor_ = at;
    }

    void release(std::uint32_t group) {
        if (groups_[group].open || groups_[group].tasks != 0) return;
        for (std::uint32_t at = groups_[group].first; at != graph::none;) {
            Piece& piece = pieces_[at];
            const std::uint32_t next = piece.in_group;
            pieces_[piece.before].next = piece.next;
            pieces_[piece.next].before = piece.before;
            if (cursor_ == at) cursor_ = piece.before;
            used_ -= piece.size;
            piece.size = 0;
            piece.next = free_piece_;
            free_piece_ = at;
            at = next;
        }
        groups_[group].first = free_group_;
        free_group_ = group;
    }

    std::uint8_t* memory_;
    std::uint64_t bytes_;
    std::uint64_t used_ = 0;
    Piece* pieces_;
    Group* groups_;
    std::uint32_t num_pieces_;
    std::uint32_t num_groups_;
    std::uint32_t free_piece_ = 0;
    std::uint32_t free_group_ = 0;
    // Where the last piece was put.
    std::uint32_t cursor_ = 0;
};

}  // namespace pto::wsp::backend::npu
