// Forwards to the header under its other name.
#pragma once

#include "pto/wsp/backend/npu/expander_turns.hpp"
