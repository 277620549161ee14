// Memory of a launch on simulated cores.
#pragma once

#include <string>
#include <vector>

#include "pto/host-run.hpp"
#include "pto/wsp/backend/npu/launch.hpp"

namespace pto::host {

namespace npu = pto::wsp::backend::npu;

// Each byte knows whether it holds a value.
class LaunchMemory : public npu::Memory {
public:
    void *get(const std::string &name, std::uint64_t bytes) override {
        if (bytes > UINT32_MAX - 8192) return nullptr;
        return tensors_.blank(name, static_cast<std::size_t>(bytes));
    }
    void copy(void *to, const void *from, std::uint64_t bytes) override {
        npu::Memory::copy(to, from, bytes);
        copy_values(to, from, bytes);
    }
    void *given(const std::string &name, const std::vector<std::uint8_t> &bytes) {
        if (bytes.size() > UINT32_MAX - 8192) return nullptr;
        return tensors_.given(name, bytes.data(), bytes.size());
    }

private:
    Tensors tensors_;
};

}  // namespace pto::host
