//! What a package says of a launch that is at fault: the same place as a plain run, in loops and in bytecode.

use super::{built, hosted, linked};
use crate::command::{Folder, ended, run};
use std::process::Command;

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
