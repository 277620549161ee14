// The place of a core among those that run a kernel.
#pragma once

#include "pto/pto-inst.hpp"

inline uint32_t get_block_idx(const int64_t *) { return pto::host::core().index(); }
inline uint32_t get_block_num(const int64_t *) { return pto::host::core().cores(); }
// Each runs as the first of its pair.
inline uint32_t get_sub_block_id(const int64_t *) { return 0; }
