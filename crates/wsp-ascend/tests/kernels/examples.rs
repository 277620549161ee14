//! Which kernels of the examples are emitted, and why the others are not; all that are emitted compile.

use crate::batch::{compile, succeed};
use crate::toolchain::write;
use expect_test::expect_file;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use wsp_ascend::kernels::{Chip, KernelSource, emit_kernel};
use wsp_core::DType;
use wsp_diag::{Diagnostic, Severity, SourceMap};
use wsp_ir::{Const, Elem, ExprKind, FuncKind, ParamSource, Verified, into_verified};
use wsp_tile::{Known, fold};

/// The texts for a3 are those for a2.
const CHIPS: [Chip; 2] = [Chip::A2, Chip::A5];

/// Sizes that follow from arrays of a launch, as in the launches that the examples describe.
const SIZES: &[(&str, i128)] = &[
    ("HEAD_DIM", 128),
    ("DIM", 128),
    ("num_qo_heads", 32),
    ("num_kv_heads", 8),
    ("q_len", 4),
    ("heads", 32),
    ("kv_heads", 8),
    ("head_dim", 128),
    ("cols", 896),
];

#[expect(clippy::disallowed_methods, reason = "a test reads the examples")]
fn read(path: &Path) -> Result<String, Diagnostic> {
    let text = std::fs::read_to_string(path);
    text.map_err(|error| Diagnostic::error(wsp_diag::Code(1), format!("{}: {error}", path.display())))
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "pto") {
            found.push(path);
        }
    }
}

/// Values of parameters: those of the text, then those above.
fn params(module: &Verified) -> Vec<Option<Const>> {
    let mut values: Vec<Option<Const>> = Vec::new();
    for param in &module.params {
        let value = match &param.source {
            ParamSource::Set { default: value } | ParamSource::Derived(value) => {
                let folded = fold(module, Known { params: &values, elems: &[] }, value);
                if let ExprKind::Const(value) = folded.kind { Some(value) } else { None }
            }
            ParamSource::Shape { .. } | ParamSource::Entry => {
                SIZES.iter().find(|(name, _)| *name == param.name).map(|(_, n)| Const::Int(*n))
            }
        };
        values.push(value);
    }
    values
}

/// The codes of what stands in the way, or is probably not meant.
fn codes(found: &[Diagnostic]) -> String {
    let mut codes: Vec<String> = found.iter().map(|fault| format!("{}", fault.code)).collect();
    codes.sort();
    codes.dedup();
    codes.join(" ")
}

/// A kernel in a namespace, and a function that calls it with nothing: what it calls is compiled.
fn called(source: &KernelSource, number: usize) -> String {
    let KernelSource { name, text, arguments, tasks, .. } = source;
    let parts: String = tasks.iter().map(|task| task.text.as_str()).collect();
    let runs: String = tasks
        .iter()
        .map(|KernelSource { name, .. }| {
            format!("template <typename... A> void {name}(A... a) {{ {name}_kernel::{name}_body(a...); }}\n")
        })
        .collect();
    let nothing = vec!["{}"; arguments.len()];
    let call = if tasks.is_empty() {
        format!("{name}_kernel::{name}_body({});", nothing.join(", "))
    } else {
        let all = [vec!["tasks"], nothing].concat().join(", ");
        format!("Tasks tasks; {name}_kernel::{name}_tasks({all});")
    };
    format!(
        "namespace case_{number} {{\n{parts}{text}struct Tasks {{\n{runs}}};\nvoid call();\nvoid call() {{ {call} }}\n}}\n"
    )
}

/// Compiles kernels, by their texts: many examples have the same.
fn compiles(sources: &BTreeMap<String, KernelSource>, chip: Chip) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kernels/examples_{}", chip.name()));
    let headers = ["cstdint", "cstddef", "cmath", "limits", "pto/pto-inst.hpp"];
    let mut text: String = headers.iter().map(|header| format!("#include <{header}>\n")).collect();
    text.extend(sources.values().enumerate().map(|(number, source)| called(source, number)));
    write(&folder.join("examples.cpp"), &text);
    succeed(compile(chip).args(["-fsyntax-only", "examples.cpp"]).current_dir(&folder));
}

#[test]
fn kernels_of_the_examples_are_emitted_as_the_list_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut all = Vec::new();
    files(&folder, &mut all);
    all.sort();
    let (mut list, mut sources) = (String::new(), [BTreeMap::new(), BTreeMap::new()]);
    for path in all {
        let text = read(&path).unwrap();
        let name = path.display().to_string();
        let compiled = wsp_lang::compile_with(&name, &text, &mut SourceMap::default(), &mut read);
        let Some(Ok(module)) = compiled.0.map(into_verified) else { continue };
        let params = params(&module);
        // Tensors without an element type of their own hold `float`.
        let elems: Vec<Option<DType>> = module
            .tensors
            .iter()
            .map(|tensor| match tensor.elem {
                Elem::Fixed(elem) => Some(elem),
                Elem::Of(_) => Some(DType::F32),
            })
            .collect();
        let known = Known { params: &params, elems: &elems };
        for (at, function) in module.functions.iter().enumerate() {
            if !matches!(function.kind, FuncKind::Kernel { .. }) || function.body.is_empty() {
                continue;
            }
            let mut sources = sources.iter_mut();
            let told = CHIPS.map(|chip| {
                let sources = sources.next().unwrap();
                match emit_kernel(&module, wsp_core::FuncId(at as u32), known, chip) {
                    Ok(mut made) => {
                        sources.insert(made.text.clone(), made.clone());
                        made.notes.retain(|note| note.severity == Severity::Warning);
                        let tasks = match made.tasks.len() {
                            0 => String::new(),
                            tasks => format!(" as {tasks} tasks"),
                        };
                        format!("emitted{tasks} {}", codes(&made.notes)).trim_end().to_owned()
                    }
                    Err(found) => codes(&found),
                }
            });
            let relative = path.strip_prefix(&folder).unwrap().display();
            let cells =
                if told.iter().all(|cell| *cell == told[0]) { told[0].clone() } else { told.join(" | ") };
            let _ = writeln!(list, "{relative} {}: {cells}", function.name);
        }
    }
    expect_file!["../golden/kernels_of_examples.txt"].assert_eq(&list);
    for (chip, sources) in CHIPS.into_iter().zip(sources) {
        assert!(sources.len() > 20, "{} kernels", sources.len());
        compiles(&sources, chip);
    }
}
