//! How a package is built.

use super::kernels::Task;
use crate::kernels::Chip;
use wsp_backend::PackagePart;

/// Files (`.cpp`) that the program of a package is compiled from: those of its own. One includes `orchestration.cpp`, which needs the same headers, and
/// the other all kernels.
pub const OWN_SOURCES: [&str; 2] = ["main", "aicore_dispatch"];
/// Those that are the same for all packages, so that they are compiled once. The first one has code that others refer to.
pub const COMMON_SOURCES: [&str; 3] = ["host/instructions", "host/inputs", "host/run"];

/// Both, as a compiler is given them.
fn sources() -> String {
    let all = OWN_SOURCES.iter().chain(&COMMON_SOURCES);
    all.map(|source| format!("{source}.cpp")).collect::<Vec<_>>().join(" ")
}

/// `main.cpp`: the program of the host.
pub(super) fn main(has_host: bool) -> String {
    let (include, on_host, dispatch) = match has_host {
        true => (
            "#include \"host_kernels.hpp\"\n",
            "is_on_host(kernel)",
            "is_on_host(kernel) ? host_dispatch(kernel, args) : ",
        ),
        false => ("", "false", ""),
    };
    MAIN.replace("@INCLUDE", include)
        .replace("@HAS_HOST", if has_host { "true" } else { "false" })
        .replace("@ON_HOST", on_host)
        .replace("@DISPATCH", dispatch)
}

const MAIN: &str = "// Runs the launch on simulated cores of the host. Emitted by PTO-WSP; do not edit.\n\
     #include <pto/host/package.hpp>\n\n\
     #include \"kernel_ids.h\"\n\
     #include \"orchestration.cpp\"\n\
     @INCLUDE\n\
     bool aicore_dispatch(std::uint16_t kernel, std::int64_t* args);\n\n\
     struct Program {\n    \
         using Launch = program::Launch;\n    \
         using Policy = program::Policy;\n    \
         template <class Inputs> static bool bind(Launch& l, Inputs& in) { return program::bind(l, in); }\n    \
         static bool plan(Launch& l, pto::wsp::backend::npu::Memory& memory, pto::wsp::backend::npu::Trapped& trap) {\n        \
             return program::plan(l, memory, trap);\n    \
         }\n    \
         static bool orchestrate(const Launch& l, const pto::wsp::backend::npu::TaskSink& sink, pto::wsp::backend::npu::Trapped& trap) {\n        \
             return program::orchestrate(l, sink, trap);\n    \
         }\n    \
         template <class F> static void parameters(const Launch& l, F f) { program::parameters(l, f); }\n    \
         template <class F> static void outputs(const Launch& l, F f) { program::outputs(l, f); }\n    \
         static bool dispatch(std::uint16_t kernel, std::int64_t* args) { return @DISPATCHaicore_dispatch(kernel, args); }\n    \
         // Whether the host runs it, and no core; whether there are such.\n    \
         static constexpr bool has_host = @HAS_HOST;\n    \
         static bool on_host([[maybe_unused]] std::uint16_t kernel) { return @ON_HOST; }\n    \
         static const char* name(std::uint16_t kernel) {\n        \
             switch (kernel) {\n\
     #define KERNEL_NAME(id, name, params, unit) case id: return #name;\n            \
                 KERNEL_LIST(KERNEL_NAME)\n\
     #undef KERNEL_NAME\n            \
                 default: return \"?\";\n        \
             }\n    \
         }\n\
     };\n\n\
     int main(int argc, char** argv) { return pto::host::run_program<Program>(argc, argv); }\n";

/// `CMakeLists.txt`.
///
/// A package with the program of a workload links the interpreter; a part of one has nothing for a host.
pub(super) fn cmake(chip: Chip, tasks: &[Task<'_>], links_device: bool, part: PackagePart) -> String {
    let mut out = String::from("# Emitted by PTO-WSP; do not edit.\n");
    let (define, file, links) = match links_device {
        true => (" -DWSP_DEVICE_LIB=LIB", " LIB -Wl,--gc-sections", " ${WSP_DEVICE_LIB} -Wl,--gc-sections"),
        false => ("", "", ""),
    };
    let (has_host, chip) = (part == PackagePart::Whole, chip.name());
    if has_host {
        out += &HOST_LINES
            .replace("@DEFINE", define)
            .replace("@CHIP", chip)
            .replace("@FILE", file)
            .replace("@SOURCES", &sources());
    }
    if links_device {
        out += LIBRARY_LINES;
    }
    out += HEAD;
    if has_host {
        out += "option(PTO_HOST \"build for simulated cores of the host\" OFF)\n";
    }
    if links_device {
        out += LIBRARY;
    }
    out += "set(KERNELS\n";
    for task in tasks.iter().filter(|task| !task.on_host) {
        out += &format!("    {}\n", task.source.name);
    }
    out += ")\n";
    let device = match links_device {
        true => DEVICE.replace(
            "foreach(kernel ",
            &format!("target_link_libraries(orchestration PRIVATE{links})\nforeach(kernel "),
        ),
        false => DEVICE.to_owned(),
    };
    if !has_host {
        return out + &device;
    }
    out += &HOST.replace("@CHIP", chip).replace("@LINKS", links).replace("@SOURCES", &sources());
    out += "else()\n";
    let isa = "give it with -DPTO_ISA_ROOT=FOLDER";
    let device = device.replace(isa, &format!("{isa}, or build for the host with -DPTO_HOST=ON"));
    device.lines().for_each(|line| out += &format!("  {line}\n"));
    out + "endif()\n"
}

const HOST_LINES: &str = "#
#   cmake -S . -B b -DPTO_HOST=ON@DEFINE && cmake --build b && b/run --inputs x.npz --outputs y.npz
#
# Without cmake:
#   g++ -std=c++17 -Og -pthread -DPTO_PLATFORM=@CHIP -DWSP_ONE_FILE -I. -Iinclude -Ihost @SOURCES@FILE -o run
";

const LIBRARY_LINES: &str = "#
# LIB is libwsp_device.a, the interpreter of the program, for where the package runs. From the source of PTO-WSP:
#   cargo rustc -p wsp-device --lib --profile device --crate-type staticlib --features panic-handler
";

const HEAD: &str = "cmake_minimum_required(VERSION 3.16)
project(package CXX)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(PTO_ISA_ROOT \"\" CACHE PATH \"the folder of PTO-ISA, with include/pto\")
set(PTO_ISA_VERSION \"\" CACHE STRING \"the version of PTO-ISA as 100 * major + minor, which files compare with theirs\")
if(PTO_ISA_VERSION)
  add_compile_definitions(PTO_ISA_VERSION=${PTO_ISA_VERSION})
endif()
";

const LIBRARY: &str = "set(WSP_DEVICE_LIB \"\" CACHE FILEPATH \"libwsp_device.a\")
if(NOT EXISTS \"${WSP_DEVICE_LIB}\")
  message(FATAL_ERROR \"WSP_DEVICE_LIB names no file; give the interpreter with -DWSP_DEVICE_LIB=FOLDER/libwsp_device.a\")
endif()
get_filename_component(WSP_DEVICE_LIB \"${WSP_DEVICE_LIB}\" ABSOLUTE)
";

const HOST: &str = "if(PTO_HOST)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
    set(CMAKE_CXX_FLAGS_RELEASE \"-Og\")
  endif()
  find_package(Threads REQUIRED)
  add_executable(run @SOURCES)
  target_include_directories(run PRIVATE . include host)
  target_compile_definitions(run PRIVATE PTO_PLATFORM=@CHIP WSP_ONE_FILE)
  target_link_libraries(run PRIVATE@LINKS Threads::Threads)
";

const DEVICE: &str = "if(NOT EXISTS \"${PTO_ISA_ROOT}/include/pto/pto-inst.hpp\")
  message(FATAL_ERROR \"PTO_ISA_ROOT names no folder with include/pto/pto-inst.hpp; give it with -DPTO_ISA_ROOT=FOLDER\")
endif()
add_library(orchestration SHARED orchestration.cpp)
target_include_directories(orchestration PRIVATE . include)
foreach(kernel ${KERNELS})
  add_library(${kernel} OBJECT kernels/${kernel}.cpp)
  target_include_directories(${kernel} PRIVATE ${PTO_ISA_ROOT}/include)
endforeach()
";
