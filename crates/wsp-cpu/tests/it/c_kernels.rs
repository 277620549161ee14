//! Kernels in C: compiled, loaded and run as bodies of declared kernels.
#![allow(clippy::disallowed_methods, reason = "files are what the compiler takes")]
#![allow(unsafe_code, reason = "a library is loaded as a program of a user would load it")]

use crate::tg::common::{inputs, unit};
use std::ffi::{CString, OsString, c_char, c_int, c_void};
use std::fmt::Write as _;
use std::mem::{offset_of, size_of, transmute};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use wsp_backend::{Absent, Args, Backend as _, Outcome, RunError, RunOptions, WorkloadRunOptions};
use wsp_core::DType;
use wsp_cpu::CpuSimBackend;
use wsp_cpu::tg::TgKernels;
use wsp_cpu::workload::{CKernel, CTask, CTensor, KernelRegistry};
use wsp_diag::SourceMap;
use wsp_ir::workload::text::parse;
use wsp_plan::target::CPU_SIM;
use wsp_plan::{Array, UnitSource};

/// Kernels that look at everything that they are given.
const KERNELS: &str = r#"
int32_t add(const wsp_task *task) {
    const wsp_tensor *x = &task->tensors[0], *y = &task->tensors[1];
    if (task->num_tensors != 2 || task->num_scalars != 1 || x->dtype != WSP_F32 || x->rank != 2) return 7;
    for (uint64_t i = 0; i < x->shape[0]; ++i)
        for (uint64_t j = 0; j < x->shape[1]; ++j) {
            const char *from = (const char *)x->data + i * x->strides[0] + j * x->strides[1];
            char *to = (char *)y->data + i * y->strides[0] + j * y->strides[1];
            *(float *)to += *(const float *)from + (float)task->scalars[0];
        }
    return 0;
}
int32_t twice_entry(const wsp_task *task) {
    const wsp_tensor *x = &task->tensors[0], *y = &task->tensors[1];
    int64_t block = task->scalars[0], blocks = task->scalars[1], elements = (int64_t)(x->shape[0] / 8);
    if (task->num_tensors != 3 || task->num_scalars != 5 || x->dtype != WSP_U8 || x->strides[0] != 1) return 7;
    if (task->tensors[2].shape[0] != 64) return 8;
    for (int64_t i = block; i < elements; i += blocks) ((int64_t *)y->data)[i] = 2 * ((const int64_t *)x->data)[i];
    return 0;
}
int32_t fail(const wsp_task *task) { return (int32_t)task->scalars[0]; }
"#;

/// The text of a C file, which compiles where the header agrees with the records of Rust.
fn text() -> String {
    let mut text = String::from("#include \"wsp_kernel.h\"\n#include <stddef.h>\n");
    let mut check = |what: String, is: usize| {
        writeln!(text, "_Static_assert({what} == {is}, \"{what}\");").expect("text grows");
    };
    check("sizeof(wsp_tensor)".to_owned(), size_of::<CTensor>());
    check("sizeof(wsp_task)".to_owned(), size_of::<CTask>());
    for (field, at) in [
        ("data", offset_of!(CTensor, data)),
        ("shape", offset_of!(CTensor, shape)),
        ("strides", offset_of!(CTensor, strides)),
        ("rank", offset_of!(CTensor, rank)),
        ("dtype", offset_of!(CTensor, dtype)),
    ] {
        check(format!("offsetof(wsp_tensor, {field})"), at);
    }
    for (field, at) in [
        ("tensors", offset_of!(CTask, tensors)),
        ("scalars", offset_of!(CTask, scalars)),
        ("num_tensors", offset_of!(CTask, num_tensors)),
        ("num_scalars", offset_of!(CTask, num_scalars)),
    ] {
        check(format!("offsetof(wsp_task, {field})"), at);
    }
    for (number, dtype) in DType::ALL.into_iter().enumerate() {
        assert_eq!(dtype as usize, number);
        check(format!("WSP_{}", dtype.name().to_uppercase()), number);
    }
    text + KERNELS
}

/// The kernels, compiled once, by the compiler that `CC` names, or by `cc`.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(compiled)
}

fn compiled() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c_kernels");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let (source, library) = (folder.join("kernels.c"), folder.join("libkernels.so"));
    std::fs::write(&source, text()).expect("the file can be written");
    let compiler = std::env::var_os("CC").filter(|name| !name.is_empty());
    let mut command = Command::new(compiler.unwrap_or_else(|| OsString::from("cc")));
    command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-I"]);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"));
    command.args([&source, Path::new("-o"), &library]);
    let output =
        command.output().expect("this test needs a C compiler: cc on the path, or one that CC names");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    library
}

unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// A function of the library, which stays loaded.
fn function(name: &str) -> CKernel {
    const RTLD_NOW: c_int = 2;
    let text = |text: &str| CString::new(text).expect("there is no zero in it");
    // SAFETY: the path ends with a zero, and what the library does when it is loaded is what the compiler put there: nothing.
    let library = unsafe { dlopen(text(&library().display().to_string()).as_ptr(), RTLD_NOW) };
    assert!(!library.is_null(), "the library is not loaded");
    // SAFETY: the library is loaded, and the name ends with a zero.
    let symbol = unsafe { dlsym(library, text(name).as_ptr()) };
    assert!(!symbol.is_null(), "there is no `{name}`");
    // SAFETY: the function is one of `KERNELS`, which have this type; the header agrees with it. It keeps to its task's elements.
    unsafe { transmute::<*mut c_void, CKernel>(symbol) }
}

fn kernels(name: &str) -> KernelRegistry {
    let mut kernels = KernelRegistry::new();
    kernels.register_c(name, function(name)).expect("it is the first");
    kernels
}

fn run(text: &str, kernels: KernelRegistry, options: RunOptions) -> Result<Outcome, RunError> {
    let (module, found) = parse("test.wsp", text, &mut SourceMap::default());
    let module = module.unwrap_or_else(|| panic!("{found:?}"));
    let backend = CpuSimBackend { kernels, ..CpuSimBackend::default() };
    let program = backend.compile_workload(module, None).expect("it is right");
    let elements: Vec<f32> = (0u8..24).map(f32::from).collect();
    let x = Array::of(&[4, 6], &elements).expect("it is small");
    let workload = WorkloadRunOptions { absent: Absent::Zeros, ..WorkloadRunOptions::default() };
    program.execute(Args::new().with("x", x), RunOptions { workload, ..options })
}

#[test]
fn a_kernel_that_a_c_compiler_made_runs_on_the_regions_of_its_tasks() {
    let text = "
        tensor x: f32[4, 6]; tensor y: f32[4, 6];
        kernel add(in x, inout y, n);
        workload main { parallel for i in 0..2 { add(x[i * 2..i * 2 + 2, 1..4], y[i * 2..i * 2 + 2, 1..4], i + 2); } }";
    for threads in [1, 3] {
        let options = RunOptions { threads, ..RunOptions::default() };
        let outcome = run(text, kernels("add"), options).expect("it runs");
        let y = outcome.outputs["y"].as_slice::<f32>().expect("it has this type");
        for (at, y) in y.iter().enumerate() {
            let (row, column) = (at / 6, at % 6);
            let expected = if (1..4).contains(&column) { (at + row / 2 + 2) as f32 } else { 0.0 };
            assert_eq!(*y, expected, "{row}, {column}");
        }
    }
}

#[test]
fn a_status_of_a_c_kernel_fails_its_task() {
    let text = "tensor x: f32[4, 6]; kernel fail(inout x, n); workload main { fail(x, 0); fail(x, 41); }";
    let fault = run(text, kernels("fail"), RunOptions::default()).expect_err("the second task fails");
    assert!(fault.to_string().contains("the function gives 41"), "{fault}");
}

#[test]
fn blocks_of_a_task_graph_run_a_c_kernel() {
    let text = "
        extern X: i64[8]
        extern Y: i64[8]
        TG_BEGIN(G)
          TG_KERNEL(A, twice_entry, 3, AIV, 64)
          MC_BIND(A, 0, X, direction = IN)
          MC_BIND(A, 1, Y, direction = OUT)
        TG_END(G)
        TG_LAUNCH(G, default)
        TG_SYNC(G)";
    let mut unit_kernels = TgKernels::new();
    unit_kernels.register_c("twice_entry", None, function("twice_entry")).expect("it is the first");
    let backend = CpuSimBackend { unit_kernels, ..CpuSimBackend::default() };
    let unit = UnitSource { module: unit(text), files: Vec::new(), target: CPU_SIM };
    let program = backend.compile(&unit.into()).expect("it is right");
    let args = Args::from(inputs(&[("X", &[1, 2, 3, 4, 5, 6, 7, 8])]));
    let outcome = program.execute(args, RunOptions::default()).expect("it runs");
    assert_eq!(outcome.outputs["Y"].as_slice::<i64>(), Some(&[2, 4, 6, 8, 10, 12, 14, 16][..]));
}
