// What bodies of cores, compiled by LLVM, run on: bounded fifos between threads. A state in which no thread can go on ends the program with 3.
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

// A memory as MLIR's convention for C passes it.
template <int N>
struct Ref {
    void *base, *at;
    int64_t offset;
    int64_t size[N], stride[N];
};

template <int N>
Ref<N> ref(void *at, const int64_t (&size)[N]) {
    Ref<N> made{at, at, 0, {}, {}};
    int64_t stride = 1;
    for (int dim = N - 1; dim >= 0; --dim) {
        made.size[dim] = size[dim];
        made.stride[dim] = stride;
        stride *= size[dim];
    }
    return made;
}

inline std::mutex lock;
inline std::condition_variable changes;
inline int running = 1, blocked = 0;
inline uint64_t round_of_changes = 0;

inline void stuck() {
    if (running > 0 && blocked == running) {
        std::fputs("nothing can go on\n", stderr);
        std::_Exit(3);
    }
}

inline void changed() {
    blocked = 0;
    ++round_of_changes;
    changes.notify_all();
}

template <class Ready>
void wait_for(std::unique_lock<std::mutex> &held, Ready ready) {
    while (!ready()) {
        ++blocked;
        stuck();
        const uint64_t seen = round_of_changes;
        changes.wait(held, [&] { return round_of_changes != seen; });
    }
}

struct Fifo {
    size_t bytes;
    uint64_t depth;
    std::vector<std::vector<uint64_t>> ring;
    uint64_t written = 0;
    std::vector<uint64_t> read;

    Fifo(size_t bytes, uint64_t depth, size_t readers)
        : bytes(bytes), depth(depth), ring(depth, std::vector<uint64_t>(bytes / 8 + 1)), read(readers) {}

    uint64_t last() const {
        uint64_t least = written;
        for (uint64_t one : read) least = one < least ? one : least;
        return least;
    }
};

// The end of a fifo at one thread: its producer's, or that of a consumer.
struct End {
    Fifo &fifo;
    int reader;
    uint64_t held = 0;

    uint64_t &at() { return reader < 0 ? fifo.written : fifo.read[reader]; }

    void acquire(uint64_t count) {
        std::unique_lock<std::mutex> guard(lock);
        wait_for(guard, [&] {
            return reader < 0 ? fifo.written + count <= fifo.last() + fifo.depth : fifo.written >= at() + count;
        });
        held = count > held ? count : held;
    }

    void *object(uint64_t index) {
        std::unique_lock<std::mutex> guard(lock);
        return fifo.ring[(at() + index) % fifo.depth].data();
    }

    void release(uint64_t count) {
        std::unique_lock<std::mutex> guard(lock);
        at() += count;
        held -= count;
        changed();
    }
};

// A thread that is counted while it runs.
template <class Work>
void start(Work work) {
    {
        std::unique_lock<std::mutex> guard(lock);
        ++running;
    }
    std::thread([work] {
        work();
        std::unique_lock<std::mutex> guard(lock);
        --running;
        stuck();
    }).detach();
}

// A transfer: where each of its elements lies, and whether its end can be waited for.
struct Move {
    uint8_t *array;
    int64_t offset, sizes[4], strides[4];
    bool token;
};

// Transfers that wait in the queue of a channel, beside the one that runs.
constexpr size_t QUEUE = 4;

// Transfers of one fifo of the host, one after the other.
struct Channel {
    End end;
    bool brings;
    size_t element;
    std::vector<Move> queue{};
    size_t done = 0, filled = 0;
    uint64_t tokens = 0;
    uint8_t *object = nullptr;

    // Four offsets, sizes and strides, and whether it tells its end, as what goes into the memory of the host does.
    void push(uint8_t *array, const int64_t (&n)[13]) {
        const int64_t offset = n[0] * n[8] + n[1] * n[9] + n[2] * n[10] + n[3];
        std::unique_lock<std::mutex> guard(lock);
        wait_for(guard, [&] { return queue.size() - done <= QUEUE; });
        queue.push_back({array, offset, {n[4], n[5], n[6], n[7]}, {n[8], n[9], n[10], n[11]}, !brings || n[12] != 0});
        changed();
    }

    void wait() {
        std::unique_lock<std::mutex> guard(lock);
        wait_for(guard, [&] { return tokens > 0; });
        --tokens;
    }

    // A launch ends when all transfers are done.
    void finish() {
        std::unique_lock<std::mutex> guard(lock);
        wait_for(guard, [&] { return done == queue.size(); });
    }

    void one(uint8_t *place) {
        if (filled == 0) {
            end.acquire(1);
            object = static_cast<uint8_t *>(end.object(0));
        }
        if (brings) std::memcpy(object + filled, place, element); else std::memcpy(place, object + filled, element);
        filled += element;
        if (filled == end.fifo.bytes) {
            filled = 0;
            end.release(1);
        }
    }

    void run() {
        for (size_t next = 0;; ++next) {
            Move move;
            {
                std::unique_lock<std::mutex> guard(lock);
                wait_for(guard, [&] { return queue.size() > next; });
                move = queue[next];
            }
            const int64_t *n = move.sizes, *s = move.strides;
            for (int64_t a = 0; a < n[0]; ++a)
                for (int64_t b = 0; b < n[1]; ++b)
                    for (int64_t c = 0; c < n[2]; ++c)
                        for (int64_t d = 0; d < n[3]; ++d)
                            one(move.array + element * (move.offset + a * s[0] + b * s[1] + c * s[2] + d * s[3]));
            std::unique_lock<std::mutex> guard(lock);
            ++done;
            tokens += move.token;
            changed();
        }
    }
};

// A word of a buffer of a core, which the host writes.
inline void write_word(void *buffer, int32_t at, int32_t value) {
    std::unique_lock<std::mutex> guard(lock);
    static_cast<int32_t *>(buffer)[at] = value;
}

inline void take(FILE *file, void *to, size_t bytes) {
    if (std::fread(to, 1, bytes, file) != bytes) std::_Exit(4);
}

inline void give(FILE *file, const void *from, size_t bytes) {
    if (std::fwrite(from, 1, bytes, file) != bytes) std::_Exit(4);
}
