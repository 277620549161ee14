// The end of a kernel.
#pragma once

#include "pto/pto-inst.hpp"

// S waits until all that the kernel stores is stored. It takes the last event of the units that store.
inline void pipe_sync(PTO_HOST_SITE) {
    set_flag(PIPE_MTE3, PIPE_S, EVENT_ID7, site);
    wait_flag(PIPE_MTE3, PIPE_S, EVENT_ID7, site);
    set_flag(PIPE_FIX, PIPE_S, EVENT_ID7, site);
    wait_flag(PIPE_FIX, PIPE_S, EVENT_ID7, site);
}
