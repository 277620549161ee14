//! Platforms: which of them does what with each instruction, what devices they have, and what a unit is told of that.
//!
//! The words of the table stand in the table of instructions ([`OPS`](wsp_core::tg::OPS)); this module groups them in rows as document
//! 000, section 11 does, and turns them into findings:
//!
//! | word | finding |
//! |---|---|
//! | Yes | none |
//! | Partial | a note where something stronger is done |
//! | Hint | a note: recorded, may be ignored |
//! | N/A | a note: accepted, does nothing |
//! | No | an error that names the platform and what to do instead |

use wsp_core::policy::Hints;
use wsp_core::tg::{FenceScope, Instr, Op, Platform, Support};
use wsp_diag::{Diagnostic, Severity};
use wsp_ir::tg::TgModule;
use wsp_plan::Target;

wsp_diag::codes! {
    /// An instruction that the platform does not have.
    NOT_THERE = 1525, "the platform does not have this instruction",
        "\
The platform matrix (`wsp targets --matrix`) says No. Choose another platform, or do what the help says.";
    /// One that does nothing there.
    NO_EFFECT = 1526, "no effect on this platform",
        "\
The platform matrix says N/A: the instruction is accepted and does nothing there. One unit can so be written for all platforms.";
    /// One that may be ignored there.
    HINT = 1527, "a hint on this platform",
        "\
The platform matrix says Hint: the instruction is recorded and may be ignored.";
    /// One that does more than it says there.
    STRONGER = 1528, "something stronger on this platform",
        "\
The platform matrix says Partial: what the platform lacks is replaced by something that does the same and more.";
}

/// A row of the platform matrix: instructions that are listed together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Its name, as document 000 has it.
    pub name: &'static str,
    /// Its instructions.
    pub ops: &'static [Op],
}

impl Row {
    /// What a platform does with the instructions of the row.
    pub fn support(&self, platform: Platform) -> Support {
        support(self.ops[0], platform)
    }
}

/// The platform matrix: the rows of document 000, section 11, then the instructions that it leaves out.
pub const MATRIX: &[Row] = &[
    Row { name: "TG_BEGIN/END", ops: &[Op::TgBegin, Op::TgEnd] },
    Row { name: "TG_KERNEL", ops: &[Op::TgKernel] },
    Row { name: "TG_DEPEND", ops: &[Op::TgDepend] },
    Row { name: "TG_LAUNCH/SYNC", ops: &[Op::TgLaunch, Op::TgSync] },
    Row { name: "MC_ALLOC/FREE", ops: &[Op::McAlloc, Op::McFree] },
    Row { name: "MC_BIND", ops: &[Op::McBind] },
    Row { name: "MC_FENCE", ops: &[Op::McFence] },
    Row { name: "CF_IF/ELSE", ops: &[Op::CfIf, Op::CfElse, Op::CfEndif] },
    Row { name: "CF_LOOP", ops: &[Op::CfLoop, Op::CfEndloop] },
    Row { name: "CA_REQUEST", ops: &[Op::CaRequest] },
    Row { name: "CA_AFFINITY", ops: &[Op::CaAffinity] },
    Row { name: "SY_SIGNAL/WAIT", ops: &[Op::SySignal, Op::SyWait] },
    Row { name: "SY_NOTIFY (multi-chip)", ops: &[Op::SyNotify] },
    Row { name: "TG_INVOKE", ops: &[Op::TgInvoke] },
    Row { name: "TG_FUSE", ops: &[Op::TgFuse] },
    Row { name: "TG_PERSISTENT", ops: &[Op::TgPersistent] },
    Row { name: "TG_SET_PRIORITY", ops: &[Op::TgSetPriority] },
    Row { name: "TG_CHECKPOINT/RESTORE", ops: &[Op::TgCheckpoint, Op::TgRestore] },
    Row { name: "MC_COPY", ops: &[Op::McCopy] },
    Row { name: "CF_BREAK", ops: &[Op::CfBreak] },
    Row { name: "CF_WHILE", ops: &[Op::CfWhile, Op::CfEndwhile] },
    Row { name: "CA_PARTITION", ops: &[Op::CaPartition] },
    Row { name: "SY_BARRIER", ops: &[Op::SyBarrier] },
    Row { name: "SY_WAIT_NOTIFY", ops: &[Op::SyWaitNotify] },
];

/// Columns of the matrix, in its order.
pub const PLATFORMS: [Platform; 4] = [Platform::A2, Platform::A3, Platform::A5, Platform::Cpu];

/// What a platform does with an instruction.
pub fn support(op: Op, platform: Platform) -> Support {
    op.info().support[platform as usize]
}

/// The word of the matrix.
pub const fn word(support: Support) -> &'static str {
    match support {
        Support::Yes => "Yes",
        Support::Partial => "Partial",
        Support::Hint => "Hint",
        Support::Na => "N/A",
        Support::No => "No",
    }
}

/// The name of a platform as the matrix has it.
pub const fn platform_name(platform: Platform) -> &'static str {
    match platform {
        Platform::A2 => "A2",
        Platform::A3 => "A3",
        Platform::A5 => "A5",
        Platform::Cpu => "CPU Sim",
    }
}

/// What a unit is checked or compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitTarget {
    /// The platform.
    pub platform: Platform,
    /// What the simulation makes of hints on cores.
    pub hints: Hints,
    /// Devices that the simulation has.
    pub devices: u32,
}

impl UnitTarget {
    /// One device of a platform; hints are ignored by the simulation.
    pub const fn of(platform: Platform) -> UnitTarget {
        UnitTarget { platform, hints: Hints::Ignore, devices: 1 }
    }

    /// What becomes of one instruction.
    pub fn support(&self, instr: &Instr) -> Support {
        let op = instr.op();
        let support = support(op, self.platform);
        let cores = matches!(op, Op::CaRequest | Op::CaAffinity | Op::CaPartition);
        let devices = matches!(op, Op::SyNotify | Op::SyWaitNotify);
        match (self.platform, support) {
            (Platform::Cpu, Support::Na) if cores && self.hints == Hints::Honour => Support::Yes,
            (Platform::Cpu, Support::Na) if devices && self.devices > 1 => Support::Yes,
            // Of fences a 910B lacks only that of the L2 cache.
            (_, Support::Partial) if !matches!(instr, Instr::McFence { scope: FenceScope::L2 }) => {
                Support::Yes
            }
            (_, support) => support,
        }
    }
}

/// What a unit is told of a target: an error for each instruction that it does not have, and a note for each kind of
/// instruction of which it makes less, or more, than it says.
pub fn diagnose(module: &TgModule, target: &UnitTarget) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut noted: Vec<(Op, Support, usize, u32)> = Vec::new();
    for (at, instr) in module.instrs.iter().enumerate() {
        match target.support(instr) {
            Support::Yes => {}
            Support::No => found.push(refused(module, at, instr.op(), target.platform)),
            support => match noted.iter_mut().find(|note| (note.0, note.1) == (instr.op(), support)) {
                Some(note) => note.3 += 1,
                None => noted.push((instr.op(), support, at, 1)),
            },
        }
    }
    found.extend(noted.into_iter().map(|(op, support, at, count)| {
        let (code, what) = match support {
            Support::Na => (NO_EFFECT, "has no effect"),
            Support::Hint => (HINT, "is a hint that may be ignored"),
            _ => (STRONGER, "is done as something stronger"),
        };
        let message = format!("`{}` {what} on {}", op.info().mnemonic, described(target.platform));
        let mut note = placed(module, at, Diagnostic::new(code, Severity::Note, message));
        if count > 1 {
            note = note.note(format!("the first of {count}"));
        }
        match told(op, target.platform) {
            Some(text) => note.note(text),
            None => note,
        }
    }));
    found
}

/// A platform by both of its names.
pub(crate) fn described(platform: Platform) -> String {
    format!("{} ({})", platform_name(platform), Target::of(platform).name)
}

fn refused(module: &TgModule, at: usize, op: Op, platform: Platform) -> Diagnostic {
    let message = format!("{} has no `{}`", described(platform), op.info().mnemonic);
    let having: Vec<String> =
        PLATFORMS.into_iter().filter(|other| support(op, *other) != Support::No).map(described).collect();
    let instead = match op {
        Op::SyNotify | Op::SyWaitNotify => {
            "or order the devices by the host: launch the waiting graph after TG_SYNC of the other, or declare an \
             `extern event` that the host signals"
        }
        _ => "or save the tensors from the host, between two launches",
    };
    placed(module, at, Diagnostic::error(NOT_THERE, message))
        .help(format!("choose {}", having.join(" or ")))
        .help(instead)
}

/// What is to be said of an instruction that a platform does not do as it stands.
fn told(op: Op, platform: Platform) -> Option<&'static str> {
    match (op, platform) {
        (Op::McFence, Platform::Cpu) => {
            Some("memory of the simulation is coherent; the visibility rules are still checked")
        }
        (Op::McFence, _) => {
            Some("an L2 fence becomes a GM fence, which makes the same writes visible and more")
        }
        (Op::CaRequest | Op::CaAffinity | Op::CaPartition, Platform::Cpu) => {
            Some("the simulation honours it if it is asked to honour hints on cores")
        }
        (Op::SyNotify | Op::SyWaitNotify, Platform::Cpu) => {
            Some("with two or more simulated devices it has an effect")
        }
        _ => None,
    }
}

fn placed(module: &TgModule, at: usize, diagnostic: Diagnostic) -> Diagnostic {
    match module.spans.get(at) {
        Some(&span) => diagnostic.at(span, ""),
        None => diagnostic.note(format!("instruction {at}")),
    }
}
