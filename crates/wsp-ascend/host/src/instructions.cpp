// The code of instructions, of memories and of clocks on simulated cores: the same for all packages of a platform.
#define PTO_HOST_HAS_CODE
#include <pto/host-run.hpp>
