//! What a package says of a launch that is at fault: the same place as a plain run, in loops and in bytecode.

use super::{built, hosted, linked};
use crate::command::{Folder, ended, run};
use std::collections::BTreeMap;
use std::process::Command;
use wsp_core::DType;
use wsp_plan::Array;

/// Two operands without a value, in each place where C++ leaves open which is computed first: of operators of generators and of a comparison, of a
/// call, and of the operators and functions of a kernel. Names are words of C++ that the language does not have.
const PAIRS: &str = "
PTO_SHAPE(and, 4, 16)
PTO_PARAM(uint32_t, which, 0)
PTO_SPACE(export) { PTO_AXIS(at, 0, 4) }
struct char16_t { uint32_t not, i, xor, b; };
uint32_t noexcept(uint32_t final, uint32_t compl) { return final + compl; }
PTO_DESCRIPTOR_GEN(export) {
    PTO_SCHEDULED_FOR(at) {
        uint32_t zero = which > 0 ? 0 : 9;
        uint32_t or = 7;
        if (which == 1) or = (7 / zero) + (zero - 1);
        if (which == 2) or = noexcept(8 / zero, zero - 2);
        if (which == 3) or = (6 / zero > zero - 3) ? 1 : 2;
        if (which == 4) or = PTO_MIN(5 / zero, zero - 4) * 2;
        uint32_t by = which > 4 ? 0 : 1;
        PTO_EMIT_DESCRIPTOR(char16_t{ .not = at, .i = or, .xor = by, .b = which });
    }
}
PTO_KERNEL_IMPL(alignas) {
    auto desc = PTO_GET_DESCRIPTOR<char16_t>();
    uint32_t explicit = 1;
    if (desc.b == 5) explicit = PTO_MAX(desc.i / desc.xor, desc.i % desc.xor);
    if (desc.b == 6) explicit = (desc.i % desc.xor) / (desc.i / desc.xor);
    if (desc.b == 7) explicit = (desc.i % desc.xor) - (desc.i / desc.xor);
    VecTile<float, 1, 16> t;
    TASSIGN(t, (float)explicit, 1, 16);
    TSTORE(and, t, {desc.not, 0});
}
void thread_local(Tensor<float> and) { PTO_LAUNCH(export, { .and = and }); }
";

/// Every call is a step of its generator, as on `cpu_sim`, at its place.
#[test]
fn calls_of_generators_are_counted() {
    let folder = Folder::with(&[("pairs.pto", PAIRS)]);
    let (code, _, err) = run(&["emit", &folder.at("pairs.pto"), "--target", "a2", "-o", &folder.at("p")]);
    assert_eq!(code, 0, "{err}");
    let text = folder.read("p/orchestration.cpp");
    assert!(text.contains("return run_noexcept(l, s.called(places + "), "{text}");
}

/// The line and the column that a diagnostic names first.
fn place(text: &str, file: &str) -> String {
    let from = text.find(file).map(|at| at + file.len()).unwrap_or_else(|| panic!("{text}"));
    text[from..]
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == ':')
        .collect::<String>()
        .trim_end_matches(':')
        .to_owned()
}

#[test]
fn of_two_operands_at_fault_the_left_one_is_named() {
    let folder = Folder::with(&[("pairs.pto", PAIRS)]);
    let (file, to, outputs) = (folder.at("pairs.pto"), folder.at("bytecode"), folder.at("y.npz"));
    let ran = |target: &str, which: u32| {
        hosted(&folder, &["run", &file, "--target", target, "--set", &format!("which={which}")])
    };
    for target in ["cpu_sim", "ascend_host"] {
        let (code, out, err) = ran(target, 0);
        assert_eq!(code, 0, "{target}: {out}{err}");
    }
    let [package] = &built(&folder)[..] else { panic!("{:?}", built(&folder)) };
    let (code, _, err) = run(&["emit", &file, "--target", "a2", "--expand", "bytecode", "-o", &to]);
    assert_eq!(code, 0, "{err}");
    linked(&folder.path("bytecode"), package, &[]);
    std::fs::create_dir_all(folder.path("inputs")).unwrap();
    for which in 1..8 {
        let (code, _, err) = ran("cpu_sim", which);
        assert_eq!(code, 1, "{err}");
        let want = place(&err, "pairs.pto:");
        for package in [package, &folder.path("bytecode")] {
            let mut command = Command::new(package.join("run"));
            command.arg("--inputs").arg(folder.path("inputs")).args(["--outputs", &outputs]);
            command.args(["--set", &format!("which={which}")]);
            let (code, _, err) = ended(command);
            assert_eq!(code, 1, "{err}");
            assert_eq!(place(&err, "pairs.pto:"), want, "{which}: {err}");
        }
    }
}

/// Stores to all rows of a launch but the first ones.
const PART: &str = "
PTO_SHAPE(x, rows, 16)
PTO_SHAPE(y, rows, 16)
struct A { uint32_t row; };
PTO_KERNEL_IMPL(copy) {
    auto desc = PTO_GET_DESCRIPTOR<A>();
    VecTile<float, 1, 16> t; TLOAD(t, x, {desc.row, 0}); TSTORE(y, t, {desc.row, 0});
}
";
/// A value of a workload is a launch's: one package has all of them.
const PART_OF: &str = "use \"part.pto\";\nparam rows;\nparam first = 0;
workload main { parallel for row in first..rows { copy(row); } }
";

/// The status of a package's own program is that of `wsp run`, on both targets.
#[test]
fn outputs_that_tasks_leave_unwritten_end_every_run_with_one_status() {
    let folder = Folder::with(&[("part.pto", PART), ("part.wsp", PART_OF)]);
    let file = folder.at("part.wsp");
    let (inputs, outputs) = (folder.path("inputs"), folder.path("y.npz"));
    super::save(&inputs, "x", &Array::of(&[4, 16], &super::numbers(1, 64)).unwrap());
    let x = format!("x={}", inputs.join("x.npy").display());
    let part = "32 of 64 elements of `y` never written";
    for (first, code, word) in
        [("0", 0, ""), ("2", 1, part), ("3", 1, "48 of 64"), ("4", 1, "no task has stored to `y`")]
    {
        let set = format!("first={first}");
        for target in ["cpu_sim", "ascend_host"] {
            let args = ["run", &file, "--target", target, "--input", &x, "--set", &set, "--check"];
            let (ended, out, err) = hosted(&folder, &args);
            assert!(ended == code && err.contains(word), "{target} {first}: {out}{err}");
        }
        let [package] = &built(&folder)[..] else { panic!("{:?}", built(&folder)) };
        let own = |more: &[&str]| {
            let _ = std::fs::remove_file(&outputs);
            let mut command = Command::new(package.join("run"));
            command
                .arg("--inputs")
                .arg(&inputs)
                .arg("--outputs")
                .arg(&outputs)
                .args(["--set", &set])
                .args(more);
            let ended = ended(command);
            // What was computed is kept.
            assert!(outputs.is_file() || ended.0 == 2, "{}", ended.2);
            ended
        };
        let (ended, _, err) = own(&[]);
        assert!(ended == code && err.contains(word), "{first}: {err}");
        assert_eq!(own(&["--allow-unwritten", "y"]), (0, String::new(), String::new()));
        let (ended, _, err) = own(&["--allow-unwritten", "z"]);
        assert!(ended == 2 && err.contains("the launch writes no array of this name"), "{err}");
    }
}

/// A kernel of rows of an array.
const PUT: &str = "PTO_SHAPE(y, 4, 16)
struct Put { uint32_t row; };
PTO_KERNEL_IMPL(put) {
    auto d = PTO_GET_DESCRIPTOR<Put>();
    VecTile<float, 1, 16> t; TASSIGN(t, 1.0f); TSTORE(y, t, {d.row, 0});
}
";

#[test]
fn a_priority_that_does_not_fit_has_its_place() {
    let tasks = "use \"k.pto\";\nparam r = 1;\nworkload main { for i in 0..4 { put(i); } }\nschedule { task_graph(ready = priority);\n    priority(r * 3);\n}\n";
    let folder = Folder::with(&[("k.pto", PUT), ("w.wsp", tasks)]);
    let file = folder.at("w.wsp");
    for (target, set, code) in
        [("ascend_host", "r=1", 0), ("cpu_sim", "r=800000000", 1), ("ascend_host", "r=800000000", 1)]
    {
        let (ended, out, err) = hosted(&folder, &["run", &file, "--target", target, "--set", set]);
        assert_eq!(ended, code, "{target} {set}: {out}{err}");
        let fault = err.split("error").nth(1).unwrap_or_default();
        assert!(code == 0 || fault.contains("w.wsp:5:"), "{target} {set}: {err}");
    }
}

/// Adds an array that both targets share to rows of another, which a table names.
const ROWS: &str = "PTO_SHAPE(x, rows, 16)\nPTO_SHAPE(y, rows, 16)\nPTO_SHAPE(z, 8, 16)\nstruct D { uint32_t r; };
PTO_KERNEL_IMPL(add) {
    auto d = PTO_GET_DESCRIPTOR<D>();
    VecTile<float, 4, 16> t, u; TLOAD(t, x, {d.r, 0}); TLOAD(u, z, {0, 0}); TADD(t, t, u); TSTORE(y, t, {d.r, 0});
}
";
const ROWS_OF_SPACE: &str = "PTO_SHAPE(lens, count)
PTO_SPACE(S) { PTO_AXIS(i, 0, count) }
PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(i) { PTO_EMIT_DESCRIPTOR(D{ .r = lens[i] }); } }
void go(Tensor<float> x, Tensor<float> y, Tensor<float> z, uint32_t* lens) { PTO_LAUNCH(S, { .x = x, .y = y, .z = z, .lens = lens }); }
";
const ROWS_OF_TABLE: &str = "use \"rows.pto\";\nparam count = 2;\ntable lens[count];\nworkload main { parallel for i in 0..count { add(r = lens[i]); } }\n";

/// No compiler is asked first: the words are those of a run that compiles nothing.
#[test]
fn arrays_that_a_program_does_not_take_are_refused_before_anything_is_compiled() {
    let space = format!("{ROWS}{ROWS_OF_SPACE}");
    let folder = Folder::with(&[("space.pto", &space), ("rows.pto", ROWS), ("table.wsp", ROWS_OF_TABLE)]);
    let floats =
        |shape: &[u64]| Array::of(shape, &vec![1.0f32; shape.iter().product::<u64>() as usize]).unwrap();
    let rows =
        || [("x", Some(floats(&[8, 16]))), ("z", Some(floats(&[8, 16]))), ("lens", Some(words(&[0, 4])))];
    let halves = Array::of(&[8, 16], &[0x3C00u16; 128]).unwrap().reinterpret(DType::F16).unwrap();
    // Of what is in a table a launch decides, and kernels of a used file take real numbers of any width.
    let taken = "";
    let dimension = "WSP0552]: dimension 1 of array `x` is 15, but must be 16";
    let rank = "WSP0551]: array `x` has 1 dimension, but `x` is declared with 2";
    let all = [
        ("x", Some(floats(&[8, 15])), [dimension, "WSP0552"]),
        ("x", Some(floats(&[128])), [rank, "WSP0551"]),
        ("x", Some(halves), ["WSP0553", taken]),
        ("x", Some(Array::of(&[8, 16], &[1i32; 128]).unwrap()), ["WSP0553", "WSP0553"]),
        ("x", Some(Array::of(&[8, 16], &[1f64; 128]).unwrap()), ["WSP0553", "WSP0553"]),
        ("x", None, ["WSP0550", "WSP0550"]),
        ("y", Some(floats(&[9, 16])), ["WSP0552", "WSP0552"]),
        ("z", Some(floats(&[7, 16])), ["WSP0552", "WSP0552"]),
        ("lens", Some(floats(&[2])), ["WSP0553", "WSP0863"]),
        ("lens", Some(Array::of(&[1, 2], &[0u32, 4]).unwrap()), ["WSP0551", "WSP0863"]),
        ("lens", Some(Array::of(&[2], &[0i32, -4]).unwrap()), ["WSP0565", taken]),
        ("lens", Some(Array::of(&[2], &[0u64, 1 << 40]).unwrap()), ["WSP0565", taken]),
        ("lens", Some(words(&[])), [taken, "WSP0803"]),
        ("lens", None, ["WSP0550", "WSP0801"]),
        ("w", Some(floats(&[3])), ["WSP0882", "WSP0882"]),
    ];
    for (name, array, codes) in all {
        let given: BTreeMap<&str, Option<Array>> = rows().into_iter().chain([(name, array)]).collect();
        let _ = std::fs::remove_dir_all(folder.path("in"));
        given.iter().filter_map(|(name, array)| Some((name, array.as_ref()?))).for_each(|(name, array)| {
            super::save(&folder.path("in"), name, array);
        });
        let given = std::fs::read_dir(folder.path("in")).unwrap().map(|entry| entry.unwrap().path());
        let given: Vec<String> =
            given.map(|file| format!("{}={}", file.file_stem().unwrap().display(), file.display())).collect();
        let codes = ["space.pto", "table.wsp"].into_iter().zip(codes);
        for (file, code) in codes {
            let [own, plain] = ["ascend_host", "cpu_sim"].map(|target| {
                let mut args =
                    vec!["run".to_owned(), folder.at(file), "--target".to_owned(), target.to_owned()];
                given.iter().for_each(|given| args.extend(["--input".to_owned(), given.clone()]));
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                let mut command = crate::command::wsp(&args);
                command.env("XDG_CACHE_HOME", folder.path("cache")).env("CXX", "false");
                ended(command)
            });
            let (status, _, err) = &own;
            if code == taken {
                assert!(*status == 1 && err.contains("`false` does not compile"), "{file} {name}: {err}");
                continue;
            }
            assert!(*status == 1 && err.contains(&format!("error[{code}")), "{file} {name}: {err}");
            assert_eq!(own, plain, "{file} {name}");
        }
    }
}

fn words(words: &[u32]) -> Array {
    Array::of(&[words.len() as u64], words).unwrap()
}
