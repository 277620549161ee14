//! The platform matrix: the words of the document, and that what a unit is told follows them.

use wsp_core::policy::Hints;
use wsp_core::tg::{OPS, Op, Platform, Support};
use wsp_diag::{Diagnostic, Severity, SourceMap};
use wsp_ir::tg::{TgModule, verify};
use wsp_plan::Target;
use wsp_tg::matrix::{MATRIX, PLATFORMS, UnitTarget, diagnose, platform_name, support, word};

/// Rows of document 000, section 11, as it has them.
const DOCUMENT: &[(&str, [&str; 4])] = &[
    ("TG_BEGIN/END", ["Yes", "Yes", "Yes", "Yes"]),
    ("TG_KERNEL", ["Yes", "Yes", "Yes", "Yes"]),
    ("TG_DEPEND", ["Yes", "Yes", "Yes", "Yes"]),
    ("TG_LAUNCH/SYNC", ["Yes", "Yes", "Yes", "Yes"]),
    ("MC_ALLOC/FREE", ["Yes", "Yes", "Yes", "Yes"]),
    ("MC_BIND", ["Yes", "Yes", "Yes", "Yes"]),
    ("MC_FENCE", ["Partial", "Yes", "Yes", "N/A"]),
    ("CF_IF/ELSE", ["Yes", "Yes", "Yes", "Yes"]),
    ("CF_LOOP", ["Yes", "Yes", "Yes", "Yes"]),
    ("CA_REQUEST", ["Hint", "Hint", "Hint", "N/A"]),
    ("CA_AFFINITY", ["Hint", "Hint", "Yes", "N/A"]),
    ("SY_SIGNAL/WAIT", ["Yes", "Yes", "Yes", "Yes"]),
    ("SY_NOTIFY (multi-chip)", ["No", "No", "Yes", "N/A"]),
];

/// A unit that holds every instruction.
const EVERYTHING: &str = "
extern T: u8[1024]
CA_PARTITION(P, 0, 4, 0, 8)
TG_BEGIN(G)
TG_KERNEL(A, a, 1, AIV, 0)
TG_KERNEL(B, b, 1, AIV, 0)
TG_DEPEND(A, B)
TG_PERSISTENT(A, 0)
MC_ALLOC(U, 1024)
MC_BIND(A, 0, T)
MC_COPY(T, U, 64)
MC_FREE(U)
MC_FENCE(L2)
CF_IF(iteration)
CF_ELSE
CF_ENDIF
CF_LOOP(2, i)
CF_BREAK(i)
CF_ENDLOOP
CF_WHILE(load(T))
CF_ENDWHILE
CA_REQUEST(A, 1, 1)
CA_AFFINITY({A, B}, COLOCATE)
SY_SIGNAL(E, A)
SY_WAIT(E, B)
TG_KERNEL(C, c, 1, AIV, 0)
TG_KERNEL(D, d, 1, AIV, 0)
SY_BARRIER({C, D}, 0)
SY_NOTIFY(1, N)
SY_WAIT_NOTIFY(1, N)
TG_CHECKPOINT(G, 0)
TG_END(G)
TG_BEGIN(H)
TG_END(H)
TG_FUSE(G, H, F)
TG_SET_PRIORITY(G, 1)
TG_LAUNCH(G, default)
TG_INVOKE(H, 1)
TG_RESTORE(G, 0)
TG_SYNC(G)
";

fn read(text: &str) -> TgModule {
    let mut sources = SourceMap::default();
    let (module, found) = wsp_isa::tg::text::parse("unit.tg", text, &mut sources);
    let module = module.unwrap_or_else(|| panic!("{}", wsp_diag::render_all(&found, &sources, false)));
    let faults = verify(&module);
    assert!(faults.is_empty(), "{}", wsp_diag::render_all(&faults, &sources, false));
    module
}

/// ISA-PM-02, ISA-PM-03, ISA-PM-04, ISA-PM-05, ISA-PM-06, ISA-PM-07, ISA-PM-08, ISA-PM-09.
#[test]
fn the_matrix_has_the_words_of_the_document() {
    for ((name, words), row) in DOCUMENT.iter().zip(MATRIX) {
        assert_eq!(*name, row.name);
        assert_eq!(*words, PLATFORMS.map(|platform| word(row.support(platform))), "{name}");
    }
    let left_out = |name: &str| {
        MATRIX.iter().find(|row| row.name == name).map(|row| PLATFORMS.map(|p| word(row.support(p))))
    };
    for name in ["TG_INVOKE", "MC_COPY", "CF_BREAK", "CF_WHILE", "SY_BARRIER"] {
        assert_eq!(left_out(name), Some(["Yes"; 4]), "{name}");
    }
    assert_eq!(left_out("CA_PARTITION"), Some(["Hint", "Hint", "Yes", "N/A"]));
    assert_eq!(left_out("SY_WAIT_NOTIFY"), Some(["No", "No", "Yes", "N/A"]));
}

/// ISA-PM-10: each instruction stands in one row, and those of a row are supported alike.
#[test]
fn every_instruction_stands_in_one_row() {
    for info in OPS {
        let rows: Vec<_> = MATRIX.iter().filter(|row| row.ops.contains(&info.op)).collect();
        assert_eq!(rows.len(), 1, "{}", info.mnemonic);
        for platform in PLATFORMS {
            assert_eq!(rows[0].support(platform), support(info.op, platform), "{}", info.mnemonic);
        }
    }
}

/// The findings on one kind of instruction.
fn about(found: &[Diagnostic], op: Op) -> Vec<&Diagnostic> {
    let name = format!("`{}`", op.info().mnemonic);
    found.iter().filter(|finding| finding.message.contains(&name)).collect()
}

/// ISA-PM-10: table against behaviour, every instruction on every platform.
#[test]
fn what_a_unit_is_told_follows_the_table() {
    let module = read(EVERYTHING);
    for platform in PLATFORMS {
        let found = diagnose(&module, &UnitTarget::of(platform));
        for info in OPS {
            assert!(module.instrs.iter().any(|instr| instr.op() == info.op), "{} is missing", info.mnemonic);
            let told = about(&found, info.op);
            let count = module.instrs.iter().filter(|instr| instr.op() == info.op).count();
            match support(info.op, platform) {
                Support::Yes => assert!(told.is_empty(), "{} on {platform:?}: {told:?}", info.mnemonic),
                Support::No => {
                    assert_eq!(told.len(), count, "{} on {platform:?}", info.mnemonic);
                    assert!(told.iter().all(|finding| finding.is_error() && finding.help.len() == 2));
                    assert!(told.iter().all(|finding| finding.message.contains(Target::of(platform).name)));
                }
                Support::Hint | Support::Na | Support::Partial => {
                    assert_eq!(told.len(), 1, "{} on {platform:?}", info.mnemonic);
                    assert_eq!(told[0].severity, Severity::Note);
                }
            }
        }
        for finding in &found {
            assert!(
                wsp_diag::lookup(&[wsp_tg::CODES], finding.code).is_some(),
                "{} is not explained",
                finding.code
            );
        }
    }
}

/// ISA-PM-09: compile errors that say what to do instead.
#[test]
fn notifications_are_refused_on_a_platform_without_them() {
    let module = read("TG_BEGIN(0)\nTG_KERNEL(0, a, 1, AIV, 0)\nSY_NOTIFY(1, 0)\nTG_END(0)\n");
    for (target, refused) in
        [("ascend_910b", true), ("ascend_910c", true), ("ascend_950", false), ("cpu_sim", false)]
    {
        let target = Target::named(target).expect("the target should be known").platform;
        let found = diagnose(&module, &UnitTarget::of(target));
        assert_eq!(found.iter().any(Diagnostic::is_error), refused, "{target:?}");
        if refused {
            assert!(found[0].help[0].contains("A5"), "{:?}", found[0].help);
        }
    }
}

/// ISA-PM-04, ISA-MC-11: of fences a 910B lacks only that of the L2 cache.
#[test]
fn an_l2_fence_becomes_a_stronger_one_on_a2() {
    let unit = |scope: &str| read(&format!("TG_BEGIN(0)\nMC_FENCE({scope})\nMC_FENCE({scope})\nTG_END(0)\n"));
    let told = |scope: &str| diagnose(&unit(scope), &UnitTarget::of(Platform::A2));
    assert!(told("DEVICE").is_empty());
    assert!(told("GM").is_empty());
    let found = told("L2");
    assert_eq!(found.len(), 1, "one note for both");
    assert!(found[0].notes.iter().any(|note| note.contains("GM fence")), "{:?}", found[0].notes);
    assert!(found[0].notes.iter().any(|note| note.contains("of 2")), "{:?}", found[0].notes);
}

/// ISA-CA-04, ISA-PM-06, ISA-PM-07: the simulation honours hints on cores when it is asked to.
#[test]
fn hints_that_are_honoured_are_not_told() {
    let module = read(EVERYTHING);
    let told = |hints, devices| diagnose(&module, &UnitTarget { platform: Platform::Cpu, hints, devices });
    let cores = [Op::CaRequest, Op::CaAffinity, Op::CaPartition];
    assert!(cores.iter().all(|op| about(&told(Hints::Ignore, 1), *op).len() == 1));
    assert!(cores.iter().all(|op| about(&told(Hints::Honour, 1), *op).is_empty()));
    assert_eq!(about(&told(Hints::Ignore, 1), Op::SyNotify).len(), 1);
    assert!(about(&told(Hints::Ignore, 2), Op::SyNotify).is_empty());
}

/// ISA-PM-01.
#[test]
fn platforms_are_selected_by_name() {
    let platform = |name: &str| Target::named(name).ok().map(|of| of.platform);
    assert_eq!(platform("ascend_npu"), Some(Platform::A2));
    assert_eq!(platform("A5"), Some(Platform::A5));
    assert_eq!(platform("tpu"), None);
    for known in PLATFORMS {
        let (name, device) = (Target::of(known).name, Target::of(known).device());
        assert_eq!(platform(name), Some(known));
        assert!(!platform_name(known).is_empty());
        assert!(device.aiv >= device.aic * device.aiv_per_aic);
    }
}
