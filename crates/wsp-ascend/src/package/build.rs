//! How a package is built.

use super::kernels::Task;
use crate::kernels::Chip;
use crate::writer::Writer;

/// `main.cpp`: the program of the host.
pub(super) fn main() -> String {
    "// Runs the launch on simulated cores of the host. Emitted by PTO-WSP; do not edit.\n\
     #include <pto/host/program.hpp>\n\n\
     #include \"kernel_ids.h\"\n\
     #include \"program.hpp\"\n\n\
     bool aicore_dispatch(std::uint16_t kernel, std::int64_t* args);\n\n\
     struct Program {\n    \
         using Launch = program::Launch;\n    \
         using Policy = program::Policy;\n    \
         template <class Inputs> static bool bind(Launch& l, Inputs& in) { return program::bind(l, in); }\n    \
         static bool plan(Launch& l, pto::wsp::backend::npu::Memory& memory, pto::wsp::backend::npu::Trap& trap) {\n        \
             return program::plan(l, memory, trap);\n    \
         }\n    \
         static bool orchestrate(const Launch& l, const pto::wsp::backend::npu::TaskSink& sink, pto::wsp::backend::npu::Trap& trap) {\n        \
             return program::orchestrate(l, sink, trap);\n    \
         }\n    \
         template <class F> static void parameters(const Launch& l, F f) { program::parameters(l, f); }\n    \
         template <class F> static void outputs(const Launch& l, F f) { program::outputs(l, f); }\n    \
         static bool dispatch(std::uint16_t kernel, std::int64_t* args) { return aicore_dispatch(kernel, args); }\n    \
         static const char* name(std::uint16_t kernel) {\n        \
             switch (kernel) {\n\
     #define KERNEL_NAME(id, name, params, unit) case id: return #name;\n            \
                 KERNEL_LIST(KERNEL_NAME)\n\
     #undef KERNEL_NAME\n            \
                 default: return \"?\";\n        \
             }\n    \
         }\n\
     };\n\n\
     int main(int argc, char** argv) { return pto::host::run_program<Program>(argc, argv); }\n"
        .to_owned()
}

/// `CMakeLists.txt`.
pub(super) fn cmake(chip: Chip, tasks: &[Task<'_>]) -> String {
    let mut out = Writer::default();
    out.line("# Emitted by PTO-WSP; do not edit.");
    out.line("#");
    out.line("#   cmake -S . -B b -DPTO_HOST=ON && cmake --build b && b/run --inputs x.npz --outputs y.npz");
    out.line("#");
    out.line("# Without cmake:");
    out.line(format!(
        "#   g++ -std=c++17 -O1 -pthread -DPTO_PLATFORM={} -DWSP_ONE_FILE -I. -Iinclude -Ihost main.cpp orchestration.cpp aicore_dispatch.cpp -o run",
        chip.name()
    ));
    out.line("cmake_minimum_required(VERSION 3.16)");
    out.line("project(package CXX)");
    out.line("set(CMAKE_CXX_STANDARD 17)");
    out.line("set(CMAKE_CXX_STANDARD_REQUIRED ON)");
    out.line("set(CMAKE_CXX_EXTENSIONS OFF)");
    out.line("option(PTO_HOST \"build for simulated cores of the host\" OFF)");
    out.line("set(PTO_ISA_ROOT \"\" CACHE PATH \"the folder of PTO-ISA, with include/pto\")");
    out.line("set(PTO_ISA_VERSION \"\" CACHE STRING \"the version of PTO-ISA as 100 * major + minor, which files compare with theirs\")");
    out.line("if(PTO_ISA_VERSION)");
    out.line("  add_compile_definitions(PTO_ISA_VERSION=${PTO_ISA_VERSION})");
    out.line("endif()");
    out.line("set(KERNELS");
    for task in tasks {
        out.line(format!("    {}", task.source.name));
    }
    out.line(")");
    out.line("if(PTO_HOST)");
    out.line("  if(NOT CMAKE_BUILD_TYPE)");
    out.line("    set(CMAKE_BUILD_TYPE Release)");
    out.line("  endif()");
    out.line("  set(CMAKE_CXX_FLAGS_RELEASE \"-O1\")");
    out.line("  find_package(Threads REQUIRED)");
    out.line("  add_executable(run main.cpp orchestration.cpp aicore_dispatch.cpp)");
    out.line("  target_include_directories(run PRIVATE . include host)");
    out.line(format!("  target_compile_definitions(run PRIVATE PTO_PLATFORM={} WSP_ONE_FILE)", chip.name()));
    out.line("  target_link_libraries(run PRIVATE Threads::Threads)");
    out.line("else()");
    out.line("  if(NOT EXISTS \"${PTO_ISA_ROOT}/include/pto/pto-inst.hpp\")");
    out.line("    message(FATAL_ERROR \"PTO_ISA_ROOT names no folder with include/pto/pto-inst.hpp; give it with -DPTO_ISA_ROOT=FOLDER, or build for the host with -DPTO_HOST=ON\")");
    out.line("  endif()");
    out.line("  add_library(orchestration SHARED orchestration.cpp)");
    out.line("  target_include_directories(orchestration PRIVATE . include)");
    out.line("  foreach(kernel ${KERNELS})");
    out.line("    add_library(${kernel} OBJECT kernels/${kernel}.cpp)");
    out.line("    target_include_directories(${kernel} PRIVATE ${PTO_ISA_ROOT}/include)");
    out.line("  endforeach()");
    out.line("endif()");
    out.finish()
}
