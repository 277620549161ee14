// A device for tests of emitted graphs: prints what it is asked to do, a line each.
//
//     host UNIT POLICY
//
// Kernels, copies and waits are over in the order in which they were started (POLICY 0), the other way round (1), or anyhow (2).
// A scalar in memory is 20 less the kernels started so far, plus its offset, as long as that is above 0; else 0.

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "pto/wsp/backend/npu/task_graph.hpp"

using namespace pto::wsp::backend::npu;

extern const Graph *const units[];

extern "C" [[noreturn]] void wsp_panic_reached() {
    std::puts("panic");
    std::abort();
}

namespace {

class Printer final : public Device {
public:
    explicit Printer(int policy) : policy_(policy) {}

    void launch(uint32_t node, const Kernel &kernel, const Argument *arguments, uint32_t part, uint32_t parts) override {
        std::printf("launch %s entry %s blocks %u core %u workspace %" PRIu64, kernel.name, kernel.entry, kernel.blocks,
                    static_cast<unsigned>(kernel.core_type), kernel.workspace);
        for (uint32_t at = 0; at < kernel.arguments; ++at) {
            const Argument &a = arguments[at];
            std::printf(" %u:%u+%" PRId64 "/%" PRId64, a.index, a.tensor, a.offset, a.size);
        }
        std::puts("");
        ++launched_;
        if (part + 1 == parts) running_.push_back(node);
    }
    void copy(uint32_t node, const Copy &c) override {
        std::printf("copy %u+%" PRIu64 " %u+%" PRIu64 " %" PRIu64 "\n", c.src, c.src_offset, c.dst, c.dst_offset, c.size);
        running_.push_back(node);
    }
    void await_event(uint32_t node, uint32_t event) override {
        std::printf("await event %u\n", event);
        running_.push_back(node);
    }
    void await_notify(uint32_t node, Notification from) override {
        std::printf("await notify %u from %u\n", from.notify, from.device);
        running_.push_back(node);
    }
    uint32_t wait() override {
        if (running_.empty()) return NONE;
        state_ = state_ * 1664525u + 1013904223u;
        size_t at = policy_ == 0 ? 0 : policy_ == 1 ? running_.size() - 1 : (state_ >> 8) % running_.size();
        const uint32_t node = running_[at];
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
        return node;
    }
    void release(uint32_t tensor) override { std::printf("free %u\n", tensor); }
    void notify(Notification to) override { std::printf("notify %u of %u\n", to.notify, to.device); }
    void signal(uint32_t event) override { std::printf("signal %u\n", event); }
    void fence(FenceScope scope) override { std::printf("fence %u\n", static_cast<unsigned>(scope)); }
    bool load(uint32_t, int64_t offset, ScalarType, int64_t *value) override {
        *value = launched_ < 20 ? 20 - launched_ + offset : 0;
        return true;
    }

private:
    int policy_;
    uint32_t state_ = 1;
    int64_t launched_ = 0;
    std::vector<uint32_t> running_;
};

}  // namespace

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    Printer device(std::atoi(argv[2]));
    const std::vector<int64_t> arguments(64, 2);
    const GraphLaunch launch = {3, 0, 1, arguments.data()};
    RuntimeExtensionInterpreter interpreter(*units[std::atoi(argv[1])], device, launch);
    std::vector<uint64_t> workspace(interpreter.workspace_bytes() / 8 + 1);
    const GraphOutcome outcome = interpreter.execute(reinterpret_cast<uint8_t *>(workspace.data()), workspace.size() * 8);
    std::printf("outcome %d\n", static_cast<int>(outcome));
    return 0;
}
