//! A kernel that needs both kinds of cores as one task, where the two move tiles to each other: one text, of which each core runs its part.
//!
//! Both cores follow the control flow. What instructions decide is known to the vector core alone, so nothing of the cube core may depend on it.

use super::exchange::{self, Through};
use super::memories::pair;
use super::sides::{self, Core};
use super::{Chip, KernelSource, Source, Told, codes, one_core};
use wsp_core::{LocalId, TensorId};
use wsp_diag::{Diagnostic, Severity};
use wsp_ir::{Function, Verified};
use wsp_ordered::{OrderedMap, OrderedSet};
use wsp_tile::{Memories, Node, Sync, TileProgram, Touched, UnitId, decided, read};

/// What is known to one core alone.
#[derive(Debug)]
pub(super) struct Pair {
    /// Variables that instructions decide.
    decided: OrderedSet<LocalId>,
}

/// The kernel as one task; none where no core moves tiles to another, or the kernel is for one kind of core.
///
/// # Errors
/// Why it cannot be one.
pub(super) fn emit(
    module: &Verified,
    function: &Function,
    told: Told<'_>,
    (chip, memories): (Chip, &Memories),
) -> Option<Result<KernelSource, Vec<Diagnostic>>> {
    (chip == Chip::A5 && exchange::is_mixed(module, function))
        .then(|| one_task(module, function, told, (chip, &pair(memories))))
}

fn one_task(
    module: &Verified,
    function: &Function,
    (known, sources): Told<'_>,
    (chip, memories): (Chip, &Memories),
) -> Result<KernelSource, Vec<Diagnostic>> {
    let exchanged = exchange::exchange(module, function, chip, Through::Moves)?;
    let (module, function) = match &exchanged {
        Some(made) => (&made.module, &made.function),
        None => (module, function),
    };
    let legal = wsp_tile::legalise_filled(module, function, known, memories)?;
    let both = Pair { decided: decided(&legal.program) };
    let found = both.check(&legal.program);
    if !found.is_empty() {
        return Err(found);
    }
    let whole = &legal.program;
    let source = Source { module, function, known, sources, chip, memories, whole, pair: Some(&both) };
    one_core(&source, legal.program.clone(), &[]).map(|(made, _)| made)
}

/// Says why a kernel is several tasks.
pub(super) fn note(function: &Function, why: &[Diagnostic]) -> Diagnostic {
    let message = format!("`{}` becomes several tasks", function.name);
    let note = Diagnostic::new(codes::APART, Severity::Note, message).at(function.span, "");
    let new = |(at, one): &(usize, &Diagnostic)| !why[..*at].iter().any(|other| other.message == one.message);
    why.iter().enumerate().filter(new).fold(note, |note, (_, why)| {
        why.notes.iter().fold(note.note(why.message.clone()), |n, more| n.note(more.clone()))
    })
}

impl Pair {
    /// What keeps a program from being one task.
    fn check(&self, program: &TileProgram) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        self.depends(program, &program.body, &mut found);
        let mut tensors: OrderedMap<TensorId, Vec<(Core, bool)>> = OrderedMap::new();
        program.instructions(&mut |instruction| {
            for touch in instruction.touches() {
                if let Touched::Tensor(tensor) = touch.what {
                    let core = sides::of_unit(instruction.unit);
                    tensors.entry(tensor).or_default().push((core, touch.writes));
                }
            }
        });
        let both = |uses: &Vec<(Core, bool)>| {
            let written = |core: Core| uses.contains(&(core, true));
            let used = |core: Core| uses.iter().any(|(of, _)| *of == core);
            (written(Core::Cube) && used(Core::Vector)) || (written(Core::Vector) && used(Core::Cube))
        };
        if tensors.values().any(both) {
            let message = format!("one core stores to a tensor of `{}` that the other uses", program.name);
            found.push(Diagnostic::error(codes::SEVERAL_TASKS, message));
        }
        found
    }

    /// Instructions of the cube core that depend on what the vector core alone knows.
    fn depends(&self, program: &TileProgram, nodes: &[Node], found: &mut Vec<Diagnostic>) {
        for node in nodes {
            let on_cube = |node: &Node| match node {
                Node::Run(instruction) => sides::of_unit(instruction.unit) == Core::Cube,
                _ => false,
            };
            let concerns = match node {
                Node::Run(_) => on_cube(node),
                Node::If { .. } | Node::Loop(_) => any(node, &on_cube),
                _ => false,
            };
            if concerns && self.is_decided(node) {
                let message = format!("the cube core of `{}` needs what the vector core finds", program.name);
                found.push(Diagnostic::error(codes::SEVERAL_TASKS, message));
            }
            node.blocks().for_each(|block| self.depends(program, block, found));
        }
    }

    /// Whether a node reads, at its head, a variable that instructions decide.
    fn is_decided(&self, node: &Node) -> bool {
        let mut found = false;
        read(node, &mut |local| found |= self.decided.contains(&local));
        found
    }

    /// The core that alone runs a node; none where both do.
    pub(super) fn core(&self, node: &Node) -> Option<Core> {
        let of = |unit: UnitId| Some(sides::of_unit(unit));
        match node {
            Node::Run(instruction) => of(instruction.unit),
            Node::Sync(Sync::Set(event)) => of(event.from),
            Node::Sync(Sync::Wait(event)) => of(event.to),
            Node::Sync(Sync::Barrier(unit) | Sync::BarrierAll(unit)) => of(*unit),
            Node::Set { local, .. } => self.decided.contains(local).then_some(Core::Vector),
            Node::If { .. } | Node::Loop(_) => self.is_decided(node).then_some(Core::Vector),
            Node::Name { .. } => None,
        }
    }
}

/// Whether one of the nodes inside is such a one.
fn any(node: &Node, which: &dyn Fn(&Node) -> bool) -> bool {
    which(node) || node.blocks().flatten().any(|inner| any(inner, which))
}
