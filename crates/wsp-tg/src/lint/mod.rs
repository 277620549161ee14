//! What is probably not meant in a unit that breaks no rule, or what a device would not forgive.
//!
//! Errors are what cannot run, or gives a result that depends on time:
//! * what waits for itself in a graph, by edges, barriers, events, gangs and decisions on data (`cycle`); launches that wait for each other, or for one
//!   that cannot be made before they are complete (`launches::stuck`);
//! * two kernels that touch the same bytes in no order, one of which writes (`flow`);
//! * arguments that are missing, too small, too many or of another type for a kernel's signature (`arguments`);
//! * launches that touch the same bytes in no order, and memory that the host releases under a launch (`launches`); bytes that several devices
//!   use are a warning where they are not surely apart or in order (`devices`);
//! * gangs, requests and partitions beyond the device (`cores`).
//!
//! Warnings are what a device may do otherwise than meant: data that are ordered but not made visible, memory, events and graphs
//! that nothing uses, conditions that never change (`unused`, `control`). Notes are worth knowing.
//!
//! The checker knows the control flow: kernels in the two arms of one `CF_IF` never meet; ranges of bytes that move with a loop
//! are compared in one round, since a run orders later rounds behind earlier ones. What edges of the text leave unordered is looked up in the graph as
//! a run lays it out (`launches::laid_pairs`). What the checker cannot
//! decide it names: in a note what is left to the run (`open`, `launches::open`), in a warning what is not compared at all. Where no signature and no
//! operand says what a kernel does with an argument, `DATA` edges tell, and of memory that a graph allocates the first user writes;
//! findings that rest on this are warnings and say so.

mod access;
mod accesses;
mod arguments;
pub(crate) mod codes;
mod control;
mod cores;
mod cycle;
mod devices;
mod flow;
mod launches;
mod open;
mod order;
mod overlap;
mod pairs;
mod reach;
mod unused;
mod values;

use crate::elaborate::elaborate;
use crate::plan::{ElaborateOptions, UnitPlan};
use accesses::Accesses;
use codes::*;
pub(crate) use launches::{Arm, ExclusiveArms};
pub use launches::{EventOrder, EventWait, GraphEvents, LaunchUse, OpenLaunches, OpenUse, UseWait, UsedBy};
pub use open::{OpenEnd, OpenPair};
use order::{Node, Order, Rounds};
use std::cell::OnceCell;
use wsp_core::tg::{GraphNo, Platform};
use wsp_diag::{Code, Diagnostic, Severity};
use wsp_ir::tg::outline::{Home, Outline};
use wsp_ir::tg::{Namespace, Signatures, TgModule, verify_with_outline};
use wsp_ordered::Arrange;
use wsp_plan::target::DeviceModel;

/// Most findings of one run; the rest is counted.
const MAX_FINDINGS: usize = 1000;

/// What a unit is linted for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LintOptions {
    /// The platform, if it is for one: named in findings on its cores.
    pub platform: Option<Platform>,
    /// Its cores.
    pub device: DeviceModel,
    /// How many devices run the unit; if that is not known, a unit that speaks of devices is taken to be for several.
    pub devices: Option<u32>,
}

/// What is known of a unit before it runs.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Findings, in program order.
    pub findings: Vec<Diagnostic>,
    /// Pairs of kernels that a run has to compare.
    pub open: Vec<OpenPair>,
    /// What a run has to compare of launches on different streams.
    pub launches: OpenLaunches,
    /// Whether a run has to look whether a launch of its host uses what that releases: the ways of the host were not all gone through.
    pub releases_are_open: bool,
}

/// Findings on a unit that [`verify`](wsp_ir::tg::verify) has nothing against, in program order; none for one that it refuses. Kernels
/// without a signature are taken as this module says.
pub fn lint(module: &TgModule, signatures: &Signatures, options: &LintOptions) -> Vec<Diagnostic> {
    check(module, signatures, options, &[]).findings
}

/// The same, with values of declared scalars by declaration, where they are known, and with what only a run can decide.
pub fn check(
    module: &TgModule,
    signatures: &Signatures,
    options: &LintOptions,
    scalars: &[Option<i64>],
) -> Checked {
    let (outline, faults) = verify_with_outline(module);
    if !faults.is_empty() {
        return Checked::default();
    }
    let known = values::with_scalars(module, scalars);
    let accesses = Accesses::new(module, &outline, signatures);
    let plan = OnceCell::new();
    let mut cx = Cx {
        module,
        known: known.as_ref().unwrap_or(module),
        outline: &outline,
        signatures,
        options,
        accesses: &accesses,
        plan: &plan,
        found: Vec::new(),
        open: Vec::new(),
        launches: OpenLaunches::default(),
        releases_are_open: false,
        more: 0,
        gravest: Severity::Note,
    };
    let order = Order::new(&mut cx);
    if order.rank.is_empty() {
        cycle::report(&mut cx, &order);
    } else {
        flow::check(&mut cx, &order);
        cores::check(&mut cx, &order);
        launches::check(&mut cx, &order);
        devices::check(&mut cx, &order);
        launches::check_notices(&mut cx);
        launches::check_gangs(&mut cx);
    }
    arguments::check(&mut cx);
    unused::check(&mut cx);
    control::check(&mut cx);
    let (open, launches) = (std::mem::take(&mut cx.open), std::mem::take(&mut cx.launches));
    let releases_are_open = cx.releases_are_open;
    Checked { findings: cx.finish(), open, launches, releases_are_open }
}

/// What every part of the checker reads, and what they have found.
struct Cx<'m> {
    module: &'m TgModule,
    /// The unit with values in the place of scalars that are known.
    known: &'m TgModule,
    outline: &'m Outline,
    signatures: &'m Signatures,
    options: &'m LintOptions,
    accesses: &'m Accesses,
    /// As a run lays it out, once that was asked for; none if a run refuses it.
    plan: &'m OnceCell<Option<UnitPlan>>,
    found: Vec<Diagnostic>,
    open: Vec<OpenPair>,
    launches: OpenLaunches,
    releases_are_open: bool,
    /// Findings beyond those kept: how many, and the gravest of them.
    more: usize,
    gravest: Severity,
}

impl<'m> Cx<'m> {
    /// The same where more is known of the unit's scalars, with no findings.
    fn with_known<'k>(&'k self, known: &'k TgModule) -> Cx<'k> {
        Cx {
            known,
            found: Vec::new(),
            open: Vec::new(),
            launches: OpenLaunches::default(),
            releases_are_open: false,
            more: 0,
            gravest: Severity::Note,
            ..*self
        }
    }
}

impl<'m> Cx<'m> {
    /// The unit as a run lays it out.
    fn rounds(&self) -> Rounds<'m> {
        Rounds { module: self.module, outline: self.outline }
    }

    /// The plan of the unit; none if a run does not lay it out.
    fn plan(&self) -> Option<&'m UnitPlan> {
        let plan = || elaborate(self.module, self.signatures, &ElaborateOptions::default()).ok();
        self.plan.get_or_init(plan).as_ref()
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.found.len() < MAX_FINDINGS {
            self.found.push(diagnostic);
        } else {
            self.more += 1;
            self.gravest = self.gravest.min(diagnostic.severity);
        }
    }

    /// Whether further findings are only counted.
    fn is_full(&self) -> bool {
        self.found.len() >= MAX_FINDINGS
    }

    fn finish(mut self) -> Vec<Diagnostic> {
        self.found.arrange_by_key(|d| {
            (d.primary.is_none(), d.primary.as_ref().map(|label| label.span), d.severity, d.code)
        });
        if self.more > 0 {
            let message = format!("{} more findings are not shown", self.more);
            let found = Diagnostic::new(NOT_ALL, self.gravest, message);
            self.found.push(found.help("mend those that are shown first"));
        }
        self.found
    }

    /// The order of who uses this tensor, and perhaps others, was not looked for to the end.
    fn not_all_users(&mut self, tensor: u32) {
        let message = format!("the order of the users of `{}` was not checked", self.tensor_name(tensor));
        if self.found.iter().any(|finding| finding.message == message) {
            return;
        }
        let found = warning(NOT_ALL, message)
            .note("too many kernels touch its bytes, or those of the tensors that are declared after it");
        self.report(found.help("use fewer kernels per graph, or tensors that fewer of them touch"));
    }

    fn graph_no(&self, graph: u32) -> GraphNo {
        self.outline.graphs[graph as usize].no
    }

    fn graph_name(&self, graph: u32) -> String {
        self.module.name(Namespace::Graph, GraphNo(0), self.graph_no(graph).0)
    }

    fn kernel_name(&self, kernel: u32) -> String {
        let kernel = &self.outline.kernels[kernel as usize];
        self.module.name(Namespace::Kernel, self.graph_no(kernel.graph), kernel.no.0)
    }

    /// A kernel or copy, as text names it.
    fn node_name(&self, node: Node) -> String {
        let kernels = self.outline.kernels.len() as u32;
        if node.0 < kernels {
            return self.kernel_name(node.0);
        }
        let copy = node.0 - kernels;
        let graph = self.outline.graphs.iter().find(|graph| graph.copies.contains(&copy));
        format!("copy.{}", copy - graph.map_or(0, |graph| graph.copies.start))
    }

    fn tensor_name(&self, tensor: u32) -> String {
        let no = self.outline.tensors[tensor as usize].no;
        self.module.name(Namespace::Tensor, GraphNo(0), no.0)
    }

    /// Whether only one graph can see a tensor.
    fn is_private(&self, tensor: u32) -> bool {
        matches!(self.outline.tensors[tensor as usize].home, Home::Graph(_))
    }

    /// What the entry of a kernel is called.
    fn entry_of(&self, kernel: u32) -> &str {
        let at = self.outline.kernels[kernel as usize].at;
        match self.module.instrs[at as usize] {
            wsp_core::tg::Instr::TgKernel { entry_symbol, .. } => self.module.str(entry_symbol),
            _ => "",
        }
    }

    fn on(&self, diagnostic: Diagnostic, at: u32, text: &str) -> Diagnostic {
        match self.module.spans.get(at as usize) {
            Some(&span) => diagnostic.at(span, text),
            None => diagnostic.note(self.numbered(at, text)),
        }
    }

    fn and(&self, diagnostic: Diagnostic, at: u32, text: &str) -> Diagnostic {
        match self.module.spans.get(at as usize) {
            Some(&span) => diagnostic.label(span, text),
            None => diagnostic.note(self.numbered(at, text)),
        }
    }

    /// An instruction of a unit without a source.
    fn numbered(&self, at: u32, text: &str) -> String {
        let Some(instr) = self.module.instrs.get(at as usize) else { return text.to_owned() };
        let info = instr.op().info();
        let operands = if info.operands.is_empty() { "" } else { "(…)" };
        let separator = if text.is_empty() { "" } else { ": " };
        format!("instruction {at}: {}{operands}{separator}{text}", info.mnemonic)
    }
}

fn error(code: Code, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(code, message)
}

fn warning(code: Code, message: impl Into<String>) -> Diagnostic {
    Diagnostic::warning(code, message)
}

fn note(code: Code, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(code, Severity::Note, message)
}
