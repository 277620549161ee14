//! Headers with which emitted kernels are compiled by the host's compiler, and run there.
//!
//! They stand in for PTO-ISA. A kernel runs over memories as large as the platform's, each byte of which knows who touched it last and whether
//! it holds a value; units have clocks, as in the interpreter of tile programs, with which the headers share no code.

use crate::Headers;

/// The headers. `pto/pto-inst.hpp` is what kernels include, `pto/host-run.hpp` what a program includes that runs kernels, and `pto/host/npz.hpp`
/// what reads and writes arrays.
pub const FILES: Headers = Headers(&[
    "intrinsic.h",
    "pipe_sync.h",
    "tensor.h",
    "pto/host-run.hpp",
    "pto/pto-inst.hpp",
    "pto/host/arithmetic.hpp",
    "pto/host/arrange.hpp",
    "pto/host/bytes.hpp",
    "pto/host/clock.hpp",
    "pto/host/code.hpp",
    "pto/host/convert.hpp",
    "pto/host/core.hpp",
    "pto/host/cores.hpp",
    "pto/host/divide.hpp",
    "pto/host/element.hpp",
    "pto/host/expand.hpp",
    "pto/host/fault.hpp",
    "pto/host/fill.hpp",
    "pto/host/inflate.hpp",
    "pto/host/inputs.hpp",
    "pto/host/launch_memory.hpp",
    "pto/host/matmul.hpp",
    "pto/host/npy.hpp",
    "pto/host/npz.hpp",
    "pto/host/package.hpp",
    "pto/host/platform.hpp",
    "pto/host/program.hpp",
    "pto/host/reduce.hpp",
    "pto/host/rules.hpp",
    "pto/host/select.hpp",
    "pto/host/serial.hpp",
    "pto/host/tensor.hpp",
    "pto/host/text.hpp",
    "pto/host/tile.hpp",
    "pto/host/transfer.hpp",
    "pto/host/unit.hpp",
    "pto/host/view.hpp",
]);

/// What the program of a package consists of beside the package's own: the same for all, so that it is compiled once.
pub const SOURCES: Headers = Headers(&["inputs.cpp", "instructions.cpp", "run.cpp"]);
