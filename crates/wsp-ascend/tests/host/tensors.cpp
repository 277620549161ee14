#include <pto/pto-inst.hpp>

#include <pto/host-run.hpp>

using namespace pto;

// Words of 64 bits without a sign from one tensor to another.
void copy(uint64_t *to, uint64_t *from) {
    Tile<TileType::Vec, uint64_t, 1, 4, BLayout::RowMajor, 1, 4> tile;
    TASSIGN(tile, 0u);
    using Words = GlobalTensor<uint64_t, Shape<1, 1, 1, 1, 4>, Stride<4, 4, 4, 4, 1>, Layout::ND>;
    TLOAD(tile, Words(from));
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    TSTORE(Words(to), tile);
}

int main(int, char **words) {
    host::Tensors tensors;
    tensors.read("none.bin");
    void *blank = tensors.blank("y", 0);
    auto *from = static_cast<uint64_t *>(tensors.read("words.bin"));
    auto *to = static_cast<uint64_t *>(tensors.blank("to", 32));
    host::run([&] { copy(to, from); });
    volatile uint32_t none = words[1][0] == 'd' ? 0 : 1;
    host::run([&] { none = 5 / none; });
    tensors.write(blank, "copied_none.bin");
    tensors.write(to, "copied_words.bin");
}
