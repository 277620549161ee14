//! Bodies of random kernels, several in one program.

use crate::designs::sizes;
use crate::one_core::{given, left, printed};
use crate::randomised::cases;
use crate::tools::Tools;
use crate::twin::twin;
use std::fmt::Write as _;
use wsp_aie::design::Design;

/// Kernels of one program.
const AT_ONCE: u64 = 16;

/// A kernel's design, what lies in its operands, and what the interpreter leaves there.
struct Case {
    seed: u64,
    design: Design,
    given: Vec<Vec<u8>>,
    left: Vec<Vec<u8>>,
}

fn case(seed: u64) -> Option<Case> {
    let crate::drawn::Drawn { kernel, words, .. } = crate::drawn::drawn(seed);
    let module = kernel.module();
    let id = module.function_named("k").expect("there is one");
    let body = wsp_aie::kernel::body(module, id, kernel.known()).ok()?;
    let number = crate::drawn::number(words);
    let design = printed(&body, &number);
    let given = given(&body, &crate::drawn::arrays(&kernel), &number);
    let left = left(&design, &given).unwrap_or_else(|fault| panic!("{seed}: {fault}"));
    Some(Case { seed, design, given, left })
}

/// A program that runs bodies one after the other: it reads their operands, and writes them.
fn program(cases: &[Case], twins: &[crate::twin::Twin]) -> String {
    let mut text = "#include \"runtime.h\"\n".to_owned();
    let mut main = "int main(int, char **argv) {\n    FILE *in = std::fopen(argv[1], \"rb\");\n    FILE *out = std::fopen(argv[2], \"wb\");\n".to_owned();
    for (k, (case, twin)) in cases.iter().zip(twins).enumerate() {
        let mut refs = Vec::new();
        let mut takes = Vec::new();
        for i in 0..case.design.buffers.len() {
            let ty = case.design.module.ty(case.design.buffers[i].value);
            let bytes = ty.bytes().expect("a fixed size");
            let _ = writeln!(text, "static uint64_t m{k}_{i}[{}];", bytes / 8 + 1);
            if i < case.given.len() {
                let _ = writeln!(main, "    take(in, m{k}_{i}, {bytes});");
            }
        }
        for i in &twin.buffers[0] {
            let (rank, sizes) = sizes(case.design.module.ty(case.design.buffers[*i].value));
            let _ = writeln!(main, "    auto r{k}_{i} = ref<{rank}>(m{k}_{i}, {sizes});");
            refs.push(format!("&r{k}_{i}"));
            takes.push(format!("Ref<{rank}> *"));
        }
        let _ = writeln!(text, "extern \"C\" void _mlir_ciface_k{}_0({});", case.seed, takes.join(", "));
        let _ = writeln!(main, "    _mlir_ciface_k{}_0({});", case.seed, refs.join(", "));
        for (i, bytes) in case.given.iter().enumerate() {
            let _ = writeln!(main, "    give(out, m{k}_{i}, {});", bytes.len());
        }
    }
    text + &main + "    std::fclose(out);\n    return 0;\n}\n"
}

#[test]
fn random_kernels_leave_what_the_interpreter_leaves() {
    let Some(tools) = Tools::find("kernels") else { return };
    let cases = cases(16);
    let (mut compared, mut first) = (0, 1);
    while first <= cases {
        let last = (first + AT_ONCE - 1).min(cases);
        let made: Vec<Case> = (first..=last).filter_map(case).collect();
        let twins: Vec<_> = made.iter().map(|case| twin(&case.design, &format!("k{}", case.seed))).collect();
        let inside = |text: &str| {
            let body = text.trim().strip_prefix("module {").and_then(|text| text.strip_suffix('}'));
            body.map_or_else(|| text.to_owned(), str::to_owned)
        };
        let text: String = twins.iter().map(|twin| inside(&twin.text)).collect();
        let name = format!("from{first}");
        let object = tools.object(&name, &format!("module {{\n{text}\n}}\n"));
        let input: Vec<u8> = made.iter().flat_map(|case| case.given.iter().flatten().copied()).collect();
        let output = tools.output(&name, &program(&made, &twins), &[object], &input);
        let mut at = 0;
        for case in &made {
            for (operand, want) in case.left.iter().enumerate() {
                let have = &output[at..at + want.len()];
                at += want.len();
                let words = have.chunks(4).zip(want.chunks(4)).position(|(a, b)| a != b);
                assert!(words.is_none(), "{}: operand {operand} differs at word {words:?}", case.seed);
            }
            compared += 1;
        }
        first = last + 1;
    }
    println!(
        "{cases} kernels: {compared} have a body, and leave the same bytes by LLVM as in the interpreter"
    );
    assert!(compared * 10 >= cases * 9, "{compared} of {cases} have a body");
}
