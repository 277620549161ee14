// Runs a task graph on an AICPU: what emitted graphs build on.
//
// A graph is an image for the machine of wsp_tg.h, and tables that say what its nodes are. A `Device` does what they say. The
// interpreter between them allocates nothing but the workspace, throws nothing and waits for nothing but the device.
#ifndef PTO_WSP_BACKEND_NPU_TASK_GRAPH_HPP
#define PTO_WSP_BACKEND_NPU_TASK_GRAPH_HPP

#include <cstdint>

#include "pto/wsp/version.hpp"
#include "wsp_tg.h"

namespace pto::wsp::backend::npu {

enum class CoreType : uint32_t { Aic = 0, Aiv = 1, AicAiv = 2, Aicpu = 3 };

// How far a fence makes writes visible.
enum class FenceScope : uint32_t { Device = 0, L2 = 1, Gm = 2 };

enum class ScalarType : uint32_t { U8 = 0, U32 = 1, I32 = 2, U64 = 3, I64 = 4 };

// Bytes of a tensor that a kernel is given.
struct Argument {
    uint32_t index;
    uint32_t tensor;
    int64_t offset;
    // 0 is the rest of the tensor.
    int64_t size;
};

// A kernel of a graph.
struct Kernel {
    const char *name;
    const char *entry;
    uint32_t blocks;
    CoreType core_type;
    uint64_t workspace;
    uint32_t arguments;
};

// A copy of a graph.
struct Copy {
    uint32_t src;
    uint32_t dst;
    uint64_t size;
    uint64_t src_offset;
    uint64_t dst_offset;
};

// Another device, and a notification to or from it.
struct Notification {
    uint32_t device;
    uint32_t notify;
};

// What a graph runs on. `launch`, `copy`, `await_event` and `await_notify` start something and return; `wait` returns a node
// of those that is over, or `NONE` when nothing runs. Everything else is over when it returns. A node of several kernels, which are
// one dispatch, is launched part by part, and is over when all of them are. `await_event` is for the signal of the last launch before
// this one that signals the event, or else of the first behind it; a graph that awaits an event and signals it awaits another launch.
class Device {
public:
    static constexpr uint32_t NONE = UINT32_MAX;

    virtual void launch(uint32_t node, const Kernel &kernel, const Argument *arguments, uint32_t part, uint32_t parts) = 0;
    virtual void copy(uint32_t node, const Copy &copy) = 0;
    virtual void await_event(uint32_t node, uint32_t event) = 0;
    virtual void await_notify(uint32_t node, Notification from) = 0;
    virtual uint32_t wait() = 0;
    virtual void release(uint32_t tensor) = 0;
    virtual void notify(Notification to) = 0;
    virtual void signal(uint32_t event) = 0;
    virtual void fence(FenceScope scope) = 0;
    // Reads a scalar; false when it is not within the tensor.
    virtual bool load(uint32_t tensor, int64_t offset, ScalarType type, int64_t *value) = 0;

protected:
    ~Device() = default;
};

// What a launch is given.
struct GraphLaunch {
    int64_t iteration;
    int64_t device;
    int64_t devices;
    // Declared scalars, in the order of their declarations.
    const int64_t *arguments;
};

// Values of expressions. Arithmetic is checked: after an overflow, a division by zero or a scalar that cannot be read, `failed` is
// set and values are 0.
class Scalars {
public:
    Scalars(Device &device, const GraphLaunch &launch, const uint32_t *iterations)
        : device_(device), launch_(launch), iterations_(iterations) {}

    bool failed() const { return failed_; }
    int64_t iteration() const { return launch_.iteration; }
    int64_t device() const { return launch_.device; }
    int64_t devices() const { return launch_.devices; }
    int64_t argument(uint32_t index) const { return launch_.arguments[index]; }
    int64_t loop(uint32_t index) const { return iterations_[index]; }

    int64_t load(uint32_t tensor, ScalarType type, int64_t offset) {
        int64_t value = 0;
        return failed_ || device_.load(tensor, offset, type, &value) ? value : fail();
    }
    int64_t add(int64_t a, int64_t b) {
        int64_t value;
        return __builtin_add_overflow(a, b, &value) ? fail() : value;
    }
    int64_t sub(int64_t a, int64_t b) {
        int64_t value;
        return __builtin_sub_overflow(a, b, &value) ? fail() : value;
    }
    int64_t mul(int64_t a, int64_t b) {
        int64_t value;
        return __builtin_mul_overflow(a, b, &value) ? fail() : value;
    }
    int64_t div(int64_t a, int64_t b) { return b == 0 || (a == INT64_MIN && b == -1) ? fail() : a / b; }
    // The smallest integer by -1 leaves nothing.
    int64_t rem(int64_t a, int64_t b) { return b == 0 ? fail() : b == -1 ? 0 : a % b; }
    int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
    int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }

    // One of a few tensors.
    uint32_t choose(const uint32_t *tensors, uint32_t count, int64_t index) {
        if (index < 0 || index >= static_cast<int64_t>(count)) {
            fail();
            return 0;
        }
        return tensors[index];
    }

private:
    int64_t fail() {
        failed_ = true;
        return 0;
    }

    Device &device_;
    const GraphLaunch &launch_;
    const uint32_t *iterations_;
    bool failed_ = false;
};

// A graph: its image, and what its nodes are.
struct Graph {
    const char *name;
    const uint32_t *image;
    uint64_t image_words;
    const Kernel *kernels;
    const Copy *copies;
    // Tensors that are released.
    const uint32_t *frees;
    const Notification *notifies;
    const Notification *notify_waits;
    const uint32_t *event_waits;
    const uint32_t *signals;
    // Kernels of a dispatch beside the first: those of `batches` from `batch_first[kernel]` to `batch_first[kernel + 1]`.
    const uint32_t *batch_first;
    const uint32_t *batches;
    // Makes visible what a node may read, before it starts.
    void (*before)(Device &device, uint32_t node);
    // The arguments of a kernel.
    void (*arguments)(Scalars &scalars, uint32_t kernel, Argument *arguments);
    // The value of a condition.
    int64_t (*condition)(Device &device, Scalars &scalars, uint32_t condition);
};

enum class GraphOutcome {
    Done,
    // The image or the memory is not right.
    Refused,
    // A condition or an argument has no value, or a loop has too many iterations.
    Fault,
    // Nothing runs and nothing can start.
    Stuck,
};

// Most arguments of a kernel.
constexpr uint32_t MAX_ARGUMENTS = 64;
// Most kernels that start together.
constexpr uint32_t MAX_GANG = 256;
// Most loops of a graph.
constexpr uint32_t MAX_LOOPS = 256;

// The interpreter of document 000, section 10.3.
class RuntimeExtensionInterpreter {
public:
    RuntimeExtensionInterpreter(const Graph &graph, Device &device, const GraphLaunch &launch)
        : graph_(graph), device_(device), launch_(launch) {}

    // Bytes of workspace that `execute` takes.
    uint64_t workspace_bytes() const {
        uint64_t bytes = 0;
        return wsp_tg_bytes(image(), image_bytes(), &bytes, nullptr) == WSP_TG_OK ? bytes : 0;
    }

    // Runs the graph to its end. `workspace` begins at a multiple of 8.
    GraphOutcome execute(uint8_t *workspace, uint64_t bytes) {
        wsp_tg_handle *handle = nullptr;
        if (wsp_tg_open(image(), image_bytes(), workspace, bytes, &handle, nullptr) != WSP_TG_OK) {
            return GraphOutcome::Refused;
        }
        const wsp_tg_host host = {this, &RuntimeExtensionInterpreter::evaluate};
        for (;;) {
            wsp_tg_step step = {};
            if (wsp_tg_next(handle, &host, &step, nullptr) != WSP_TG_OK) return GraphOutcome::Fault;
            switch (step.kind) {
            case WSP_TG_DONE: return GraphOutcome::Done;
            case WSP_TG_RUN:
                if (!start(handle, step.at, step.node_kind, step.item)) return GraphOutcome::Fault;
                break;
            case WSP_TG_GANG:
                if (!start_gang(handle, step.at)) return GraphOutcome::Fault;
                break;
            case WSP_TG_SIGNAL: device_.signal(graph_.signals[step.item]); break;
            default: {
                const uint32_t node = device_.wait();
                if (node == Device::NONE) return GraphOutcome::Stuck;
                if (wsp_tg_complete(handle, node) != WSP_TG_OK) return GraphOutcome::Fault;
                break;
            }
            }
        }
    }

private:
    const uint8_t *image() const { return reinterpret_cast<const uint8_t *>(graph_.image); }
    uint64_t image_bytes() const { return graph_.image_words * sizeof(uint32_t); }

    static int32_t evaluate(void *user, uint32_t condition, const uint32_t *iterations, uint64_t, int64_t *value) {
        auto &self = *static_cast<RuntimeExtensionInterpreter *>(user);
        Scalars scalars(self.device_, self.launch_, iterations);
        *value = self.graph_.condition(self.device_, scalars, condition);
        return scalars.failed() ? 1 : 0;
    }

    bool start_gang(wsp_tg_handle *handle, uint32_t gang) {
        uint32_t nodes[MAX_GANG];
        uint64_t count = 0;
        if (wsp_tg_gang(handle, gang, nodes, MAX_GANG, &count) != WSP_TG_OK || count > MAX_GANG) return false;
        for (uint64_t at = 0; at < count; ++at) {
            wsp_tg_step step = {};
            if (wsp_tg_node(handle, nodes[at], &step) != WSP_TG_OK) return false;
            if (!start(handle, step.at, step.node_kind, step.item)) return false;
        }
        return true;
    }

    bool start(wsp_tg_handle *handle, uint32_t node, uint32_t kind, uint32_t item) {
        graph_.before(device_, node);
        switch (kind) {
        case WSP_TG_KERNEL: return launch(handle, node, item);
        case WSP_TG_COPY: device_.copy(node, graph_.copies[item]); return true;
        case WSP_TG_WAIT_EVENT: device_.await_event(node, graph_.event_waits[item]); return true;
        case WSP_TG_WAIT_NOTIFY: device_.await_notify(node, graph_.notify_waits[item]); return true;
        case WSP_TG_FREE: device_.release(graph_.frees[item]); break;
        case WSP_TG_NOTIFY: device_.notify(graph_.notifies[item]); break;
        default: return false;
        }
        return wsp_tg_complete(handle, node) == WSP_TG_OK;
    }

    bool launch(wsp_tg_handle *handle, uint32_t node, uint32_t item) {
        uint32_t iterations[MAX_LOOPS];
        uint64_t loops = 0;
        if (wsp_tg_iterations(handle, iterations, MAX_LOOPS, &loops) != WSP_TG_OK || loops > MAX_LOOPS) return false;
        const uint32_t first = graph_.batch_first[item];
        const uint32_t parts = 1 + graph_.batch_first[item + 1] - first;
        for (uint32_t part = 0; part < parts; ++part) {
            const uint32_t kernel = part == 0 ? item : graph_.batches[first + part - 1];
            Scalars scalars(device_, launch_, iterations);
            Argument arguments[MAX_ARGUMENTS];
            graph_.arguments(scalars, kernel, arguments);
            if (scalars.failed()) return false;
            device_.launch(node, graph_.kernels[kernel], arguments, part, parts);
        }
        return true;
    }

    const Graph &graph_;
    Device &device_;
    const GraphLaunch &launch_;
};

}  // namespace pto::wsp::backend::npu

#endif
