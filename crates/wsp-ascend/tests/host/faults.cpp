// Kernels with a planted fault each, and the same kernel without it. A line of output is the name, and what the run
// said.
#include <cmath>
#include <pto/host-run.hpp>

#include "intrinsic.h"
#include "pipe_sync.h"
using namespace pto;

namespace {

constexpr int rows = 8, cols = 32;
constexpr size_t bytes = rows * cols * sizeof(float);

template <int R = rows, int C = cols, int VR = R, int VC = C>
using T = Tile<TileType::Vec, float, R, C, BLayout::RowMajor, VR, VC>;
template <int R, int VR = R>
using Column = Tile<TileType::Vec, float, R, 1, BLayout::ColMajor, VR, 1>;
template <int R = rows, int C = cols>
using G = GlobalTensor<float, Shape<1, 1, 1, R, C>, Stride<1, 1, 1, cols, 1>>;

float *x;
float *y;

void set(pipe_t from, pipe_t to, event_t id = EVENT_ID0) { set_flag(from, to, id); }
void wait(pipe_t from, pipe_t to, event_t id = EVENT_ID0) { wait_flag(from, to, id); }
// Between instructions of V, where the platform has a barrier for it.
void barrier() {
#if PTO_HOST_PLATFORM != 5
    pipe_barrier(PIPE_V);
#endif
}
void sync(pipe_t from, pipe_t to, event_t id = EVENT_ID0) {
    set(from, to, id);
    wait(from, to, id);
}

template <typename D>
D placed(int address) {
    D tile;
    TASSIGN(tile, address);
    return tile;
}

// Loads, doubles and stores, and leaves out what `fault` says.
enum Miss { nothing, set_in, wait_in, out, both_in };
void doubled(Miss miss) {
    const auto t = placed<T<>>(0), u = placed<T<>>(1024);
    TLOAD(t, G<>(x));
    if (miss != set_in && miss != both_in)
        set(PIPE_MTE2, PIPE_V);
    if (miss != wait_in && miss != both_in)
        wait(PIPE_MTE2, PIPE_V);
    TMULS(u, t, 2.0F);
    if (miss != out)
        sync(PIPE_V, PIPE_MTE3);
    TSTORE(G<>(y), u);
}

// An instruction of V that works in place on what another reads before it.
void in_place(bool with_barrier) {
    const auto t = placed<T<>>(0), u = placed<T<>>(1024);
    TLOAD(t, G<>(x));
    sync(PIPE_MTE2, PIPE_V);
    TMULS(u, t, 2.0F);
    if (with_barrier)
        barrier();
    TMULS(t, t, 3.0F);
    sync(PIPE_V, PIPE_MTE3);
    TSTORE(G<>(y), u);
}

// Two instructions of V, one of which reads what the other writes.
void twice(bool waits) {
    const auto t = placed<T<>>(0);
    TEXPANDS(t, 1.0F);
    if (waits)
        barrier();
    TADDS(t, t, 1.0F);
}

// A buffer that a loop loads anew. The load waits for what reads it; no event is left when there are no rounds.
void loop(int rounds, bool back, bool behind) {
    const auto t = placed<T<>>(0), u = placed<T<>>(1024);
    if (back)
        set(PIPE_V, PIPE_MTE2);
    for (int round = 0; round < rounds; ++round) {
        if (back)
            wait(PIPE_V, PIPE_MTE2);
        TLOAD(t, G<>(x));
        sync(PIPE_MTE2, PIPE_V);
        if (round == 0)
            TEXPANDS(u, 0.0F);
        barrier();
        TADD(u, u, t);
        if (back)
            set(PIPE_V, PIPE_MTE2);
    }
    if (back && behind)
        wait(PIPE_V, PIPE_MTE2);
}

// Sets an event again; the second setting waits for the word of the waiter or does not.
void again(bool told) {
    sync(PIPE_MTE2, PIPE_V);
    if (told)
        sync(PIPE_V, PIPE_MTE2, EVENT_ID1);
    sync(PIPE_MTE2, PIPE_V);
}

// What S learns, all units learn.
void through_scalars(bool scalar) {
    const auto t = placed<T<>>(0);
    TLOAD(t, G<>(x));
    sync(PIPE_MTE2, scalar ? PIPE_S : PIPE_MTE3);
    TMULS(t, t, 2.0F);
}

void products(bool event) {
    const auto a = placed<Tile<TileType::Mat, float, 16, 16, BLayout::ColMajor, 16, 16, SLayout::RowMajor>>(0);
    const auto l = placed<TileLeft<float, 16, 16>>(0);
    const auto r = placed<TileRight<float, 16, 16>>(0);
    const auto acc = placed<TileAcc<float, 16, 16>>(0);
    TEXPANDS(a, 1.0F);
    sync(PIPE_MTE2, PIPE_MTE1);
    TMOV(l, a);
    TMOV(r, a);
    sync(PIPE_MTE1, PIPE_M);
    TMATMUL(acc, l, r);
    TMATMUL_ACC(acc, l, r);
    if (event)
        sync(PIPE_M, PIPE_FIX);
    TSTORE(GlobalTensor<float, Shape<1, 1, 1, 16, 16>, Stride<1, 1, 1, 16, 1>>(y), acc);
}

// A load of some rows, and a read of more.
void unwritten(int more) {
    Tile<TileType::Vec, float, rows, cols, BLayout::RowMajor, -1, cols> t(4), u(4 + more);
    TASSIGN(t, 0);
    TASSIGN(u, 0);
    const auto all = placed<T<>>(0);
    TEXPANDS(all, 0.0F);
    sync(PIPE_V, PIPE_MTE2);
    TLOAD(t, G<4, cols>(x));
    sync(PIPE_MTE2, PIPE_V);
    TMULS(u, u, 2.0F);
}

void extents(int held) {
    Tile<TileType::Vec, float, rows, cols, BLayout::RowMajor, -1, cols> t(held);
    TASSIGN(t, 0);
    TEXPANDS(t, 1.0F);
}

void shapes(int held) {
    Tile<TileType::Vec, float, rows, cols, BLayout::RowMajor, -1, cols> t(4), u(held);
    TASSIGN(t, 0);
    TASSIGN(u, 0);
    TEXPANDS(t, 1.0F);
    barrier();
    TMULS(u, t, 2.0F);
}

void tensor_extent(int held) {
    Tile<TileType::Vec, float, rows, cols, BLayout::RowMajor, -1, cols> t(4);
    TASSIGN(t, 0);
    TLOAD(t,
          GlobalTensor<float, Shape<1, 1, 1, -1, cols>, Stride<1, 1, 1, cols, 1>>(x, Shape<1, 1, 1, -1, cols>(held)));
}

void live(int second) {
    const auto t = placed<T<>>(0), u = placed<T<>>(second);
    TLOAD(t, G<>(x));
    TLOAD(u, G<>(x));
    sync(PIPE_MTE2, PIPE_V);
    TMULS(t, t, 2.0F);
}

// Buffers at one place, the second of which is written while the first is in use.
void buffers(uint32_t first, uint32_t second) {
    auto t = placed<T<>>(0), u = placed<T<>>(0);
    host::of_buffer(t, first);
    host::of_buffer(u, second);
    TEXPANDS(t, 1.0F);
    barrier();
    TEXPANDS(u, 2.0F);
    barrier();
    TMULS(t, t, 2.0F);
}

void in_place(int second) {
    const auto t = placed<T<>>(0), u = placed<T<>>(second);
    TEXPANDS(t, 1.0F);
    barrier();
    TMULS(u, t, 2.0F);
}

void reserved(int address) {
    const auto col = placed<Column<8>>(64);
    const auto t = placed<T<>>(1024), held = placed<T<>>(address);
    TEXPANDS(held, 1.0F);
    TEXPANDS(placed<T<1, 8>>(64), 2.0F);
    TEXPANDS(t, 2.0F);
    barrier();
    TROWEXPANDMUL(t, t, col);
    barrier();
    TMULS(held, held, 2.0F);
}

void temporary(bool large) {
    const auto col = placed<Column<8>>(64);
    const auto t = placed<T<>>(1024);
    TEXPANDS(placed<T<1, 8>>(64), 2.0F);
    TEXPANDS(t, 2.0F);
    barrier();
    if (large) {
        TROWEXPANDMUL(t, t, col, placed<T<1, 64>>(4096));
    } else {
        TROWEXPANDMUL(t, t, col, placed<T<1, 32>>(4096));
    }
}

void address(int at) { placed<T<>>(at); }

void tensor_end(int first) {
    const auto t = placed<T<>>(0);
    TLOAD(t, G<>(x + first));
}

void store_end(int first) {
    const auto t = placed<T<>>(0);
    TEXPANDS(t, 1.0F);
    sync(PIPE_V, PIPE_MTE3);
    TSTORE(G<>(y + first), t);
}

void stack(bool stored) {
    float own[rows * cols] = {};
    const auto t = placed<T<>>(0);
    TLOAD(t, G<>(stored ? x : own));
}

void odd_address(int first) {
    const auto t = placed<T<1, 8>>(0);
    auto *at = reinterpret_cast<float *>(reinterpret_cast<uintptr_t>(x) + static_cast<uintptr_t>(first));
    TLOAD(t, G<1, 8>(at));
}

// A tensor is read that no one wrote.
void blank(bool written) {
    const auto t = placed<T<>>(0);
    TLOAD(t, G<>(written ? x : y));
}

// A tensor is stored and loaded again.
void through_tensor(bool event) {
    const auto t = placed<T<>>(0), u = placed<T<>>(1024);
    TEXPANDS(t, 1.0F);
    sync(PIPE_V, PIPE_MTE3);
    TSTORE(G<>(y), t);
    if (event)
        sync(PIPE_MTE3, PIPE_MTE2);
    TLOAD(u, G<>(y));
}

// Scalars of a tensor: what S writes, others wait for.
void scalars(bool event) {
    host::store_scalar(y, host::load_scalar(x));
    if (event)
        sync(PIPE_S, PIPE_MTE2);
    TLOAD(placed<T<1, 8, 1, 1>>(0), G<1, 1>(y));
}

void of_a_tile(bool event) {
    const auto t = placed<T<>>(0);
    TEXPANDS(t, 1.0F);
    if (event)
        sync(PIPE_V, PIPE_S);
    t.GetValue(cols);
}

void element(int place) {
    const auto t = placed<T<>>(0);
    TEXPANDS(t, 1.0F);
    sync(PIPE_V, PIPE_S);
    t.GetValue(place);
}

void gathered(int place) {
    const auto t = placed<T<>>(0), u = placed<T<>>(4096);
    const auto places = placed<Tile<TileType::Vec, int32_t, rows, cols>>(1024);
    const auto own = placed<Tile<TileType::Vec, int32_t, rows, cols>>(2048);
    TEXPANDS(t, 1.0F);
    TEXPANDS(places, place);
    barrier();
    TGATHER(u, t, places, own);
}

void converted(float value) {
    const auto t = placed<T<>>(0);
    TEXPANDS(t, value);
    barrier();
    TCVT(placed<Tile<TileType::Vec, int32_t, rows, cols>>(1024), t, RoundMode::CAST_RINT);
}

void divided(int32_t a, int32_t b) { host::divided(host::Both{a, b}, "kernel `k`"); }

// What the smallest number leaves by -1, and quotients that are rounded up, are those of a plain run.
void left_and_rounded() {
    const char *const k = "kernel `k`";
    const auto up = [&](int32_t a, int32_t b) { return host::ceil_divided(host::Both{a, b}, k); };
    const bool good = host::remainder(host::Both{INT32_MIN, -1}, k) == 0 && up(7, 2) == 4 && up(-7, 2) == -3 &&
                      up(7, -2) == -3 && up(-7, -2) == 4 && host::ceil_divided(host::Both{7u, 2u}, k) == 4;
    if (!good) host::fault("value", {"a remainder or a quotient is another"});
}

void compared(CmpMode mode) {
    const auto t = placed<Tile<TileType::Vec, int32_t, rows, cols>>(0);
    TEXPANDS(t, 1);
    barrier();
    TCMPS(placed<Tile<TileType::Vec, uint8_t, rows, cols, BLayout::RowMajor, rows, cols / 8>>(1024), t, 1, mode);
}

// A comparison of 20 of 32 columns, and a selection by it.
template <int Compared, int Selected>
void masked() {
    const auto t = placed<T<rows, cols, rows, 20>>(0);
    TEXPANDS(t, 1.0F);
    barrier();
    TCMPS(placed<Tile<TileType::Vec, uint8_t, rows, cols, BLayout::RowMajor, rows, Compared>>(1024), t, 1.0F, CmpMode::EQ);
    barrier();
    TSEL(t, placed<Tile<TileType::Vec, uint8_t, rows, cols, BLayout::RowMajor, rows, Selected>>(1024), t, t,
         placed<Tile<TileType::Vec, uint32_t, 1, 16>>(2048));
}

void boxes(int row) {
    const auto a = placed<Tile<TileType::Mat, half, 64, 32, BLayout::ColMajor, 64, 32, SLayout::RowMajor>>(0);
    TEXPANDS(a, 1.0F);
    sync(PIPE_MTE2, PIPE_MTE1);
    TEXTRACT(placed<TileLeft<half, 16, 16>>(0), a, row, 16);
}

// Two cores that store eight floats each.
void lines(uint32_t core, int apart) {
    const auto t = placed<T<1, 8>>(0);
    TEXPANDS(t, 1.0F);
    sync(PIPE_V, PIPE_MTE3);
    TSTORE(G<1, 8>(y + static_cast<int>(core) * apart), t);
}

void filled(int address) {
    const auto t = placed<T<8, 32, 8, 5>>(0);
    TEXPANDS(t, 1.0F);
    barrier();
    TFILLPAD_INPLACE(
        placed<Tile<TileType::Vec, float, 8, 32, BLayout::RowMajor, 8, 32, SLayout::NoneBox, 512, PadValue::Min>>(
            address),
        t);
}

// Loops in loops, with edges over the back of both, and a barrier.
void nested(int outer, int inner) {
    const auto t = placed<T<>>(0), sum = placed<T<>>(1024), u = placed<T<>>(2048);
    set(PIPE_V, PIPE_MTE2);
    set(PIPE_MTE3, PIPE_V);
    for (int round = 0; round < outer; ++round) {
        wait(PIPE_MTE3, PIPE_V);
        TEXPANDS(sum, 0.0F);
        for (int step = 0; step < inner; ++step) {
            wait(PIPE_V, PIPE_MTE2);
            TLOAD(t, G<>(x));
            sync(PIPE_MTE2, PIPE_V, EVENT_ID1);
            barrier();
            TADD(sum, sum, t);
            set(PIPE_V, PIPE_MTE2);
        }
        barrier();
        TMULS(u, sum, 0.5F);
        sync(PIPE_V, PIPE_MTE3, EVENT_ID2);
        TSTORE(G<>(y), u);
        set(PIPE_MTE3, PIPE_V);
    }
    wait(PIPE_V, PIPE_MTE2);
    wait(PIPE_MTE3, PIPE_V);
}

// Numbers in order, which V makes, are stored.
void numbered(pipe_t maker) {
    using Row = Tile<TileType::Vec, int32_t, 1, cols>;
    const auto t = placed<Row>(0);
    TCI<Row, int32_t, 0>(t, 0);
    sync(maker, PIPE_MTE3);
    TSTORE(GlobalTensor<int32_t, Shape<1, 1, 1, 1, cols>, Stride<1, 1, 1, cols, 1>>(reinterpret_cast<int32_t *>(y)), t);
}

// A product over steps, whose operands pass through one place of L1.
void steps(bool back) {
    const auto a = placed<Tile<TileType::Mat, half, 16, 16, BLayout::ColMajor, 16, 16, SLayout::RowMajor>>(0);
    const auto l = placed<TileLeft<half, 16, 16>>(0);
    const auto r = placed<TileRight<half, 16, 16>>(0);
    const auto acc = placed<TileAcc<float, 16, 16>>(0);
    set(PIPE_M, PIPE_MTE1);
    if (back) {
        set(PIPE_MTE1, PIPE_MTE2);
    }
    for (int step = 0; step < 3; ++step) {
        if (back) {
            wait(PIPE_MTE1, PIPE_MTE2);
        }
        TLOAD(a, GlobalTensor<half, Shape<1, 1, 1, 16, 16>, Stride<1, 1, 1, 16, 1>>(reinterpret_cast<half *>(x)));
        sync(PIPE_MTE2, PIPE_MTE1);
        wait(PIPE_M, PIPE_MTE1);
        TMOV(l, a);
        TMOV(r, a);
        sync(PIPE_MTE1, PIPE_M);
        if (back) {
            set(PIPE_MTE1, PIPE_MTE2);
        }
        if (step == 0) {
            TMATMUL(acc, l, r);
        } else {
            TMATMUL_ACC(acc, l, r);
        }
        set(PIPE_M, PIPE_MTE1);
    }
    wait(PIPE_M, PIPE_MTE1);
    if (back) {
        wait(PIPE_MTE1, PIPE_MTE2);
    }
}

// Two places that take turns, each with an event; `swapped` waits for that of the other.
void turns(bool swapped) {
    set(PIPE_V, PIPE_MTE2, EVENT_ID0);
    set(PIPE_V, PIPE_MTE2, EVENT_ID1);
    for (int round = 0; round < 5; ++round) {
        const auto own = round % 2 == 0 ? EVENT_ID0 : EVENT_ID1, other = round % 2 == 0 ? EVENT_ID1 : EVENT_ID0;
        const auto t = placed<T<>>(round % 2 * 1024), u = placed<T<>>(2048);
        wait(PIPE_V, PIPE_MTE2, swapped ? other : own);
        TLOAD(t, G<>(x));
        sync(PIPE_MTE2, PIPE_V, own);
        barrier();
        TMULS(u, t, 2.0F);
        set(PIPE_V, PIPE_MTE2, own);
    }
    wait(PIPE_V, PIPE_MTE2, EVENT_ID0);
    wait(PIPE_V, PIPE_MTE2, EVENT_ID1);
}

// Runs of `nested` without one kind of edge: the place among those that it has.
int left_out = -1;
bool is_edge(const host::Sync &sync) {
    constexpr host::Sync edges[] = {{PIPE_V, PIPE_MTE2, 0, {}},
                                    {PIPE_MTE3, PIPE_V, 0, {}},
                                    {PIPE_MTE2, PIPE_V, 1, {}},
                                    {PIPE_V, PIPE_MTE3, 2, {}},
                                    {PIPE_V, PIPE_V, 0, {}}};
    const host::Sync &edge = edges[left_out];
    return sync.from == edge.from && sync.to == edge.to && sync.id == edge.id;
}
void without(int edge) {
    left_out = edge;
    host::omits = is_edge;
    nested(3, 3);
}

// What is left out of a task for both cores of a5.
enum class Lost { nothing, event, set, answer };

// The cube core moves a product to UB in each round, and the vector core adds to it.
void between([[maybe_unused]] Lost lost, [[maybe_unused]] int rounds) {
#if PTO_HOST_PLATFORM == 5
    const auto a = placed<Tile<TileType::Mat, float, 16, 16, BLayout::ColMajor, 16, 16, SLayout::RowMajor>>(0);
    const auto l = placed<TileLeft<float, 16, 16>>(0);
    const auto r = placed<TileRight<float, 16, 16>>(0);
    const auto acc = placed<TileAcc<float, 16, 16>>(0);
    const auto t = placed<T<16, 16>>(0);
    host::on_core(host::Side::Cube);
    TEXPANDS(a, 1.0F);
    sync(PIPE_MTE2, PIPE_MTE1);
    TMOV(l, a);
    TMOV(r, a);
    sync(PIPE_MTE1, PIPE_M);
    for (int round = 0; round < rounds; ++round) {
        host::on_core(host::Side::Cube);
        if (round > 0)
            sync(PIPE_FIX, PIPE_M);
        TMATMUL(acc, l, r);
        sync(PIPE_M, PIPE_FIX);
        if (round > 0 && lost != Lost::answer)
            wait_intra_block(PIPE_FIX, 0);
        TMOV(t, acc);
        if (lost != Lost::event && lost != Lost::set)
            set_intra_block(PIPE_FIX, 3);
        host::on_core(host::Side::Vector);
        if (lost != Lost::event)
            wait_intra_block(PIPE_V, 3);
        TADDS(t, t, 1.0F);
        if (round + 1 < rounds && lost != Lost::answer)
            set_intra_block(PIPE_V, 0);
    }
#endif
}

// The vector core moves a tile in boxes to L1, from where the cube core takes it.
void boxed([[maybe_unused]] bool event) {
#if PTO_HOST_PLATFORM == 5
    const auto t = placed<T<16, 16>>(0);
    const auto boxes =
        placed<Tile<TileType::Vec, float, 16, 16, BLayout::ColMajor, 16, 16, SLayout::RowMajor>>(1024);
    const auto a = placed<Tile<TileType::Mat, float, 16, 16, BLayout::ColMajor, 16, 16, SLayout::RowMajor>>(0);
    const auto l = placed<TileLeft<float, 16, 16>>(0);
    host::on_core(host::Side::Vector);
    TEXPANDS(t, 1.0F);
    TMOV(boxes, t);
    sync(PIPE_V, PIPE_MTE3);
    TMOV(a, boxes);
    if (event)
        set_intra_block(PIPE_MTE3, 7);
    host::on_core(host::Side::Cube);
    if (event)
        wait_intra_block(PIPE_MTE1, 7);
    TMOV(l, a);
#endif
}

// A fill of L1 by one of the cores.
void core_of_products([[maybe_unused]] host::Side side) {
#if PTO_HOST_PLATFORM == 5
    host::on_core(side);
    TEXPANDS(placed<Tile<TileType::Mat, float, 16, 16, BLayout::ColMajor, 16, 16, SLayout::RowMajor>>(0), 1.0F);
#endif
}

// Two units set one event between cores: numbers are not of a pair.
void shared_number([[maybe_unused]] int other) {
#if PTO_HOST_PLATFORM == 5
    host::on_core(host::Side::Cube);
    set_intra_block(PIPE_FIX, 1);
    set_intra_block(PIPE_MTE1, other);
    host::on_core(host::Side::Vector);
    wait_intra_block(PIPE_V, 1);
    wait_intra_block(PIPE_MTE3, other);
#endif
}

// Two units of a core wait for one event between cores, the second of which may know that the first is past its wait.
void two_waiters([[maybe_unused]] bool told) {
#if PTO_HOST_PLATFORM == 5
    host::on_core(host::Side::Cube);
    set_intra_block(PIPE_FIX, 0);
    host::on_core(host::Side::Vector);
    wait_intra_block(PIPE_V, 0);
    set_intra_block(PIPE_V, 0);
    if (told) {
        sync(PIPE_V, PIPE_MTE3);
    }
    host::on_core(host::Side::Cube);
    wait_intra_block(PIPE_FIX, 0);
    set_intra_block(PIPE_FIX, 0);
    host::on_core(host::Side::Vector);
    wait_intra_block(PIPE_MTE3, 0);
#endif
}

// An event of one unit that another of the same core waits for, by that of the core.
void own_event([[maybe_unused]] host::Side side) {
#if PTO_HOST_PLATFORM == 5
    const auto t = placed<T<>>(0);
    host::on_core(host::Side::Vector);
    set(PIPE_MTE2, PIPE_S);
    host::on_core(side);
    wait(PIPE_MTE2, PIPE_S);
    TLOAD(t, G<>(x));
#endif
}

host::Tensors tensors;

template <typename F>
void say(const char *name, uint32_t cores, const F &kernel) {
    tensors.clear();
    x = static_cast<float *>(tensors.blank("x", bytes));
    y = static_cast<float *>(tensors.blank("y", bytes));
    // `x` is written by a kernel of its own.
    std::string told = host::run([] {
        const auto t = placed<T<>>(0);
        TEXPANDS(t, 1.0F);
        sync(PIPE_V, PIPE_MTE3);
        TSTORE(G<>(x), t);
        pipe_sync();
    });
    if (told.empty()) {
        told = host::launch(cores, kernel);
        host::omits = nullptr;
    }
    std::printf("%s\t%s\n", name, told.c_str());
}

#define SAY(name, ...) say(name, 1, [](uint32_t) { __VA_ARGS__; })

}  // namespace

int main(int argc, char **argv) {
    if (argc > 1 && std::string(argv[1]) == "exit") {
        SAY("exit", doubled(wait_in));
        return 0;
    }
    host::on_fault = host::OnFault::Record;
    SAY("right: doubled", doubled(nothing));
    SAY("order: no event of a load", doubled(both_in));
    SAY("order: no event of a store", doubled(out));
    SAY("order: a wait is missing", doubled(wait_in));
    SAY("event-not-set: a set is missing", doubled(set_in));
    SAY("right: a barrier", twice(true));
    SAY("a2 a3 order: no barrier", twice(false));
    SAY("a2 a3 order: no barrier before a write in place", in_place(false));
    SAY("right: a barrier before a write in place", in_place(true));
    SAY("right: a loop", loop(3, true, true));
    SAY("right: a loop of no rounds", loop(0, true, true));
    SAY("order: no event over the back of a loop", loop(2, false, false));
    SAY("event-left-set: a loop of no rounds", loop(0, true, false));
    SAY("event-left-set: a loop", loop(3, true, false));
    SAY("event-set-twice: no wait between", set(PIPE_V, PIPE_MTE3); set(PIPE_V, PIPE_MTE3));
    SAY("right: set again, told", again(true));
    SAY("event-set-early: set again, not told", again(false));
    SAY("event-not-set: waited for twice", sync(PIPE_V, PIPE_MTE3); wait(PIPE_V, PIPE_MTE3));
    SAY("event: of a unit with itself", set(PIPE_V, PIPE_V));
    SAY("event: of no number", set(PIPE_V, PIPE_MTE3, static_cast<event_t>(8)));
    SAY("right: S tells all", through_scalars(true));
    SAY("order: another unit tells no one", through_scalars(false));
    SAY("right: products", products(true));
    SAY("order: of a product", products(false));
    SAY("right: what is written is read", unwritten(0));
    SAY("poison: beside what is loaded", unwritten(1));
    SAY("poison: nothing is written", TMULS(placed<T<>>(0), placed<T<>>(0), 2.0F));
    SAY("right: all rows", extents(8));
    SAY("extent: no rows", extents(0));
    SAY("extent: fewer than no rows", extents(-3));
    SAY("extent: too many rows", extents(9));
    SAY("right: equal shapes", shapes(4));
    SAY("shape: unequal shapes", shapes(5));
    SAY("right: rows of a tensor", tensor_extent(4));
    SAY("extent: no rows of a tensor", tensor_extent(0));
    SAY("shape: rows of a tensor", tensor_extent(5));
    SAY("right: buffers apart", live(1024));
    SAY("overlap: live buffers", live(512));
    SAY("right: two tiles of a buffer", buffers(1, 1));
    SAY("right: buffers that are not said", buffers(1, 0));
    SAY("overlap: buffers at one place", buffers(1, 2));
    SAY("right: in place", in_place(0));
    SAY("overlap: half in place", in_place(512));
    SAY("right: below what expansions use", reserved(64 * 1024));
    SAY("a2 a3 poison: where expansions use bytes", reserved(184 * 1024));
    SAY("right: a temporary tile", temporary(true));
    SAY("a2 a3 shape: a small temporary tile", temporary(false));
    SAY("right: the last address", address(191 * 1024));
    SAY("a2 a3 address: past the end", address(192 * 1024));
    SAY("address: past all ends", address(255 * 1024 + 32));
    SAY("address: none", TEXPANDS(T<>(), 1.0F));
    SAY("alignment: of a tile", address(16));
    SAY("alignment: below 0", address(-32));
    SAY("right: a whole tensor", tensor_end(0));
    SAY("bounds: past a tensor", tensor_end(1));
    SAY("bounds: store past a tensor", store_end(32));
    SAY("bounds: far before a tensor", tensor_end(-64));
    SAY("bounds: no tensor", stack(false));
    SAY("right: an aligned element", odd_address(4));
    SAY("alignment: of an element", odd_address(2));
    SAY("right: a tensor with values", blank(true));
    SAY("poison: a tensor without values", blank(false));
    SAY("right: through a tensor", through_tensor(true));
    SAY("order: through a tensor", through_tensor(false));
    SAY("right: a scalar", scalars(true));
    SAY("order: a scalar", scalars(false));
    SAY("right: an element", of_a_tile(true));
    SAY("order: an element", of_a_tile(false));
    SAY("bounds: an element", element(rows * cols));
    SAY("right: a place", gathered(255));
    SAY("bounds: a place", gathered(256));
    SAY("bounds: a place below 0", gathered(-1));
    SAY("right: a value of int32_t", converted(2147483520.0F));
    SAY("value: none of int32_t", converted(2147483648.0F));
    SAY("value: NaN", converted(std::nanf("")));
    SAY("right: a division", divided(INT32_MIN, 1));
    SAY("right: a remainder by -1, and quotients that are rounded up", left_and_rounded());
    SAY("value: a division by 0", divided(0, 0));
    SAY("value: a quotient beyond its type", divided(INT32_MIN, -1));
    SAY("right: equal whole numbers", compared(CmpMode::EQ));
    SAY("element: larger whole numbers", compared(CmpMode::GT));
    SAY("right: a mask with the bytes of a row, then those of its bits", (masked<4, 3>()));
    SAY("shape: a comparison with the bytes of its valid bits", (masked<3, 3>()));
    SAY("shape: a comparison as if bits were bytes", (masked<cols, 3>()));
    SAY("shape: a selection with the bytes of a row", (masked<4, 4>()));
    SAY("right: a box", boxes(16));
    SAY("alignment: between boxes", boxes(8));
    SAY("bounds: past the boxes", boxes(64));
    SAY("right: a fill in place", filled(0));
    SAY("address: a fill in another place", filled(2048));
    say("right: lines of two cores", 2, [](uint32_t core) { lines(core, 16); });
    say("line: one line of two cores", 2, [](uint32_t core) { lines(core, 8); });
    say("line: a stride of 60 bytes", 3, [](uint32_t core) { lines(core, 15); });
    SAY("right: loops in loops", nested(3, 3));
    SAY("right: loops in loops, one of no rounds", nested(2, 0));
    SAY("order: without the edge from the sum to the next load", without(0));
    SAY("order: without the edge from the store to the next sum", without(1));
    SAY("order: without the edge from the load to the sum", without(2));
    SAY("order: without the edge from the sum to the store", without(3));
    SAY("a2 a3 order: without the barriers", without(4));
    SAY("right: numbers in order", numbered(PIPE_V));
    SAY("order: numbers in order, as of S", numbered(PIPE_S));
    SAY("right: steps through one place", steps(true));
    SAY("order: steps through one place", steps(false));
    SAY("right: places that take turns", turns(false));
    SAY("event-set-twice: places that take turns", turns(true));
    SAY("right: rounds of two cores", between(Lost::nothing, 3));
    SAY("a5 order: no event between cores", between(Lost::event, 1));
    SAY("a5 event-not-set: no set between cores", between(Lost::set, 1));
    SAY("a5 order: no answer between cores", between(Lost::answer, 2));
    SAY("right: an operand of the vector core", boxed(true));
    SAY("a5 order: an operand without an event", boxed(false));
    SAY("right: two numbers between cores", shared_number(2));
    SAY("a5 event-set-twice: one number between cores", shared_number(1));
    SAY("right: one number between cores, one waiter after another", two_waiters(true));
    SAY("a5 event-wait-early: one number between cores, two waiters", two_waiters(false));
    SAY("a5 event: no such number between cores", shared_number(8));
    SAY("right: an event of a core", own_event(host::Side::Vector));
    SAY("a5 event-not-set: an event of the other core", own_event(host::Side::Cube));
    SAY("a5 core: what the other core does", core_of_products(host::Side::Vector));
    SAY("right: what a core does", core_of_products(host::Side::Cube));
    SAY("right: after a fault", doubled(nothing));
    return 0;
}
