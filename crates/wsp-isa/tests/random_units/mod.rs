//! Units made from bytes, for tests and fuzzers.
//!
//! Every decision takes bytes from a [`Choices`]; behind its end all decisions are the simplest ones. The same bytes give
//! the same unit.

#![allow(dead_code, unused_imports, reason = "not every program of tests needs all of it")]

mod graph;
mod host;
mod memory;
mod mutate;
mod scalar;

pub(crate) use crate::choices::{Choices, bytes};
pub(crate) use mutate::mutate_text;

use self::memory::Tensor;
use wsp_core::DType;
use wsp_core::tg::{
    CheckpointNo, EventNo, GraphNo, IterNo, KernelNo, NodeNo, PartitionNo, ScalarType, TensorNo,
};
use wsp_ir::tg::{ArgRef, RefValue, TgBuilder, TgModule};

/// What units are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// To be read, written and checked: every rule of units is kept, but kernels may race, and nobody says that it ends.
    Text,
    /// To be run on one device: kernels that share bytes are ordered and see them, loops end, whatever is waited for is
    /// signalled, and nothing outside is needed but kernels and external tensors.
    Run,
}

/// How large units are, and what they are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    /// What they are for.
    pub(crate) purpose: Purpose,
    /// Most graphs, at least 1.
    pub(crate) graphs: usize,
    /// Most statements of a block.
    pub(crate) statements: usize,
    /// Deepest control flow.
    pub(crate) depth: usize,
}

impl Limits {
    /// Small units for text, bytes and rules, with every instruction in some of them.
    pub(crate) fn text() -> Limits {
        Limits { purpose: Purpose::Text, graphs: 3, statements: 8, depth: 3 }
    }

    /// Small units that can be run.
    pub(crate) fn run() -> Limits {
        Limits { purpose: Purpose::Run, graphs: 2, statements: 6, depth: 3 }
    }
}

/// Entry symbols of the kernels of random units.
pub(crate) const ENTRIES: [&str; 6] = ["fill", "scale", "add", "reduce", "shuffle", "touch"];

/// A unit that [`wsp_ir::tg::verify`] has nothing against.
///
/// Kernels have entry symbols of [`ENTRIES`] and up to 4 arguments, whose directions the bindings say. External tensors have 16 to 64
/// elements of `f32`; in a unit to be run each is written by kernels of one graph at most.
pub(crate) fn valid_unit(choices: &mut Choices<'_>, limits: &Limits) -> TgModule {
    let mut maker = Maker {
        choices,
        limits: *limits,
        b: TgBuilder::new(),
        args: Vec::new(),
        partitions: Vec::new(),
        flying: Vec::new(),
        tensors: Vec::new(),
        iters: Vec::new(),
        fresh: 0,
        events: Vec::new(),
        graphs: Vec::new(),
        checkpoints: Vec::new(),
        notifies: 0,
        current: Current::default(),
    };
    maker.declarations();
    maker.unit();
    maker.b.finish_unchecked()
}

/// A graph that is complete.
#[derive(Clone, Copy)]
struct Made {
    graph: GraphNo,
    launched: bool,
}

/// What the open graph has.
#[derive(Default)]
struct Current {
    /// Its kernels and copies.
    nodes: Vec<NodeNo>,
    /// Its kernels that may wait, and whether a loop stands around them; members of gangs are not among them.
    kernels: Vec<(KernelNo, bool)>,
    /// Tensors to release at the end.
    releasable: Vec<TensorNo>,
    /// Allocations that stand at the end.
    late: Vec<(TensorNo, u64)>,
    /// Loops around the place.
    loops: usize,
    /// Whether a graph is open.
    inside: bool,
    graph: GraphNo,
    /// Kernels that ask for cores or are persistent: once each.
    asked: Vec<KernelNo>,
    has_kernel: bool,
}

/// A unit while it is made.
struct Maker<'c, 'b> {
    choices: &'c mut Choices<'b>,
    limits: Limits,
    b: TgBuilder,
    args: Vec<ArgRef>,
    /// Partitions with cube and vector cores.
    partitions: Vec<PartitionNo>,
    /// Launches that the host has not waited for, and whether they are on the stream that is not the default one.
    flying: Vec<(GraphNo, bool)>,
    tensors: Vec<Tensor>,
    /// Variables of the loops around the place.
    iters: Vec<IterNo>,
    /// Makes names.
    fresh: u32,
    /// Events that something signals, and the graph that does, if it is not outside.
    events: Vec<(EventNo, Option<GraphNo>)>,
    graphs: Vec<Made>,
    checkpoints: Vec<(GraphNo, CheckpointNo)>,
    notifies: u32,
    current: Current,
}

impl Maker<'_, '_> {
    fn is_run(&self) -> bool {
        self.limits.purpose == Purpose::Run
    }

    /// A name of its own.
    fn name(&mut self, prefix: &str) -> String {
        self.fresh += 1;
        format!("{prefix}{}", self.fresh)
    }

    /// A name, or an unnamed number every now and then.
    fn may_name(&mut self, prefix: &str) -> Option<String> {
        if self.choices.once_in(6) { None } else { Some(self.name(prefix)) }
    }

    fn declarations(&mut self) {
        if !self.is_run() && self.choices.once_in(3) {
            self.b
                .use_file(self.choices.pick(&["kernels.pto", "dir/a b.pto", "ü.pto"]).copied().unwrap_or(""));
        }
        for at in 0..2 + self.choices.below(3) {
            self.external(at);
        }
        for at in 0..self.choices.below(3) {
            let default = Some(self.choices.below(4) as i64);
            let ty = ScalarType::ALL[self.choices.below(5)].0;
            let name = format!("n{at}");
            let arg = match self.choices.below(2) {
                0 => self.b.arg(&name, ty, default),
                _ => self.b.host(&name, ty, default),
            };
            self.args.push(arg);
        }
        if self.is_run() {
            return;
        }
        if self.choices.once_in(3) {
            let event = self.b.extern_event("outside");
            self.events.push((event, None));
        }
        if self.choices.once_in(4) {
            let tensor =
                self.tensors.first().map_or(RefValue::Const(1), |tensor| RefValue::Tensor(tensor.no));
            let mut bindings = vec![("x", tensor), ("scale", RefValue::Const(-3))];
            bindings.extend(self.args.first().map(|arg| ("n", RefValue::Arg(arg.0))));
            self.b.reference("product", &bindings);
        }
    }

    fn external(&mut self, at: usize) {
        let name = format!("X{at}");
        let rows = 2 + self.choices.below(3) as u64 * 2;
        let typed = self.is_run() || !self.choices.once_in(4);
        let no = match typed {
            // A run reads conditions of them.
            true if self.is_run() => self.b.extern_tensor(&name, DType::U32, &[rows, 8]),
            true => self.b.extern_tensor(&name, DType::F32, &[rows, 8]),
            false => self.b.extern_tensor(&name, None, &[]),
        };
        self.tensors.push(Tensor::new(no, if typed { rows * 32 } else { 64 }, None));
    }
}
