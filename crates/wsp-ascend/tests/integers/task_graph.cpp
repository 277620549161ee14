// Reads lines `unit condition a b c` and prints the value of the condition, or `fault`.
#include <cinttypes>
#include <cstdio>

#include "conditions.hpp"

namespace {

struct Nothing final : Device {
    void launch(uint32_t, const Kernel &, const Argument *, uint32_t, uint32_t) override {}
    void copy(uint32_t, const Copy &) override {}
    void await_event(uint32_t, uint32_t) override {}
    void await_notify(uint32_t, Notification) override {}
    uint32_t wait() override { return NONE; }
    void release(uint32_t) override {}
    void notify(Notification) override {}
    void signal(uint32_t) override {}
    void fence(FenceScope) override {}
    bool load(uint32_t, int64_t, ScalarType, int64_t *) override { return false; }
};

}  // namespace

int main() {
    Nothing device;
    uint32_t unit, condition;
    int64_t arguments[3];
    while (std::scanf("%" SCNu32 " %" SCNu32 " %" SCNd64 " %" SCNd64 " %" SCNd64, &unit, &condition, &arguments[0],
                      &arguments[1], &arguments[2]) == 5) {
        const GraphLaunch launch{0, 0, 1, arguments};
        Scalars scalars(device, launch, nullptr);
        const int64_t value = conditions[unit](device, scalars, condition);
        if (scalars.failed()) std::printf("fault\n");
        else std::printf("%" PRId64 "\n", value);
    }
    return 0;
}
