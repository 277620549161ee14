//! What a core runs: the bodies of its tasks in order, with the objects that they need.

use super::flow::{End, Source};
use super::lines::{Common, Item};
use super::{Part, refused};
use crate::kernel::Body as Kernel;
use crate::mlir::Type;
use crate::stop;
use std::collections::BTreeMap;
use wsp_core::FuncId;
use wsp_diag::Diagnostic;
use wsp_ir::Const;
use wsp_ordered::{OrderedMap, OrderedSet};

/// Longest stretch that is looked for again behind itself.
pub(super) const PERIOD: usize = 1024;
/// Most numbers of a kernel of which each choice is tried.
const FREE: usize = 6;

/// Where a step finds an operand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Place {
    /// An object of a use, by its place among those that are held.
    Held(usize, usize),
    /// A buffer.
    Buffer(usize),
    /// Nowhere: this task does not touch it.
    Unused,
}

/// What is done once, before something else.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Step {
    /// A kernel runs.
    Run {
        /// The body, by number.
        body: usize,
        operands: Vec<Place>,
        /// What is written elsewhere than it is read.
        copies: Vec<(Place, Place)>,
    },
    /// Objects of a use are given back.
    Release(usize, usize),
}

/// What a core runs.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(super) core: usize,
    pub(super) steps: Vec<Step>,
    pub(super) common: Common,
    /// The use, by number, whose first object tells that a launch has begun, where the host writes words.
    pub(super) gate: usize,
    /// Numbers of kernels, by place, that stay numbers in bodies.
    pub(super) loose: OrderedSet<(FuncId, usize)>,
    /// The order in which objects of uses are given back.
    pub(super) order: Vec<usize>,
}

/// Bodies for the numbers of tasks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bodies {
    pub(super) all: Vec<Kernel>,
    /// Which body numbers have.
    known: BTreeMap<Folded, usize>,
    /// What is known, in the order in which it came.
    order: Vec<Folded>,
}

/// The launch and the function, and the numbers that are known, by their bits.
type Folded = ((usize, FuncId), Vec<Option<(u8, i128)>>);

impl Bodies {
    /// Numbers for which bodies are known.
    pub(super) fn count(&self) -> usize {
        self.order.len()
    }

    /// Forgets which bodies the numbers after these have.
    pub(super) fn forget(&mut self, count: usize) {
        self.order.drain(count..).for_each(|of| _ = self.known.remove(&of));
    }

    /// The number of the body of a kernel for these numbers, without those that a launch decides.
    fn of(&mut self, of: (usize, FuncId), body: &Kernel, numbers: &[Option<Const>]) -> usize {
        let bits = |number: &Const| match number {
            Const::Int(value) => (0, *value),
            Const::Float(value) => (1, value.to_bits().into()),
            Const::Bool(value) => (2, (*value).into()),
        };
        let key = (of, numbers.iter().map(|number| number.as_ref().map(bits)).collect());
        if let Some(at) = self.known.get(&key) {
            return *at;
        }
        let folded = body.folded(numbers);
        let at = self.all.iter().position(|other| *other == folded).unwrap_or_else(|| {
            self.all.push(folded);
            self.all.len() - 1
        });
        self.order.push(key.clone());
        self.known.insert(key, at);
        at
    }
}

/// The first launch that has the same bodies of kernels as one of them.
fn like(parts: &[Part<'_>], launch: usize) -> usize {
    let trace = parts[launch].trace;
    let same = |part: &Part<'_>| part.trace.params == trace.params && part.trace.elems == trace.elems;
    parts.iter().position(same).unwrap_or(launch)
}

/// Gives numbers that nothing in a body takes one value: what differs in them alone is one body.
fn unused_alike(numbers: &mut [Option<Const>], used: &[bool]) {
    let unused = numbers.iter_mut().zip(used).filter(|(_, used)| !**used);
    unused.filter_map(|(number, _)| number.as_mut()).for_each(|number| *number = Const::Int(0));
}

/// Values of the numbers of bodies, of a core.
pub(super) type Numbers = Vec<Vec<Const>>;

/// Values of the numbers of the bodies of a core's tasks, by task in order.
pub(super) fn numbers(part: &Part<'_>, core: usize) -> Result<Numbers, Diagnostic> {
    let mut all = Vec::new();
    let own = (0..part.trace.tasks.len()).filter(|at| part.assigned.core_of[*at] == core);
    for task in own.map(|at| &part.trace.tasks[at]) {
        let body = &part.trace.bodies[&task.func];
        let numbers = body.numbers.iter().map(|(number, _)| part.trace.number(*number, task));
        all.push(
            numbers
                .collect::<Option<Vec<Const>>>()
                .ok_or_else(|| refused(format!("`{}` takes a number that only a run knows", body.name)))?,
        );
    }
    Ok(all)
}

/// Numbers of kernels, by place, that stay numbers in the bodies of a core: the fewest with which all launches run the same bodies, with `few` no more of them than a launch alone. Where none do, all of them.
fn loose(
    parts: &[Part<'_>],
    (core, few): (usize, bool),
    (all, bodies): (&[Numbers], &mut Bodies),
) -> OrderedSet<(FuncId, usize)> {
    // By kernel: in each launch, the numbers of its tasks.
    let mut of_kernels: OrderedMap<FuncId, Vec<Vec<&[Const]>>> = OrderedMap::new();
    for (launch, (part, numbers)) in parts.iter().zip(all).enumerate() {
        let own = (0..part.trace.tasks.len()).filter(|at| part.assigned.core_of[*at] == core);
        for (task, numbers) in own.zip(numbers) {
            let of = of_kernels.entry(part.trace.tasks[task].func).or_default();
            of.resize(parts.len(), Vec::new());
            of[launch].push(numbers);
        }
    }
    let mut found = OrderedSet::new();
    for (func, launches) in of_kernels {
        let places = launches.iter().flatten().map(|numbers| numbers.len()).max().unwrap_or(0).min(FREE);
        // The bodies of each launch where these numbers stay; none where a launch has more of them.
        let mut bodies_with = |free: usize, most: usize| {
            let mut sets: Vec<OrderedSet<usize>> = Vec::new();
            for (launch, tasks) in launches.iter().enumerate().filter(|(_, tasks)| !tasks.is_empty()) {
                let body = &parts[launch].trace.bodies[&func];
                let (used, launch) = (body.used(), like(parts, launch));
                let mut set = OrderedSet::new();
                for numbers in tasks {
                    let kept = numbers.iter().enumerate();
                    let kept = kept.map(|(at, value)| (at >= FREE || free >> at & 1 == 0).then_some(*value));
                    let mut kept: Vec<Option<Const>> = kept.collect();
                    unused_alike(&mut kept, &used);
                    set.insert(bodies.of((launch, func), body, &kept));
                    if set.len() > most {
                        return None;
                    }
                }
                sets.push(set);
            }
            Some(sets)
        };
        let alone = bodies_with(0, usize::MAX).unwrap_or_default();
        // Where a tile's first element is fixed in a body and how many are left is not, each round would have a body of its own.
        let most = if few { alone.iter().map(OrderedSet::len).max().unwrap_or(0) } else { usize::MAX };
        let mut same = |free: usize| {
            bodies_with(free, most).is_some_and(|sets| sets.windows(2).all(|pair| pair[0] == pair[1]))
        };
        let mut choices: Vec<usize> = (0..1 << places).collect();
        choices.sort_by_key(|free| free.count_ones());
        let free = choices.into_iter().find(|free| same(*free)).unwrap_or((1 << places) - 1);
        found.extend((0..places).filter(|at| free >> at & 1 == 1).map(|at| (func, at)));
    }
    found
}

impl Program {
    /// What a core runs in all launches.
    ///
    /// # Errors
    /// A number that a body takes is not known, or launches do different things.
    pub(crate) fn new(
        parts: &[Part<'_>],
        (core, bodies): (usize, &mut Bodies),
    ) -> Result<Program, Diagnostic> {
        let all = parts.iter().map(|part| numbers(part, core)).collect::<Result<Vec<Numbers>, _>>()?;
        let found = Program::of(parts, (core, true), (&all, &mut *bodies));
        // What is loose for fewer bodies may have no form as a number of a round.
        found.or_else(|_| Program::of(parts, (core, false), (&all, bodies)))
    }

    fn of(
        parts: &[Part<'_>],
        (core, few): (usize, bool),
        (all, bodies): (&[Numbers], &mut Bodies),
    ) -> Result<Program, Diagnostic> {
        let loose = match parts {
            [_] => OrderedSet::new(),
            _ => loose(parts, (core, few), (all, &mut *bodies)),
        };
        let (mut steps, mut launches) = (Vec::new(), Vec::new());
        let order = releases(parts, core);
        for (launch, (part, numbers)) in parts.iter().zip(all).enumerate() {
            let to = (core, &mut steps, &mut *bodies);
            launches.push(sequence(part, (like(parts, launch), numbers, &loose, &order), to)?);
        }
        let name = &parts[0].assigned.names[core];
        let Some(common) = Common::of(&launches) else {
            return Err(refused(format!("what `{name}` does in these launches differs in more than lengths"))
                .note("a design is for launches that repeat the same tasks, with as many rounds and as large a last tile as each has")
                .help("emit a design for each of them"));
        };
        let gives = |number: usize| {
            let is = |item: &Item| matches!(&steps[item.0], Step::Release(of, _) if *of == number);
            launches.iter().all(|items| items.iter().any(is))
        };
        let flows = &parts[0].flows;
        let gate = (0..flows.uses[core].len())
            .find(|at| flows.streams[flows.uses[core][*at].stream].from == End::Host && gives(*at));
        match gate {
            None if !common.words.is_empty() => Err(refused(format!(
                "`{name}` takes nothing from the host, and so cannot tell when a launch of another length begins"
            ))
            .help("emit a design for each length")),
            gate => Ok(Program { core, steps, common, gate: gate.unwrap_or(0), loose, order }),
        }
    }

    /// The words that the host writes for a launch.
    pub(crate) fn words(&self, launch: usize) -> impl Iterator<Item = i64> {
        self.common.words.iter().map(move |values| values[launch])
    }
}

/// The order in which a task gives objects of uses back: those first of which there are many, so that what is held by a loop of tasks comes after it.
fn releases(parts: &[Part<'_>], core: usize) -> Vec<usize> {
    let objects = |number: &usize| parts.iter().map(|part| part.flows.uses[core][*number].spans.len()).max();
    let mut order: Vec<usize> = (0..parts[0].flows.uses[core].len()).collect();
    order.sort_by_key(|number| std::cmp::Reverse(objects(number)));
    order
}

/// What a core does in one launch.
pub(super) fn sequence(
    part: &Part<'_>,
    (launch, numbers, loose, order): (usize, &Numbers, &OrderedSet<(FuncId, usize)>, &[usize]),
    (core, steps, bodies): (usize, &mut Vec<Step>, &mut Bodies),
) -> Result<Vec<Item>, Diagnostic> {
    let Part { trace, flows, .. } = part;
    let mut items: Vec<Item> = Vec::new();
    let mut released = vec![0; flows.uses[core].len()];
    let mut add = |step: Step, numbers: Vec<i64>| {
        let at = steps.iter().position(|known| *known == step).unwrap_or_else(|| {
            steps.push(step);
            steps.len() - 1
        });
        items.push((at, numbers));
    };
    let own = trace.tasks.iter().enumerate().filter(|(at, _)| part.assigned.core_of[*at] == core);
    let mut used: OrderedMap<FuncId, Vec<bool>> = OrderedMap::new();
    for ((at, task), numbers) in own.zip(numbers) {
        stop::look()?;
        let body = &trace.bodies[&task.func];
        let place = |source: Source| match source {
            Source::Object(number, object) => Place::Held(number, object - released[number]),
            Source::Buffer(number) => Place::Buffer(number),
        };
        let (mut operands, mut copies) = (Vec::new(), Vec::new());
        for [read, write] in &flows.sources[at] {
            let (read, write) = (read.map(place), write.map(place));
            if let (Some(from), Some(to)) = (read, write)
                && from != to
            {
                copies.push((from, to));
            }
            operands.push(write.or(read).unwrap_or(Place::Unused));
        }
        let (mut fixed, mut left) = (Vec::new(), Vec::new());
        for (place, (value, (_, ty))) in numbers.iter().zip(&body.numbers).enumerate() {
            if !loose.contains(&(task.func, place)) {
                fixed.push(Some(*value));
                continue;
            }
            fixed.push(None);
            match value {
                Const::Int(value) if matches!(ty, Type::Int(32) | Type::Index) => left.push(*value as i64),
                _ => {
                    let message = format!(
                        "`{}` takes a number that is no integer of 32 bits, and differs between launches",
                        body.name
                    );
                    return Err(refused(message).help("emit a design for each of them"));
                }
            }
        }
        let used = used.entry(task.func).or_insert_with(|| body.used());
        unused_alike(&mut fixed, used);
        add(Step::Run { body: bodies.of((launch, task.func), body, &fixed), operands, copies }, left);
        for number in order.iter().copied() {
            let of = &flows.uses[core][number];
            let done = of.spans[released[number]..].iter().take_while(|(_, last)| *last == at).count();
            if done > 0 {
                released[number] += done;
                add(Step::Release(number, done), Vec::new());
            }
        }
    }
    Ok(items)
}
