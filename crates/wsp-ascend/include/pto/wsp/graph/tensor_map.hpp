// Which tasks access which parts of which buffers: what edges follow from.
//
// An access conflicts with an earlier one that it has an element in common with, where one of the two writes. Entries of tasks that are
// over are taken out when they are met, and all of them when room runs out. A writer takes over the entries that lie within its box: what
// conflicts with them conflicts with it, and it waits for them.
#pragma once

#include "types.hpp"

#if __STDC_HOSTED__
#include <unordered_map>
#include <vector>
#endif

namespace pto::wsp::graph {

// A task with an access. It is over when its number has another generation.
struct ProducerRef {
    TaskId producer;
    std::uint32_t generation;

    bool operator==(const ProducerRef& other) const {
        return producer == other.producer && generation == other.generation;
    }
};

// Is given the accesses that conflict, some of them more than once.
struct Visit {
    void (*found)(void* user, const ProducerRef& task, const Box& box);
    void* user;
};

class TensorMap {
public:
    // The earlier accesses that conflict with one, but for those of `self`. Empty boxes conflict with nothing.
    virtual void conflicts(const Box& box, bool writes, ProducerRef self, Visit visit) = 0;
    // Adds an access whose conflicts were found. False where there is no room, or the map has no such buffer: nothing is added then.
    virtual bool insert(const Box& box, bool writes, ProducerRef task) = 0;
    // Tasks of smaller numbers are over.
    void gc_before(TaskId oldest_live_task) { oldest_ = oldest_live_task; }

    // The output of a task, in a tensor that is an index.
    bool insert_output(const TensorRegion2D& region, ProducerRef task) {
        Box box;
        return box_of(region, &box) && insert(box, true, task);
    }

    // Of the tasks whose output meets a region, the last that wrote exactly this region, else the last. False without one.
    bool find_producer(const TensorRegion2D& region, ProducerRef* out) {
        Box box;
        if (!box_of(region, &box)) return false;
        Newest newest{box, {none, 0}, false};
        conflicts(box, false, {none, 0}, {&Newest::found, &newest});
        if (newest.task.producer == none) return false;
        *out = newest.task;
        return true;
    }

protected:
    ~TensorMap() = default;
    explicit TensorMap(const std::uint32_t* generations) : generations_(generations) {}

    bool live(const ProducerRef& task) const {
        return task.producer >= oldest_ && (generations_ == nullptr || generations_[task.producer] == task.generation);
    }

private:
    struct Newest {
        Box box;
        ProducerRef task;
        bool exact;

        static void found(void* user, const ProducerRef& task, const Box& box) {
            Newest& self = *static_cast<Newest*>(user);
            const bool exact = box.holds(self.box) && self.box.holds(box);
            const bool later = self.task.producer == none || task.producer >= self.task.producer;
            if (exact ? !self.exact || later : !self.exact && later) {
                self.task = task;
                self.exact = exact;
            }
        }
    };

    // By task; null where all are live.
    const std::uint32_t* generations_;
    TaskId oldest_ = 0;
};

// A map of fixed size: a table of cells, and a pool of entries.
//
// Buffers are divided into cells, of about the size of the boxes that are accessed. An entry is listed under each cell that its box
// touches, or, when these are many, under its buffer. Where lists get long, cells get the size of the box at hand.
class FixedTensorMap final : public TensorMap {
public:
    // Most cells of an entry.
    static constexpr std::uint32_t most_cells = 8;

    // For buffers below `buffers`; each takes two entries of a table, too. `entries` is at least most_cells.
    FixedTensorMap(Arena& arena, std::uint32_t buffers, std::uint32_t entries, const std::uint32_t* generations)
        : TensorMap(generations), num_buffers_(buffers), num_entries_(entries) {
        while (cells_ < entries) cells_ *= 2;
        heads_ = arena.take<std::uint32_t>(std::uint64_t{cells_} + 2ull * buffers);
        buffers_ = arena.take<Buffer>(buffers);
        entries_ = arena.take<Entry>(entries);
        if (arena.fits()) clear();
    }

    void conflicts(const Box& box, bool writes, ProducerRef self, Visit visit) override {
        if (box.buffer >= num_buffers_ || box.empty()) return;
        Search search{box, writes, self, visit, 0};
        std::uint32_t cells[most_cells];
        const std::uint32_t count = cells_of(box, cells);
        for (int kind = writes ? 0 : 1; kind < 2; ++kind) {
            if (count > most_cells) {
                search_all(search, kind);
                continue;
            }
            for (std::uint32_t at = 0; at < count; ++at) search_list(search, cell(cells[at], kind));
            search_list(search, cells_ + 2 * box.buffer + static_cast<std::uint32_t>(kind));
        }
        Buffer& buffer = buffers_[box.buffer];
        if (search.passed > long_list && buffer.inserted > 2 * buffer.live + long_list) divide(box);
    }

    bool insert(const Box& box, bool writes, ProducerRef task) override {
        if (box.buffer >= num_buffers_) return false;
        if (box.empty()) return true;
        if (num_free_ < most_cells) sweep();
        if (num_free_ < most_cells) return false;
        ++buffers_[box.buffer].inserted;
        place(box, writes ? 1 : 0, task);
        return true;
    }

    // Entries of tasks that were live when they were met last.
    std::uint32_t size() const { return num_entries_ - num_free_; }

    // Takes out the entries of tasks that are over.
    void sweep() {
        for (std::uint32_t buffer = 0; buffer < num_buffers_; ++buffer) {
            for (std::uint32_t at : buffers_[buffer].all) {
                while (at != none) {
                    const std::uint32_t next = entries_[at].all.next;
                    if (!live(entries_[at].task)) remove(at);
                    at = next;
                }
            }
        }
    }

private:
    static constexpr std::uint32_t long_list = 16;

    struct Link {
        std::uint32_t next, before;
    };
    struct Entry {
        Box box;
        ProducerRef task;
        // The list that it is in, and its neighbours there and among all of its buffer.
        std::uint32_t list;
        Link in_list, all;
        std::uint8_t kind;
        // Whether it is the only one of its access, or the first of several.
        bool first;
    };
    struct Buffer {
        // Bits by which coordinates are shifted to those of cells; not yet known before the first access.
        std::uint8_t shift[box_rank];
        bool divided;
        // All entries: of reads, of writes.
        std::uint32_t all[2];
        std::uint32_t live;
        std::uint32_t inserted;
    };
    struct Search {
        const Box& box;
        bool writes;
        ProducerRef self;
        Visit visit;
        // Live entries elsewhere that were met.
        std::uint32_t passed;
    };

    void clear() {
        for (std::uint64_t at = 0; at < std::uint64_t{cells_} + 2ull * num_buffers_; ++at) heads_[at] = none;
        for (std::uint32_t at = 0; at < num_buffers_; ++at) buffers_[at] = {{}, false, {none, none}, 0, 0};
        for (std::uint32_t at = 0; at < num_entries_; ++at) entries_[at].in_list.next = at + 1;
        entries_[num_entries_ - 1].in_list.next = none;
        num_free_ = num_entries_;
    }

    std::uint32_t cell(std::uint32_t hash, int kind) const {
        return (hash ^ (static_cast<std::uint32_t>(kind) * 0x9E3779B9u)) & (cells_ - 1);
    }

    void shape(Buffer& buffer, const Box& box) {
        for (std::size_t d = 0; d < box_rank; ++d) {
            std::uint8_t bits = 0;
            while (bits < 31 && (std::uint32_t{1} << bits) < box.hi[d] - box.lo[d]) ++bits;
            buffer.shift[d] = bits;
        }
        buffer.divided = true;
    }

    // Hashes of the cells that a box touches. More than most_cells: none is given.
    std::uint32_t cells_of(const Box& box, std::uint32_t (&hashes)[most_cells]) {
        Buffer& buffer = buffers_[box.buffer];
        if (!buffer.divided) shape(buffer, box);
        std::uint32_t first[box_rank], count[box_rank];
        std::uint64_t cells = 1;
        for (std::size_t d = 0; d < box_rank; ++d) {
            first[d] = box.lo[d] >> buffer.shift[d];
            count[d] = ((box.hi[d] - 1) >> buffer.shift[d]) - first[d] + 1;
            if (cells <= most_cells) cells *= count[d];
        }
        if (cells > most_cells) return most_cells + 1;
        for (std::uint32_t at = 0; at < cells; ++at) {
            std::uint32_t rest = at;
            std::uint64_t hash = box.buffer;
            for (std::size_t d = 0; d < box_rank; ++d) {
                hash = (hash ^ (first[d] + rest % count[d])) * 0x9E3779B97F4A7C15u;
                if (count[d] > 1) rest /= count[d];
            }
            hashes[at] = static_cast<std::uint32_t>(hash >> 32);
        }
        return static_cast<std::uint32_t>(cells);
    }

    void place(const Box& box, int kind, ProducerRef task) {
        std::uint32_t cells[most_cells];
        const std::uint32_t count = cells_of(box, cells);
        if (count > most_cells || count > num_free_) {
            add(cells_ + 2 * box.buffer + static_cast<std::uint32_t>(kind), box, kind, task, true);
            return;
        }
        for (std::uint32_t at = 0; at < count; ++at) add(cell(cells[at], kind), box, kind, task, at == 0);
    }

    void add(std::uint32_t list, const Box& box, int kind, ProducerRef task, bool first) {
        const std::uint32_t at = free_;
        Entry& entry = entries_[at];
        free_ = entry.in_list.next;
        --num_free_;
        std::uint32_t& all = buffers_[box.buffer].all[kind];
        entry = {box, task, list, {heads_[list], none}, {all, none}, static_cast<std::uint8_t>(kind), first};
        if (heads_[list] != none) entries_[heads_[list]].in_list.before = at;
        if (all != none) entries_[all].all.before = at;
        heads_[list] = all = at;
        ++buffers_[box.buffer].live;
    }

    void remove(std::uint32_t at) {
        Entry& entry = entries_[at];
        Buffer& buffer = buffers_[entry.box.buffer];
        if (entry.in_list.next != none) entries_[entry.in_list.next].in_list.before = entry.in_list.before;
        (entry.in_list.before == none ? heads_[entry.list] : entries_[entry.in_list.before].in_list.next) = entry.in_list.next;
        if (entry.all.next != none) entries_[entry.all.next].all.before = entry.all.before;
        (entry.all.before == none ? buffer.all[entry.kind] : entries_[entry.all.before].all.next) = entry.all.next;
        --buffer.live;
        entry.in_list.next = free_;
        free_ = at;
        ++num_free_;
    }

    void search_list(Search& search, std::uint32_t list) {
        for (std::uint32_t at = heads_[list], next; at != none; at = next) {
            next = entries_[at].in_list.next;
            look_at(search, at);
        }
    }

    void search_all(Search& search, int kind) {
        for (std::uint32_t at = buffers_[search.box.buffer].all[kind], next; at != none; at = next) {
            next = entries_[at].all.next;
            look_at(search, at);
        }
    }

    void look_at(Search& search, std::uint32_t at) {
        const Entry& entry = entries_[at];
        // Lists are shared by cells with one hash.
        if (entry.box.buffer != search.box.buffer || (entry.kind == 0 && !search.writes)) return;
        if (!live(entry.task)) {
            remove(at);
            return;
        }
        if (!entry.box.meets(search.box)) {
            ++search.passed;
            return;
        }
        if (!(entry.task == search.self)) search.visit.found(search.visit.user, entry.task, entry.box);
        if (search.writes && search.box.holds(entry.box)) remove(at);
    }

    // Divides a buffer into cells of the size of a box.
    void divide(const Box& box) {
        Buffer& buffer = buffers_[box.buffer];
        shape(buffer, box);
        buffer.inserted = 0;
        for (int kind = 0; kind < 2; ++kind) {
            std::uint32_t kept = none;
            while (buffer.all[kind] != none) {
                const std::uint32_t at = buffer.all[kind];
                const bool keep = entries_[at].first && live(entries_[at].task);
                remove(at);
                if (!keep) continue;
                // It leaves the free ones again, and goes to a list of those that are placed anew.
                free_ = entries_[at].in_list.next;
                --num_free_;
                entries_[at].in_list.next = kept;
                kept = at;
            }
            while (kept != none) {
                const std::uint32_t at = kept;
                const Entry entry = entries_[at];
                kept = entry.in_list.next;
                entries_[at].in_list.next = free_;
                free_ = at;
                ++num_free_;
                place(entry.box, kind, entry.task);
            }
        }
    }

    std::uint32_t num_buffers_;
    std::uint32_t num_entries_;
    std::uint32_t cells_ = 1;
    // Lists by cell, then those of each buffer: reads, writes.
    std::uint32_t* heads_ = nullptr;
    Buffer* buffers_ = nullptr;
    Entry* entries_ = nullptr;
    std::uint32_t free_ = 0;
    std::uint32_t num_free_ = 0;
};

#if __STDC_HOSTED__
// A map without limits, which looks at every entry of a buffer: what the other is compared with.
class DynamicTensorMap final : public TensorMap {
public:
    explicit DynamicTensorMap(const std::uint32_t* generations) : TensorMap(generations) {}

    void conflicts(const Box& box, bool writes, ProducerRef self, Visit visit) override {
        if (box.empty()) return;
        std::vector<Entry>& entries = buffers_[box.buffer];
        std::size_t kept = 0;
        for (const Entry& entry : entries) {
            if (!live(entry.task)) continue;
            const bool conflict = (writes || entry.writes) && entry.box.meets(box);
            if (conflict && !(entry.task == self)) visit.found(visit.user, entry.task, entry.box);
            if (!(writes && box.holds(entry.box))) entries[kept++] = entry;
        }
        entries.resize(kept);
    }

    bool insert(const Box& box, bool writes, ProducerRef task) override {
        if (!box.empty()) buffers_[box.buffer].push_back({box, task, writes});
        return true;
    }

private:
    struct Entry {
        Box box;
        ProducerRef task;
        bool writes;
    };
    std::unordered_map<std::uint32_t, std::vector<Entry>> buffers_;
};
#endif

}  // namespace pto::wsp::graph
