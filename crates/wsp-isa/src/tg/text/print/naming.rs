//! Which names the text uses, and for which of them it must say the number.
//!
//! A name can stand for its number if it is an identifier and no other number of its kind has it. Reading gives names their numbers in the
//! order in which they appear; this goes through the unit in the same order, and where another number would come out, the text
//! gives the numbers of all names of that kind beforehand.

use super::operand::Show;
use crate::tg::text::words::{is_expression_word, is_identifier};
use rustc_hash::{FxHashMap, FxHashSet};
use wsp_core::for_each_tg_op;
use wsp_core::tg::*;
use wsp_ir::tg::{Namespace, RefValue, TgModule};

/// A name and its number: what it numbers, the number, the name, and whether the name stands for the number in the text.
pub(super) type NameLine = (Namespace, u32, Symbol, bool);

/// Names as the text uses them.
#[derive(Default)]
pub(super) struct Naming {
    /// Names that stand for their numbers.
    usable: FxHashMap<(Namespace, GraphNo, u32), Symbol>,
    /// Lines before everything else.
    unit: Vec<NameLine>,
    /// Lines behind a `TG_BEGIN`, by its place.
    blocks: FxHashMap<usize, Vec<NameLine>>,
    /// Names of numbers of graphs that nothing mentions.
    left_over: Vec<(Namespace, GraphNo, u32, Symbol)>,
    /// Names of scalars that stand for them in expressions.
    args: Vec<Option<Symbol>>,
    arg_names: FxHashSet<Symbol>,
    /// Loop variables whose names are known at the place.
    iters: FxHashSet<u32>,
}

impl Naming {
    pub(super) fn new(unit: &TgModule) -> Naming {
        let mut naming = Naming::default();
        let taken = naming.choose(unit);
        naming.choose_args(unit, &taken);
        let mut walk = Walk::new(&naming.usable);
        walk.unit(unit);
        let Walk { spaces, blocks, mentioned, .. } = walk;
        naming.lines(unit, &spaces, blocks, &mentioned);
        naming
    }

    /// Chooses names that can stand for their numbers; returns names of loop variables.
    fn choose(&mut self, unit: &TgModule) -> FxHashSet<Symbol> {
        let mut taken = FxHashSet::default();
        let mut iters = FxHashSet::default();
        for (space, graph, number, name) in unit.names.iter() {
            let text = unit.str(name);
            let is_word = is_identifier(text) && !(space == Namespace::Stream && text == "default");
            if is_word && taken.insert((space, graph, name)) {
                self.usable.insert((space, graph, number), name);
                if space == Namespace::Iter {
                    iters.insert(name);
                }
            }
        }
        iters
    }

    fn choose_args(&mut self, unit: &TgModule, iters: &FxHashSet<Symbol>) {
        for arg in &unit.args {
            let text = unit.str(arg.name);
            let usable = is_identifier(text)
                && !is_expression_word(text)
                && !iters.contains(&arg.name)
                && self.arg_names.insert(arg.name);
            self.args.push(usable.then_some(arg.name));
        }
    }

    /// Finds the lines that say numbers.
    fn lines(
        &mut self,
        unit: &TgModule,
        spaces: &[Order],
        blocks: Vec<Block>,
        mentioned: &FxHashSet<(Namespace, u32)>,
    ) {
        let mut in_block: FxHashSet<(Namespace, GraphNo, u32)> = FxHashSet::default();
        for block in blocks {
            let mut lines = Vec::new();
            for (space, order) in [(Namespace::Kernel, &block.kernels), (Namespace::Barrier, &block.barriers)]
            {
                for &number in &order.seen {
                    let key = (space, block.graph, number);
                    in_block.insert(key);
                    match (unit.names.get(space, block.graph, number), self.usable.get(&key)) {
                        (Some(_), Some(&name)) if order.differs => lines.push((space, number, name, true)),
                        (Some(name), None) => lines.push((space, number, name, false)),
                        _ => {}
                    }
                }
            }
            self.blocks.insert(block.begin, lines);
        }
        let mut differs = [false; Namespace::Checkpoint as usize + 1];
        for (space, graph, number, _) in unit.names.iter() {
            let place = &mut differs[space as usize];
            *place |= spaces[space as usize].differs
                || (self.usable.contains_key(&(space, graph, number))
                    && !mentioned.contains(&(space, number)));
        }
        for (space, graph, number, name) in unit.names.iter() {
            let usable = self.usable.contains_key(&(space, graph, number));
            if space.is_per_graph() {
                if !in_block.contains(&(space, graph, number)) {
                    self.left_over.push((space, graph, number, name));
                }
            } else if !usable || differs[space as usize] {
                self.unit.push((space, number, name, usable));
            }
            if space == Namespace::Iter && usable && differs[space as usize] {
                self.iters.insert(number);
            }
        }
    }

    /// The name that stands for a number.
    pub(super) fn name(&self, space: Namespace, graph: GraphNo, number: u32) -> Option<Symbol> {
        self.usable.get(&(space, graph, number)).copied()
    }

    /// The name that stands for a loop variable in an expression at this place.
    pub(super) fn iter(&self, iter: IterNo) -> Option<Symbol> {
        self.name(Namespace::Iter, GraphNo(0), iter.0).filter(|_| self.iters.contains(&iter.0))
    }

    /// From here on the name of a loop variable is known.
    pub(super) fn enter_loop(&mut self, iter: IterNo) {
        self.iters.insert(iter.0);
    }

    /// The name that stands for a scalar from outside.
    pub(super) fn arg(&self, arg: u32) -> Option<Symbol> {
        self.args.get(arg as usize).copied().flatten()
    }

    /// Whether a name stands for a scalar from outside.
    pub(super) fn is_arg(&self, name: Symbol) -> bool {
        self.arg_names.contains(&name)
    }

    pub(super) fn unit_names(&mut self) -> Vec<NameLine> {
        std::mem::take(&mut self.unit)
    }

    pub(super) fn block_names(&mut self, begin: usize) -> Vec<NameLine> {
        self.blocks.remove(&begin).unwrap_or_default()
    }

    pub(super) fn left_over(&mut self) -> Vec<(Namespace, GraphNo, u32, Symbol)> {
        std::mem::take(&mut self.left_over)
    }
}

/// How numbers of one kind appear.
#[derive(Default)]
struct Order {
    /// Those with a name, in order.
    seen: Vec<u32>,
    known: FxHashSet<u32>,
    /// Those that something defines.
    defined: FxHashSet<u32>,
    next: u32,
    /// Whether reading gives a name another number.
    differs: bool,
}

impl Order {
    fn see(&mut self, number: u32, is_named: bool) {
        if !self.known.insert(number) {
            return;
        }
        self.seen.push(number);
        // The largest number is given to no name.
        self.differs |= is_named && (number != self.next || number == u32::MAX);
        self.next = self.next.max(number.saturating_add(1));
    }
}

/// What is a graph's own.
struct Block {
    graph: GraphNo,
    /// Where its `TG_BEGIN` is.
    begin: usize,
    kernels: Order,
    barriers: Order,
}

/// A walk through a unit in the order of its text.
struct Walk<'n> {
    usable: &'n FxHashMap<(Namespace, GraphNo, u32), Symbol>,
    spaces: Vec<Order>,
    blocks: Vec<Block>,
    /// Whether the last block is open.
    inside: bool,
    mentioned: FxHashSet<(Namespace, u32)>,
}

impl<'n> Walk<'n> {
    fn new(usable: &'n FxHashMap<(Namespace, GraphNo, u32), Symbol>) -> Walk<'n> {
        let mut spaces: Vec<Order> = Vec::new();
        spaces.resize_with(Namespace::Checkpoint as usize + 1, Order::default);
        spaces[Namespace::Tensor as usize].next = 1;
        spaces[Namespace::Stream as usize].next = 1;
        Walk { usable, spaces, blocks: Vec::new(), inside: false, mentioned: FxHashSet::default() }
    }

    fn see(&mut self, space: Namespace, number: u32) {
        if !space.is_per_graph() {
            self.mentioned.insert((space, number));
            let is_named = self.usable.contains_key(&(space, GraphNo(0), number));
            self.spaces[space as usize].see(number, is_named);
        } else if self.inside
            && let Some(block) = self.blocks.last_mut()
        {
            let is_named = self.usable.contains_key(&(space, block.graph, number));
            match space {
                Namespace::Kernel => block.kernels.see(number, is_named),
                _ => block.barriers.see(number, is_named),
            }
        }
    }

    fn define(&mut self, space: Namespace, number: u32) {
        self.spaces[space as usize].defined.insert(number);
    }

    fn unit(&mut self, unit: &TgModule) {
        for decl in &unit.externs {
            self.see(Namespace::Tensor, decl.tensor.0);
            self.define(Namespace::Tensor, decl.tensor.0);
        }
        unit.extern_events.iter().for_each(|(event, _)| self.see(Namespace::Event, event.0));
        for (_, value) in unit.references.iter().flat_map(|reference| &reference.bindings) {
            if let RefValue::Tensor(tensor) = value {
                self.see(Namespace::Tensor, tensor.0);
            }
        }
        for (at, instr) in unit.instrs.iter().enumerate() {
            if let Instr::TgBegin { graph_id } = instr {
                let (kernels, barriers) = (Order::default(), Order::default());
                // The number of the graph stands before the block.
                self.inside = false;
                self.blocks.push(Block { graph: *graph_id, begin: at, kernels, barriers });
            }
            seen_by(instr, unit, &mut |space, number| self.see(space, number));
            self.step(instr);
        }
        self.undefined();
    }

    fn step(&mut self, instr: &Instr) {
        match *instr {
            Instr::TgBegin { graph_id } => {
                self.inside = true;
                self.define(Namespace::Graph, graph_id.0);
            }
            Instr::TgEnd { .. } => self.inside = false,
            Instr::TgFuse { fused_graph, .. } => self.define(Namespace::Graph, fused_graph.0),
            Instr::TgKernel { kernel_id, .. } if self.inside => {
                if let Some(block) = self.blocks.last_mut() {
                    block.kernels.defined.insert(kernel_id.0);
                }
            }
            Instr::McAlloc { tensor_id, .. } => self.define(Namespace::Tensor, tensor_id.0),
            Instr::CaPartition { partition_id, .. } => self.define(Namespace::Partition, partition_id.0),
            _ => {}
        }
    }

    /// A name that nothing defines is an error or a declaration, unless the text says its number.
    fn undefined(&mut self) {
        for space in [Namespace::Graph, Namespace::Tensor, Namespace::Partition] {
            let order = &mut self.spaces[space as usize];
            let is_open = |number: &u32| {
                !order.defined.contains(number) && self.usable.contains_key(&(space, GraphNo(0), *number))
            };
            order.differs |= order.seen.iter().any(is_open);
        }
        let devices = &mut self.spaces[Namespace::Device as usize];
        devices.differs |= !devices.seen.is_empty();
        for block in &mut self.blocks {
            let kernels = &mut block.kernels;
            let is_open = |number: &u32| {
                !kernels.defined.contains(number)
                    && self.usable.contains_key(&(Namespace::Kernel, block.graph, *number))
            };
            kernels.differs |= kernels.seen.iter().any(is_open);
        }
    }
}

macro_rules! seen {
    ($($(#[doc = $doc:literal])* $code:literal $mnemonic:ident $name:ident $builder:ident $section:literal $scope:ident
        [$($support:ident)*] { $($operand:ident: $ty:ty $(= $default:expr)?),* };)*) => {
        /// Tells the numbers that an instruction names in its text, in order.
        #[allow(unused_variables, reason = "some instructions have no operands")]
        fn seen_by(instr: &Instr, unit: &TgModule, see: &mut dyn FnMut(Namespace, u32)) {
            match instr {
                $(Instr::$name { $($operand),* } => {
                    $(if !is_default(*$operand, default_of!($($default)?)) {
                        $operand.see(unit, see);
                    })*
                })*
            }
        }
    };
}

fn is_default<T: PartialEq>(value: T, default: Option<T>) -> bool {
    default == Some(value)
}

for_each_tg_op!(seen);
