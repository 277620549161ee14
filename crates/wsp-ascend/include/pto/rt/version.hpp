// Forwards to the header under its other name.
#pragma once

#include "pto/wsp/version.hpp"
