#include <pto/pto-inst.hpp>

#include <pto/host-run.hpp>

int main(int, char **words) {
    pto::host::Tensors tensors;
    tensors.read("none.bin");
    void *blank = tensors.blank("y", 0);
    volatile uint32_t none = words[1][0] == 'd' ? 0 : 1;
    pto::host::run([&] { none = 5 / none; });
    tensors.write(blank, "copied.bin");
}
