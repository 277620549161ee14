// Functions of which one file of a program has the code, `host/instructions.cpp`, where all kernels are one file: others that are compiled without
// optimisation refer to it, which takes a compiler less time than to make the same code in each. Elsewhere they are inline, and those apart not inlined.
#pragma once

#if defined(PTO_HOST_HAS_CODE)
#define PTO_HOST_CODE inline __attribute__((used))
#define PTO_HOST_APART inline __attribute__((used, noinline))
#elif defined(WSP_ONE_FILE) && !defined(__OPTIMIZE__)
#define PTO_HOST_CODE inline __attribute__((gnu_inline))
#define PTO_HOST_APART PTO_HOST_CODE
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wgnu-inline-cpp-without-extern"
#endif
#else
#define PTO_HOST_CODE inline
#define PTO_HOST_APART inline __attribute__((noinline))
#endif
