//! A program for several kinds of cores as tasks, one kind each, and what runs them one after another.
//!
//! Scalars that instructions do not decide are computed by what runs the tasks, which hands their values over. A tile that one task
//! writes and another needs lies in a tensor between them.

mod variables;

use crate::place::live::exposed;
use crate::{
    Buffer, BufferId, Extent, Instruction, Loop, Memories, MemoryId, Node, Op, Side, Tile, TileProgram,
    Touched,
};
use variables::{assigned, count, head, inputs, locals, reads};
pub use variables::{decided, read};
use wsp_core::{LocalId, TensorId};
use wsp_diag::{Code, Diagnostic, Span};
use wsp_ir::{BinOp, Expr, Place, ScalarTy, TileOp};
use wsp_ordered::{OrderedMap, OrderedSet};

/// Instructions of one kind of core, as a program of their own.
#[derive(Clone, PartialEq, Debug)]
pub struct Task {
    /// The kind of core, as the caller numbers them.
    pub core: usize,
    /// The program.
    pub program: TileProgram,
    /// Variables whose values it is given.
    pub inputs: Vec<LocalId>,
}

/// A step of what runs the tasks.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// A task, by number.
    Task(usize),
    /// Scalars alone: no instruction is inside.
    Scalars(Node),
    /// Two ways.
    If {
        /// A `bool`.
        cond: Expr,
        /// When true.
        then: Vec<Step>,
        /// When false.
        otherwise: Vec<Step>,
    },
    /// A loop; its body has no nodes.
    Loop(Loop, Vec<Step>),
}

/// The tasks of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Split {
    /// In the order of the text.
    pub tasks: Vec<Task>,
    /// How they run.
    pub steps: Vec<Step>,
}

/// What a program is split by.
pub struct Cores<'a> {
    /// The kind of core of an instruction.
    pub of: &'a dyn Fn(&Instruction) -> usize,
    /// The memory whose tiles may lie in a tensor between tasks.
    pub kept: MemoryId,
    /// Makes a tensor with the rows, columns and elements of a buffer.
    pub tensor: &'a mut dyn FnMut(&Buffer) -> TensorId,
    /// The code of what stands in the way.
    pub code: Code,
}

/// The tasks of a program without addresses. `tiles` are those of [`crate::Legal`].
///
/// # Errors
/// A task decides on a scalar that others need, or a tile that several need cannot lie in a tensor between them.
pub fn split(
    program: &TileProgram,
    tiles: &[Tile],
    memories: &Memories,
    cores: &mut Cores<'_>,
) -> Result<Split, Vec<Diagnostic>> {
    let mut cut = Cut {
        program,
        decided: decided(program),
        uses: count(&program.body),
        extents: tiles.iter().flat_map(|tile| [tile.rows, tile.cols]).filter_map(Extent::local).collect(),
        of: cores.of,
        code: cores.code,
        tasks: Vec::new(),
        found: Vec::new(),
    };
    let steps = cut.block(&program.body);
    let Cut { mut tasks, mut found, decided, .. } = cut;
    if found.is_empty() {
        found = carry(program, (tiles, &decided), memories, cores, &mut tasks);
    }
    for task in &mut tasks {
        task.program.number();
        task.inputs = inputs(&task.program.body);
    }
    if found.is_empty() { Ok(Split { tasks, steps }) } else { Err(found) }
}

struct Cut<'a> {
    program: &'a TileProgram,
    /// Variables whose value instructions decide.
    decided: OrderedSet<LocalId>,
    /// How often each variable is used in the program.
    uses: OrderedMap<LocalId, u32>,
    /// Valid rows and columns of tiles between statements: what loads and stores a tile between tasks needs them.
    extents: OrderedSet<LocalId>,
    code: Code,
    of: &'a dyn Fn(&Instruction) -> usize,
    tasks: Vec<Task>,
    found: Vec<Diagnostic>,
}

/// Nodes of one core, and the scalars among them, which what runs the tasks computes once more.
#[derive(Default)]
struct Group {
    core: Option<usize>,
    nodes: Vec<Node>,
    scalars: Vec<Step>,
}

/// A loop around other nodes: its own are not copied.
fn with_body(inner: &Loop, body: Vec<Node>) -> Loop {
    Loop { id: inner.id, head: inner.head.clone(), body, span: inner.span }
}

impl Cut<'_> {
    fn block(&mut self, nodes: &[Node]) -> Vec<Step> {
        let (mut steps, mut group) = (Vec::new(), Group::default());
        for node in nodes {
            let mut cores = OrderedSet::new();
            each_instruction(std::slice::from_ref(node), &mut |instruction| {
                cores.insert((self.of)(instruction));
            });
            let mut cores = cores.into_iter();
            match (cores.next(), cores.next()) {
                (core, None) => {
                    if core.is_some() && group.core.is_some() && group.core != core {
                        self.end(&mut group, &mut steps);
                    }
                    group.core = group.core.or(core);
                    let scalars = self.scalars(node).map(Step::Scalars);
                    if group.core.is_none() {
                        steps.extend(scalars);
                    } else {
                        group.scalars.extend(scalars);
                        group.nodes.push(node.clone());
                    }
                }
                _ => {
                    self.end(&mut group, &mut steps);
                    steps.push(self.nested(node));
                }
            }
        }
        self.end(&mut group, &mut steps);
        steps
    }

    /// The task of a group, then its scalars.
    fn end(&mut self, group: &mut Group, steps: &mut Vec<Step>) {
        let Group { core, nodes, mut scalars } = std::mem::take(group);
        if let Some(core) = core {
            let number = self.tasks.len();
            // Without the nodes of the others: each task would copy all.
            let TileProgram { name, locals, buffers, loops, body: _ } = self.program;
            let program = TileProgram {
                name: format!("{name}_{number}"),
                locals: locals.clone(),
                buffers: buffers.clone(),
                loops: *loops,
                body: nodes,
            };
            let own = count(&program.body);
            let mut needed = self.extents.clone();
            let mut kept = Vec::new();
            for step in scalars.into_iter().rev() {
                let Step::Scalars(node) = &step else { continue };
                let goes = match node {
                    Node::Set { local, .. } => {
                        needed.contains(local) || self.uses.get(local) != own.get(local)
                    }
                    _ => true,
                };
                if goes {
                    reads(std::slice::from_ref(node), &mut |local| {
                        needed.insert(local);
                    });
                    kept.push(step);
                }
            }
            kept.reverse();
            scalars = kept;
            for (local, uses) in &own {
                if self.decided.contains(local) && self.uses.get(local) != Some(uses) {
                    self.decides(*local);
                }
            }
            self.tasks.push(Task { core, program, inputs: Vec::new() });
            steps.push(Step::Task(number));
        }
        steps.append(&mut scalars);
    }

    /// Reports a number that one task finds and another needs: the first, since others follow from it.
    fn decides(&mut self, local: LocalId) {
        if !self.found.is_empty() {
            return;
        }
        let local = &self.program.locals[local.index()];
        let message = format!(
            "a task of `{}` finds `{}`, which another task or the order of tasks needs",
            self.program.name, local.name
        );
        let fault = Diagnostic::error(self.code, message)
            .at(local.span, "")
            .note("`T_rows` and `T_cols` are the valid rows and columns of a tile `T`")
            .help("give the number as a field of the descriptor or a parameter, or keep it in a tile of one row and one column");
        self.found.push(fault);
    }

    fn nested(&mut self, node: &Node) -> Step {
        match node {
            Node::If { cond, then, otherwise } => {
                self.known(cond);
                Step::If { cond: cond.clone(), then: self.block(then), otherwise: self.block(otherwise) }
            }
            Node::Loop(inner) => {
                head(&inner.head, &mut |e| self.known(e));
                let steps = self.block(&inner.body);
                Step::Loop(with_body(inner, Vec::new()), steps)
            }
            other => Step::Scalars(other.clone()),
        }
    }

    fn known(&mut self, e: &Expr) {
        let mut found = Vec::new();
        locals(e, &mut |local| found.push(local));
        for local in found.into_iter().filter(|local| self.decided.contains(local)).collect::<Vec<_>>() {
            self.decides(local);
        }
    }

    /// A node without instructions, and without what they decide; none where nothing is left.
    fn scalars(&self, node: &Node) -> Option<Node> {
        let decides = |e: &Expr| {
            let mut found = false;
            locals(e, &mut |local| found |= self.decided.contains(&local));
            found
        };
        let block = |nodes: &[Node]| nodes.iter().filter_map(|node| self.scalars(node)).collect::<Vec<_>>();
        match node {
            Node::Set { local, .. } if self.decided.contains(local) => None,
            Node::Set { .. } | Node::Name { .. } => Some(node.clone()),
            Node::If { cond, then, otherwise } => {
                let (then, otherwise) = (block(then), block(otherwise));
                let empty = then.is_empty() && otherwise.is_empty();
                (!empty && !decides(cond)).then(|| Node::If { cond: cond.clone(), then, otherwise })
            }
            Node::Loop(inner) => {
                let mut known = true;
                head(&inner.head, &mut |e| known &= !decides(e));
                let body = block(&inner.body);
                let needed = known && !body.is_empty() && self.needed_outside(node);
                needed.then(|| Node::Loop(with_body(inner, body)))
            }
            Node::Run(_) | Node::Sync(_) => None,
        }
    }

    /// Whether what a loop gives a value is used outside of it.
    fn needed_outside(&self, node: &Node) -> bool {
        let own = count(std::slice::from_ref(node));
        let mut set = OrderedSet::new();
        assigned(std::slice::from_ref(node), &mut |local| {
            set.insert(local);
        });
        set.iter().any(|local| self.extents.contains(local) || self.uses.get(local) != own.get(local))
    }
}

/// Loads and stores of tiles between tasks.
fn carry(
    program: &TileProgram,
    (tiles, decided): (&[Tile], &OrderedSet<LocalId>),
    memories: &Memories,
    cores: &mut Cores<'_>,
    tasks: &mut [Task],
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let kept = Side::Memory(cores.kept);
    let (Some(load), Some(store)) = (memories.mover(Side::Global, kept), memories.mover(kept, Side::Global))
    else {
        return found;
    };
    for (at, buffer) in program.buffers.iter().enumerate() {
        let id = BufferId(at as u32);
        let touched = |task: &Task, writes: bool| {
            let mut touched = false;
            each_instruction(&task.program.body, &mut |instruction| {
                let own =
                    |touch: &crate::Touch| touch.what == Touched::Buffer(id) && (touch.writes || !writes);
                touched |= instruction.touches().iter().any(own);
            });
            touched
        };
        let reads = |task: &Task| exposed(&task.program.body, id, |touch| touch.reads, &mut false);
        if !tasks.iter().any(reads) {
            continue;
        }
        let known = |extent: Extent| extent.local().is_none_or(|local| !decided.contains(&local));
        let tile = tiles.iter().find(|tile| tile.buffer == id && known(tile.rows) && known(tile.cols));
        let Some(tile) = tile.filter(|_| buffer.memory == cores.kept) else {
            let store = "store it to a tensor, and load it where it is needed";
            let help = if buffer.memory == cores.kept {
                store.to_owned()
            } else {
                format!(
                    "make it a tile in {}, which tasks hand on, or {store}",
                    memories.memory(cores.kept).name
                )
            };
            found.push(
                Diagnostic::error(
                    cores.code,
                    format!(
                        "several tasks need `{}` in {}, and it cannot be kept between them",
                        buffer.name,
                        memories.memory(buffer.memory).name
                    ),
                )
                .at(buffer.span, "")
                .help(help),
            );
            continue;
        };
        let tensor = (cores.tensor)(buffer);
        for task in tasks.iter_mut() {
            let writes = touched(task, true);
            let mut surely = false;
            exposed(&task.program.body, id, |_| false, &mut surely);
            let needs = reads(task) || (writes && !surely);
            let at = || Place {
                index: vec![Expr::u32(0, buffer.span), Expr::u32(0, buffer.span)],
                row_dim: Some(0),
                col_dim: Some(1),
            };
            if needs {
                let op = TileOp::Load { dst: *tile, tensor, at: at(), rows: None, cols: None };
                task.program.body.insert(0, guarded(tile, run(op, load, buffer.span), buffer.span));
            }
            if writes {
                let op = TileOp::Store { tensor, src: *tile, at: at(), rows: None, cols: None, add: false };
                task.program.body.push(guarded(tile, run(op, store, buffer.span), buffer.span));
            }
        }
    }
    found
}

fn run(op: TileOp<Tile>, unit: crate::UnitId, span: Span) -> Node {
    Node::Run(Instruction { id: 0, op: Op::Tile(op), unit, then: None, scratch: Vec::new(), span })
}

/// A transfer that is skipped where the tile has no elements.
fn guarded(tile: &Tile, node: Node, span: Span) -> Node {
    let tests = [tile.rows, tile.cols].into_iter().filter_map(|extent| match extent {
        Extent::Value { local, low: 0, .. } => {
            let value = Expr::local(local, ScalarTy::U32, span);
            Some(Expr::binary(BinOp::Gt, value, Expr::u32(0, span)))
        }
        _ => None,
    });
    match tests.reduce(|a, b| Expr::binary(BinOp::And, a, b)) {
        Some(cond) => Node::If { cond, then: vec![node], otherwise: Vec::new() },
        None => node,
    }
}

fn each_instruction<'a>(nodes: &'a [Node], f: &mut dyn FnMut(&'a Instruction)) {
    for node in nodes {
        if let Node::Run(instruction) = node {
            f(instruction);
        }
        node.blocks().for_each(|block| each_instruction(block, f));
    }
}
