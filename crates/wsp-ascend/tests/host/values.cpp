// Results of instructions. Tensors `a` and `b` are 8 x 32 floats from files. A line of output is the name of a result
// and its elements as bits.
#include <cmath>
#include <pto/host-run.hpp>
using namespace pto;

namespace {

template <int R, int C, int VR = R, int VC = C, typename T = float>
using Rows = Tile<TileType::Vec, T, R, C, BLayout::RowMajor, VR, VC>;
template <int R, typename T = float>
using Column = Tile<TileType::Vec, T, R, 1, BLayout::ColMajor, R, 1>;
template <PadValue pad, typename T = float>
using Padded = Tile<TileType::Vec, T, 8, 32, BLayout::RowMajor, 8, 32, SLayout::NoneBox, 512, pad>;
template <int R, int C, typename T = float>
using ND = GlobalTensor<T, Shape<1, 1, 1, R, C>, Stride<1, 1, 1, C, 1>>;
template <int R, int C, typename T = float>
using DN = GlobalTensor<T, Shape<1, 1, 1, R, C>, Stride<1, 1, 1, 1, R>, Layout::DN>;
template <int R, int C, typename T>
using NZ = Tile<TileType::Mat, T, R, C, BLayout::ColMajor, R, C, SLayout::RowMajor>;
template <int R, int C, typename T>
using ZN = Tile<TileType::Mat, T, R, C, BLayout::RowMajor, R, C, SLayout::ColMajor>;
using Whole = Rows<8, 32>;
using Bits = Rows<8, 64, 8, 4, uint8_t>;

host::Tensors tensors;
float *a, *b;

// Between instructions of V, where the platform has a barrier for it.
void barrier() {
#if PTO_HOST_PLATFORM != 5
    pipe_barrier(PIPE_V);
#endif
}
void sync(pipe_t from, pipe_t to) {
    set_flag(from, to, EVENT_ID0);
    wait_flag(from, to, EVENT_ID0);
}

template <typename D>
D at(int address) {
    D tile;
    TASSIGN(tile, address);
    return tile;
}

void end_at(const char *name, const std::string &fault) {
    if (!fault.empty()) {
        std::fprintf(stderr, "%s: %s\n", name, fault.c_str());
        std::exit(1);
    }
}

template <typename T, typename F>
void result(const char *name, int count, const F &kernel) {
    auto *y = static_cast<T *>(tensors.blank("y", static_cast<size_t>(count) * sizeof(T)));
    end_at(name, host::run([&] { kernel(y); }));
    std::printf("%s", name);
    for (int place = 0; place < count; ++place) {
        uint32_t bits = 0;
        std::memcpy(&bits, y + place, sizeof(T));
        std::printf(" %x", bits);
    }
    std::printf("\n");
}

// `op(result, a, b)`, where the result is a tile of UB.
template <typename D = Whole, typename F>
void vector(const char *name, const F &op) {
    using T = typename D::DType;
    result<T>(name, D::Valid[0] * D::Valid[1], [&](T *y) {
        const auto t = at<Whole>(0), u = at<Whole>(1024);
        const auto r = at<D>(2048);
        TLOAD(t, ND<8, 32>(a));
        TLOAD(u, ND<8, 32>(b));
        sync(PIPE_MTE2, PIPE_V);
        op(r, t, u);
        sync(PIPE_V, PIPE_MTE3);
        if constexpr (D::form == host::Form::Columns) {
            TSTORE(DN<D::Rows, 1, T>(y), r);
        } else {
            TSTORE(GlobalTensor<T, Shape<1, 1, 1, D::Valid[0], D::Valid[1]>, Stride<1, 1, 1, D::Valid[1], 1>>(y), r);
        }
    });
}

#define BINARY(NAME) vector(#NAME, [](auto &r, auto &t, auto &u) { NAME(r, t, u); })
#define UNARY(NAME) vector(#NAME, [](auto &r, auto &t, auto &) { NAME(r, t); })
#define SCALAR(NAME) vector(#NAME, [](auto &r, auto &t, auto &) { NAME(r, t, 1.5F); })
// The first column of `b` and its first row are the values.
#define ALONG(NAME)                                                                                                    \
    vector("TROWEXPAND" #NAME, [](auto &r, auto &t, auto &u) {                                                         \
        TROWMAX(at<Column<8>>(4096), u, at<Whole>(5120));                                                              \
        barrier();                                                                                                     \
        TROWEXPAND##NAME(r, t, at<Column<8>>(4096), at<Rows<1, 64>>(5120));                                            \
    });                                                                                                                \
    vector("TCOLEXPAND" #NAME, [](auto &r, auto &t, auto &) { TCOLEXPAND##NAME(r, t, at<Rows<1, 32>>(1024)); })
#define REDUCED(NAME)                                                                                                  \
    vector<Column<8>>("TROW" #NAME, [](auto &r, auto &t, auto &) { TROW##NAME(r, t, at<Whole>(4096)); });              \
    vector<Rows<1, 32>>("TCOL" #NAME, [](auto &r, auto &t, auto &) { TCOL##NAME(r, t); })
#define PLACES(NAME)                                                                                                   \
    vector<Column<8, int32_t>>("TROW" #NAME, [](auto &r, auto &t, auto &) { TROW##NAME(r, t, at<Whole>(4096)); });     \
    vector<Rows<1, 32, 1, 32, int32_t>>("TCOL" #NAME,                                                                  \
                                        [](auto &r, auto &t, auto &) { TCOL##NAME(r, t, at<Whole>(4096)); })
#define COMPARED(MODE)                                                                                                 \
    vector("TSEL " #MODE, [](auto &r, auto &t, auto &u) {                                                              \
        TCMP(at<Bits>(4096), t, u, CmpMode::MODE);                                                                     \
        barrier();                                                                                                     \
        TSEL(r, at<Bits>(4096), t, u, at<Rows<1, 16, 1, 16, uint32_t>>(8192));                                         \
    });                                                                                                                \
    vector("TSELS " #MODE, [](auto &r, auto &t, auto &) {                                                              \
        TCMPS(at<Bits>(4096), t, 1.5F, CmpMode::MODE);                                                                 \
        barrier();                                                                                                     \
        TSELS(r, at<Bits>(4096), t, at<Rows<1, 16>>(8192), -7.0F);                                                     \
    })
#define FILLED(PAD)                                                                                                    \
    vector<Padded<PAD>>("TFILLPAD " #PAD, [](auto &r, auto &, auto &) { TFILLPAD(r, at<Rows<8, 32, 5, 19>>(0)); })
#define ROUNDED(MODE)                                                                                                  \
    vector<Rows<8, 32, 8, 32, half>>("half " #MODE, [](auto &r, auto &t, auto &) { TCVT(r, t, RoundMode::MODE); });    \
    vector<Rows<8, 32, 8, 32, bfloat16_t>>("bfloat16_t " #MODE,                                                        \
                                           [](auto &r, auto &t, auto &) { TCVT(r, t, RoundMode::MODE); });             \
    vector("float " #MODE, [](auto &r, auto &t, auto &) { TCVT(r, t, RoundMode::MODE); });                             \
    vector<Rows<8, 32, 8, 32, int32_t>>("int32_t " #MODE, [](auto &r, auto &t, auto &) {                               \
        TMAXS(t, t, -9e8F);                                                                                            \
        barrier();                                                                                                     \
        TCVT(r, t, RoundMode::MODE);                                                                                   \
    })

void vectors() {
    BINARY(TADD);
    BINARY(TSUB);
    BINARY(TMUL);
    BINARY(TDIV);
    BINARY(TMAX);
    BINARY(TMIN);
    UNARY(TNEG);
    UNARY(TABS);
    UNARY(TRELU);
    UNARY(TEXP);
    UNARY(TLOG);
    UNARY(TSQRT);
    UNARY(TRSQRT);
    UNARY(TRECIP);
    SCALAR(TADDS);
    SCALAR(TSUBS);
    SCALAR(TMULS);
    SCALAR(TDIVS);
    SCALAR(TMAXS);
    SCALAR(TMINS);
    vector("TDIVS reversed", [](auto &r, auto &t, auto &) { TDIVS(r, 1.5F, t); });
    ALONG(ADD);
    ALONG(SUB);
    ALONG(MUL);
    ALONG(DIV);
    ALONG(MAX);
    ALONG(MIN);
    ALONG(EXPDIF);
    vector("TCOLEXPAND", [](auto &r, auto &, auto &) { TCOLEXPAND(r, at<Rows<1, 32>>(1024)); });
    REDUCED(SUM);
    REDUCED(MAX);
    REDUCED(MIN);
    PLACES(ARGMAX);
    PLACES(ARGMIN);
    COMPARED(EQ);
    COMPARED(NE);
    COMPARED(LT);
    COMPARED(LE);
    COMPARED(GT);
    COMPARED(GE);
}

void arrangements() {
    FILLED(PadValue::Zero);
    FILLED(PadValue::Max);
    FILLED(PadValue::Min);
    FILLED(PadValueCustom(2.5F));
    ROUNDED(CAST_RINT);
    ROUNDED(CAST_ROUND);
    ROUNDED(CAST_FLOOR);
    ROUNDED(CAST_CEIL);
    ROUNDED(CAST_TRUNC);
    vector<Rows<32, 8>>("TTRANS", [](auto &r, auto &t, auto &) { TTRANS(r, t, at<Rows<32, 16>>(8192)); });
    vector<Rows<3, 8, 3, 7>>("TEXTRACT", [](auto &r, auto &t, auto &) { TEXTRACT(r, t, 2, 5); });
    vector<Rows<1, 32, 1, 32, int32_t>>(
        "TCI", [](auto &r, auto &, auto &) { TCI<Rows<1, 32, 1, 32, int32_t>, int32_t, 0>(r, -3); });
    vector<Rows<1, 32>>("TGATHER", [](auto &r, auto &t, auto &) {
        const auto places = at<Rows<1, 32, 1, 32, int32_t>>(4096);
        TCI<Rows<1, 32, 1, 32, int32_t>, int32_t, 1>(places, 255);
        barrier();
        TGATHER(r, t, places, at<Rows<1, 32, 1, 32, int32_t>>(5120));
    });
}

// A product of the first elements of `a` and `b`, as elements of type T: 16 x K times K x 16, the second transposed or
// not.
template <typename T, typename C, int K, bool turned>
void product(const char *name) {
    auto *left = static_cast<T *>(tensors.blank("left", 16 * K * sizeof(T)));
    auto *right = static_cast<T *>(tensors.blank("right", 16 * K * sizeof(T)));
    end_at(name, host::run([&] {
               for (int place = 0; place < 16 * K; ++place) {
                   host::store_scalar(left + place, static_cast<T>(a[place % 224]));
                   host::store_scalar(right + place, static_cast<T>(b[place % 224]));
               }
           }));
    result<C>(name, 16 * 16, [&](C *y) {
        const auto l = at<NZ<16, K, T>>(0);
        const auto r = at<std::conditional_t<turned, ZN<K, 16, T>, NZ<(K + 15) / 16 * 16, 16, T>>>(65536);
        TLOAD(l, ND<16, K, T>(left));
        if constexpr (turned) {
            TLOAD(r, DN<K, 16, T>(right));
        } else {
            TLOAD(r, ND<K, 16, T>(right));
        }
        sync(PIPE_MTE2, PIPE_MTE1);
        const auto lt = at<TileLeft<T, 16, K>>(0);
        const auto rt = at<TileRight<T, K, 16>>(0);
        const auto acc = at<TileAcc<C, 16, 16>>(0);
        TMOV(lt, l);
        TMOV(rt, r);
        sync(PIPE_MTE1, PIPE_M);
        TMATMUL(acc, lt, rt);
        TMATMUL_ACC(acc, lt, rt);
        sync(PIPE_M, PIPE_FIX);
        TSTORE(ND<16, 16, C>(y), acc);
    });
}

void numbers() {
    // All numbers of 16 bits, and those of 32 bits that a file has.
    std::printf("half values");
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        std::printf(" %x", host::bits_of(host::half_value(static_cast<uint16_t>(bits))));
    }
    std::printf("\n");
    const auto *words = static_cast<const float *>(tensors.read("words.bin"));
    const uint32_t count = host::core().tensor_at(words)->bytes.size / 4;
    const char *names[] = {"half bits", "bfloat16_t bits"};
    for (int kind = 0; kind < 2; ++kind) {
        std::printf("%s", names[kind]);
        for (uint32_t place = 0; place < count; ++place) {
            std::printf(" %x", kind == 0 ? host::half_bits(words[place]) : host::bfloat_bits(words[place]));
        }
        std::printf("\n");
    }
}

}  // namespace

int main() {
    a = static_cast<float *>(tensors.read("a.bin"));
    b = static_cast<float *>(tensors.read("b.bin"));
    host::on_fault = host::OnFault::Record;
    vectors();
    arrangements();
    product<half, float, 32, false>("product of half");
    product<half, float, 16, true>("product of half, transposed");
    product<bfloat16_t, float, 16, false>("product of bfloat16_t");
    product<float, float, 8, true>("product of float, transposed");
    product<int8_t, int32_t, 32, true>("product of int8_t, transposed");
    numbers();
    return 0;
}
