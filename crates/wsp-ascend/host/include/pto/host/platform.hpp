// The platform that kernels are compiled for: `-DPTO_PLATFORM=a2`, `a3` or `a5`.
#pragma once

#include <cstdint>

#define PTO_HOST_PLATFORM_a2 2
#define PTO_HOST_PLATFORM_a3 3
#define PTO_HOST_PLATFORM_a5 5
#define PTO_HOST_JOINED(a, b) a##b
#define PTO_HOST_JOIN(a, b) PTO_HOST_JOINED(a, b)

#ifndef PTO_PLATFORM
#error "no platform: compile with -DPTO_PLATFORM=a2, a3 or a5"
#elif !PTO_HOST_JOIN(PTO_HOST_PLATFORM_, PTO_PLATFORM)
#error "PTO_PLATFORM is a2, a3 or a5"
#else
#define PTO_HOST_PLATFORM PTO_HOST_JOIN(PTO_HOST_PLATFORM_, PTO_PLATFORM)
#endif

namespace pto::host {

// Whether the platform is a5; a2 and a3 have the same cores.
constexpr bool is_a5 = PTO_HOST_PLATFORM == 5;

// Memories of a core. Each has addresses of its own, from 0 on.
enum class Memory : int { UB, L1, L0A, L0B, L0C, Bias };
constexpr int memories = 6;

constexpr const char *name_of(Memory memory) {
    constexpr const char *names[memories] = {"UB", "L1", "L0A", "L0B", "L0C", "the bias table"};
    return names[static_cast<int>(memory)];
}

// Bytes of a memory.
constexpr uint32_t capacity(Memory memory) {
    constexpr uint32_t kib[2][memories] = {{192, 512, 64, 64, 128, 1}, {256, 512, 64, 64, 256, 4}};
    return kib[is_a5 ? 1 : 0][static_cast<int>(memory)] * 1024;
}

// Addresses and rows of tiles are multiples of this many bytes.
constexpr uint32_t alignment = 32;

// Where operations that expand a column without a tile of their own for it keep it on a2 and a3, and how many bytes
// they take.
constexpr uint32_t expand_address = 184 * 1024;
constexpr uint32_t expand_bytes = 8 * 1024;

}  // namespace pto::host
