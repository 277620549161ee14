// The tasks that may start, by the units that may run them.
#pragma once

#include "types.hpp"

namespace pto::wsp::graph {

// Which ready task is taken first.
enum class ReadyOrder : std::uint8_t {
    // That which became ready first.
    fifo,
    // The largest priority, then that which became ready first.
    priority,
};

// Queues of ready tasks, one for each kind of unit and one for those that any may run. One thread at a time uses it.
class ReadyQueueSet {
public:
    static constexpr std::uint8_t vector_bit = 1, cube_bit = 2, any_bit = 4;

    static constexpr std::size_t index_of(ExecPool pool) {
        return pool == ExecPool::Vector ? 0 : pool == ExecPool::Cube ? 1 : 2;
    }
    static constexpr std::uint8_t bit_of(ExecPool pool) { return static_cast<std::uint8_t>(1u << index_of(pool)); }

    // Each of the queues holds so many tasks.
    ReadyQueueSet(Arena& arena, std::uint32_t capacity, ReadyOrder order) : capacity_(capacity), order_(order) {
        for (Queue& queue : queues_) queue.items = arena.take<Item>(capacity);
    }

    // False where the queue is full.
    bool push(ExecPool pool, TaskId task, std::int32_t priority = 0) {
        Queue& queue = queues_[index_of(pool)];
        if (queue.size == capacity_) return false;
        const Item item{task, order_ == ReadyOrder::priority ? priority : 0, next_++};
        ++size_;
        if (order_ == ReadyOrder::fifo) {
            const std::uint32_t at = queue.head + queue.size++;
            queue.items[at < capacity_ ? at : at - capacity_] = item;
        } else {
            rise(queue, item);
        }
        return true;
    }

    // The first task for a unit of a kind, among those for it and those for any.
    bool try_pop(ExecPool pool, TaskId* task) {
        return pop(static_cast<std::uint8_t>(bit_of(pool) | any_bit), task);
    }
    // The first task of all.
    bool try_pop_any(TaskId* task) { return pop(vector_bit | cube_bit | any_bit, task); }

    // The first task of the queues with these bits.
    bool pop(std::uint8_t queues, TaskId* task) {
        Queue* first = nullptr;
        for (std::size_t at = 0; at < 3; ++at) {
            Queue& queue = queues_[at];
            if ((queues >> at & 1) == 0 || queue.size == 0) continue;
            if (first == nullptr || queue.front().before(first->front())) first = &queue;
        }
        if (first == nullptr) return false;
        *task = first->front().task;
        --size_;
        if (order_ == ReadyOrder::fifo) {
            first->head = first->head + 1 < capacity_ ? first->head + 1 : 0;
            --first->size;
        } else {
            sink(*first);
        }
        return true;
    }

    std::uint32_t size() const { return size_; }

private:
    struct Item {
        TaskId task;
        std::int32_t priority;
        std::uint64_t number;

        bool before(const Item& other) const {
            return priority != other.priority ? priority > other.priority : number < other.number;
        }
    };
    // A ring, or a heap that begins at 0.
    struct Queue {
        Item* items = nullptr;
        std::uint32_t head = 0;
        std::uint32_t size = 0;

        const Item& front() const { return items[head]; }
    };

    static void rise(Queue& queue, const Item& item) {
        std::uint32_t at = queue.size++;
        while (at > 0 && item.before(queue.items[(at - 1) / 2])) {
            queue.items[at] = queue.items[(at - 1) / 2];
            at = (at - 1) / 2;
        }
        queue.items[at] = item;
    }

    // Takes the first of a heap.
    static void sink(Queue& queue) {
        const Item last = queue.items[--queue.size];
        std::uint32_t at = 0;
        for (std::uint32_t child = 1; child < queue.size; child = 2 * at + 1) {
            if (child + 1 < queue.size && queue.items[child + 1].before(queue.items[child])) ++child;
            if (!queue.items[child].before(last)) break;
            queue.items[at] = queue.items[child];
            at = child;
        }
        queue.items[at] = last;
    }

    Queue queues_[3];
    std::uint32_t capacity_;
    std::uint32_t size_ = 0;
    std::uint64_t next_ = 0;
    ReadyOrder order_;
};

}  // namespace pto::wsp::graph
