// Forwards to the header under its other name.
#pragma once

#include "pto/wsp/backend/npu/kernel_launch.hpp"
