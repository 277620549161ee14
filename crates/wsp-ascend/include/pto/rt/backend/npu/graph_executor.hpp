// Forwards to the header under its other name.
#pragma once

#include "pto/wsp/backend/npu/graph_executor.hpp"
