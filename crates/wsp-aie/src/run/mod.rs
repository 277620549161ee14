//! Runs of designs without hardware: an interpreter of what a file says.
//!
//! Cores are coroutines, fifos have the buffers that they are given, streams move bytes when all of their ends have some or have room, and the host
//! starts and awaits transfers as its sequence says. What goes on first is fixed, so a run is the same each time, and that it hangs is found the moment when
//! nothing can go on: the report names who waits for whom. No times are known.

mod ahead;
mod arith;
mod bytes;
mod chain;
mod code;
mod compile;
mod control;
mod exec;
mod flows;
mod lanes;
mod left;
mod net;
mod objects;
mod order;
mod own;
mod places;
mod races;
mod refused;
mod report;
mod sequence;
mod skeleton;
mod stream;
mod touch;
mod uses;

pub(crate) use ahead::{foresee, unseen};
pub(crate) use arith::{of_integers, wrap};
pub use report::{Deadlock, Waits};

use crate::codes;
use crate::design::{Design, steps};
use exec::{CoreState, Stop, World};
pub(crate) use net::{Net, depth};
pub(crate) use refused::refused;
use sequence::Running;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_diag::{Diagnostic, Span};

/// How many buffers fifos have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allocation {
    /// As many as a design says.
    Declared,
    /// As upstream's lowering gives them: at a core that acquires, one more than it holds at once.
    Lowered,
    /// That, but as a design says of the fifo of this place.
    LoweredBut(usize),
}

/// What a launch is given.
#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    /// An array, as bytes, which transfers read and write.
    Array(Vec<u8>),
    /// A number that the launch decides.
    Number(i64),
}

/// What a kernel is given, and what it makes.
#[derive(Debug)]
pub struct Call<'m> {
    memory: &'m mut Vec<Vec<u8>>,
    given: Vec<Given>,
    made: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
enum Given {
    Memory(usize),
    Number(f64),
}

impl Call<'_> {
    /// How many arguments there are.
    pub fn len(&self) -> usize {
        self.given.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// The bytes of an argument; none where it is no memory.
    pub fn bytes(&self, at: usize) -> &[u8] {
        match self.given.get(at) {
            Some(Given::Memory(buffer)) => &self.memory[*buffer],
            _ => &[],
        }
    }

    /// The bytes of an argument, to be written; none where it is no memory.
    pub fn bytes_mut(&mut self, at: usize) -> &mut [u8] {
        match self.given.get(at) {
            Some(Given::Memory(buffer)) => &mut self.memory[*buffer],
            _ => &mut [],
        }
    }

    /// An argument that is a number; 0 where it is memory.
    pub fn number(&self, at: usize) -> f64 {
        match self.given.get(at) {
            Some(Given::Number(value)) => *value,
            _ => 0.0,
        }
    }

    /// Gives a result its value, where the kernel has that result.
    pub fn give(&mut self, at: usize, value: f64) {
        if let Some(made) = self.made.get_mut(at) {
            *made = value;
        }
    }
}

/// Runs a kernel by its name, and whether there is one of that name.
pub type Kernels<'k> = dyn FnMut(&str, &mut Call<'_>) -> bool + 'k;

/// Why a launch has no result.
#[derive(Clone, PartialEq, Debug)]
pub enum Failure {
    /// Something in the design or in what it is given is wrong.
    Fault(Diagnostic),
    /// Nothing can go on, and the host still waits.
    Deadlock(Deadlock),
    /// The caller stopped it.
    Cancelled,
}

impl Failure {
    /// What is reported of it.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Failure::Fault(fault) => fault.clone(),
            Failure::Deadlock(deadlock) => deadlock.diagnostic(),
            Failure::Cancelled => crate::stop::stopped(),
        }
    }
}

impl From<Box<Diagnostic>> for Failure {
    fn from(fault: Box<Diagnostic>) -> Failure {
        Failure::Fault(*fault)
    }
}

/// What a launch did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Instructions of cores.
    pub steps: u64,
    /// Bytes that streams moved.
    pub bytes: u64,
    /// How often a core or a stream was looked at and could not go on.
    pub waits: u64,
}

/// Who is the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Turns {
    /// Streams and cores take turns from the last to the first.
    backwards: bool,
    /// A core that acquired what several release does so again before others do.
    stay: bool,
}

/// A design that runs. What its fifos, buffers and cores hold lasts from one launch to the next.
#[derive(Debug)]
pub struct Machine<'d> {
    design: &'d Design,
    net: Net,
    memory: Vec<Vec<u8>>,
    /// Where arrays of the host lie among the buffers.
    host: usize,
    cores: Vec<CoreState>,
    scratch: Vec<u8>,
    /// Instructions that a launch may take.
    pub most_steps: u64,
    /// Stops a launch when it becomes true, once the core or the stream whose turn it is has had it.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Pieces that its streams may move.
    most_pieces: u64,
    turns: Turns,
    /// The last launch ended where nothing went on.
    rests: bool,
}

/// Instructions that a launch may take, unless it says otherwise: some minutes.
const MOST_STEPS: u64 = 10_000_000_000;
/// Instructions that a core takes before others go on.
const TURN: u64 = 1 << 20;
/// Turns in which others go on before a core acquires what several release.
const PATIENCE: u64 = 64;
/// Pieces that a stream moves before others go on.
const PIECES: u64 = 1 << 16;
/// Most bytes of all memory of a design that runs.
const MOST_BYTES: u64 = 1 << 32;

/// What is there, and is not run here.
fn not_run(what: &str, span: Span) -> Box<Diagnostic> {
    let message = format!("{what} is read and checked, and not run here");
    Box::new(Diagnostic::error(codes::NOT_RUN, message).at(span, ""))
}

impl<'d> Machine<'d> {
    /// A design at its start.
    ///
    /// # Errors
    /// Something of it is wrong, or is not run here.
    pub fn new(design: &'d Design, allocation: Allocation) -> Result<Machine<'d>, Diagnostic> {
        Machine::make(design, allocation, false).map_err(|fault| *fault)
    }

    fn make(
        design: &'d Design,
        allocation: Allocation,
        tokens: bool,
    ) -> Result<Machine<'d>, Box<Diagnostic>> {
        for fifo in &design.fifos {
            if let Some((name, _)) = fifo.others.first() {
                return Err(not_run(&format!("`{name}` of fifo `@{}`", fifo.name), fifo.span));
            }
        }
        let mut net = Net::new(design, allocation)?;
        flows::add(design, &mut net)?;
        net.tokens = tokens;
        let mut cores = Vec::new();
        // Those of a skeleton have it in them what they use.
        let shared = if tokens { BTreeSet::new() } else { touch::shared(design) };
        for (i, core) in design.cores.iter().enumerate() {
            let marked = (!shared.is_empty()).then(|| touch::marked(design, core, &shared));
            let core = marked.as_ref().unwrap_or(core);
            let mut end =
                |name: &str, produces: bool, span: Span| net.core_end(design, i, name, produces, span);
            cores.push(CoreState::new(compile::compile(design, core, &mut end)?));
        }
        let touches: Vec<_> = cores.iter_mut().map(|core| std::mem::take(&mut core.code.touches)).collect();
        let released: Vec<_> = cores.iter().map(|core| core.code.released()).collect();
        net.order = races::order(touches, &released, (design, &net));
        let total: u64 = net.buffers.iter().sum();
        if total > MOST_BYTES && !tokens {
            let message = format!("the design has {total} bytes of memory, and {MOST_BYTES} are run at most");
            return Err(Box::new(Diagnostic::error(codes::NOT_RUN, message)));
        }
        let size = |bytes: &u64| if tokens { 0 } else { *bytes as usize };
        let mut memory: Vec<Vec<u8>> = net.buffers.iter().map(|bytes| vec![0; size(bytes)]).collect();
        let host = memory.len();
        let most_args = design.sequences.iter().map(|sequence| sequence.args.len()).max().unwrap_or(0);
        memory.resize_with(host + most_args, Vec::new);
        Ok(Machine {
            design,
            net,
            memory,
            host,
            cores,
            scratch: Vec::new(),
            most_steps: MOST_STEPS,
            cancel: None,
            most_pieces: MOST_STEPS,
            turns: Turns::default(),
            rests: false,
        })
    }

    /// Lets streams of packets, by their places in [`Design::packets`], share an arbiter of a switch: one of them has it from the beginning of a packet to its end, whether
    /// or not the packet goes on. Which streams do so follows from their routes, of which a design says nothing.
    pub fn share_arbiter(&mut self, packets: &[usize]) {
        let is = |stream: &net::Stream| stream.packets.is_some_and(|at| packets.contains(&at));
        let streams = self.net.streams.iter().enumerate().filter(|(_, stream)| is(stream)).map(|(at, _)| at);
        let group = (streams.collect(), None);
        self.net.arbiters.push(group);
    }

    /// Runs a sequence, the only one where no name is given, to its end, and until all transfers are done.
    ///
    /// # Errors
    /// A fault of the design or of what it is given, or a deadlock. The design is then left where it was, and runs no more.
    pub fn launch(
        &mut self,
        name: Option<&str>,
        args: &mut [Arg],
        kernels: &mut Kernels<'_>,
    ) -> Result<Counts, Failure> {
        let mut running = self.begin(name, args)?;
        for (i, arg) in args.iter_mut().enumerate() {
            if let Arg::Array(bytes) = arg {
                std::mem::swap(bytes, &mut self.memory[self.host + i]);
            }
        }
        let done = self.rounds(&mut running, kernels).and_then(|counts| {
            running.waited(self.design, name)?;
            Ok(counts)
        });
        for (i, arg) in args.iter_mut().enumerate() {
            if let Arg::Array(bytes) = arg {
                std::mem::swap(bytes, &mut self.memory[self.host + i]);
            }
        }
        done
    }

    fn begin(&self, name: Option<&str>, args: &[Arg]) -> Result<Running, Failure> {
        let fault = |message: String| Failure::Fault(Diagnostic::error(codes::LAUNCH, message));
        let Some(at) =
            self.design.sequences.iter().position(|sequence| name.is_none_or(|name| sequence.name == name))
        else {
            if name.is_none() && args.is_empty() && self.design.sequences.is_empty() {
                return Ok(Running::default());
            }
            return Err(fault(format!("the design has no runtime sequence `{}`", name.unwrap_or(""))));
        };
        let sequence = &self.design.sequences[at];
        if sequence.args.len() != args.len() {
            return Err(fault(format!(
                "the sequence takes {} values, and {} are given",
                sequence.args.len(),
                args.len()
            )));
        }
        let mut running = Running::new(steps(sequence).map_err(Failure::Fault)?);
        for (i, (value, arg)) in sequence.args.iter().zip(args).enumerate() {
            let ty = self.design.module.ty(*value);
            match (arg, ty.bytes()) {
                (Arg::Array(bytes), Some(needed)) if ty.shaped().is_some() => {
                    if bytes.len() as u64 != needed {
                        return Err(fault(format!(
                            "array {i} has {} bytes, and the sequence takes {needed}",
                            bytes.len()
                        )));
                    }
                    running.arrays.insert(*value, (self.host + i, ty.element_bytes().unwrap_or(1)));
                }
                (Arg::Number(number), _) if ty.shaped().is_none() => {
                    sequence.takes(&self.design.module, *value, *number).map_err(fault)?;
                    running.numbers.insert(*value, *number);
                }
                _ => return Err(fault(format!("value {i} of the launch is not what the sequence takes"))),
            }
        }
        Ok(running)
    }

    fn rounds(&mut self, running: &mut Running, kernels: &mut Kernels<'_>) -> Result<Counts, Failure> {
        let mut counts = Counts::default();
        let (mut left, mut pieces) = (self.most_steps, 0);
        let mut stops = vec![Stop::Steps; self.cores.len()];
        let (mut served, mut waited) = (self.cores.len(), 0);
        loop {
            let mut moved = running.go(self.design, &mut self.net, &mut self.memory)?;
            moved |= self.streams(running, &mut counts, &mut pieces)?;
            self.raced()?;
            for nth in 0..stops.len() {
                let at = self.turn(nth, stops.len());
                stopped_by(self.cancel.as_deref())?;
                let mut turn = TURN.min(left);
                let before = turn;
                let mut world = World {
                    core: at,
                    design: self.design,
                    net: &mut self.net,
                    memory: &mut self.memory,
                    kernels: &mut *kernels,
                };
                let (stopped, went) = self.cores[at].run(&mut turn, &mut world)?;
                stops[at] = stopped;
                left -= before - turn;
                counts.steps += before - turn;
                counts.waits += u64::from(!went);
                moved |= went;
            }
            self.raced()?;
            if self.net.eager.is_none()
                && let Some(core) = self.patient(&stops, served)
            {
                waited += 1;
                if !moved || waited > PATIENCE {
                    (self.net.eager, served, waited) = (Some(core), core, 0);
                    continue;
                }
            }
            let over = !self.design.sequences.is_empty() && running.is_over() && running.all_done();
            let spent = left == 0 || pieces > self.most_pieces;
            // What is left in fifos shows where nothing goes on.
            if over && (!self.net.tokens || !moved || spent) {
                self.rests = !moved;
                return Ok(counts);
            }
            if spent {
                let message = match left {
                    0 => format!("a launch took {} instructions and is not over", self.most_steps),
                    _ => format!("the streams of a launch moved {pieces} pieces, and it is not over"),
                };
                return Err(Failure::Fault(Diagnostic::error(codes::FAULT, message)));
            }
            if running.is_over() && !moved {
                return self.end(running, &stops, counts);
            }
            if !moved {
                return Err(Failure::Deadlock(report::report(
                    self.design,
                    &self.net,
                    running,
                    &stops,
                    &self.cores,
                )));
            }
        }
    }

    /// The next core, behind the one that was served last, that waits for a lock though its units are there.
    fn patient(&self, stops: &[Stop], served: usize) -> Option<usize> {
        let order = self.net.order.as_ref().filter(|order| order.any_patient())?;
        let is_there = |core: &usize| match stops[*core] {
            Stop::Lock { lock, value, exact } => {
                let have = self.net.locks[lock];
                order.is_patient(*core, lock) && (have == value || !exact && have > value)
            }
            _ => false,
        };
        let mut all = (0..stops.len()).map(|nth| self.turn(nth, stops.len()));
        if self.turns.stay && served < stops.len() && is_there(&served) {
            return Some(served);
        }
        let behind = all.clone().skip_while(|at| *at != served).skip(1).find(is_there);
        behind.or_else(|| all.find(is_there))
    }

    /// Who has a turn of so many.
    fn turn(&self, nth: usize, count: usize) -> usize {
        if self.turns.backwards { count - 1 - nth } else { nth }
    }

    /// Refuses uses of a buffer that nothing orders.
    fn raced(&self) -> Result<(), Failure> {
        races::told(self.design, &self.net).map_or(Ok(()), |race| Err(Failure::Fault(race)))
    }

    /// Each stream goes as far as it can; whether one did.
    fn streams(
        &mut self,
        running: &mut Running,
        counts: &mut Counts,
        pieces: &mut u64,
    ) -> Result<bool, Failure> {
        let mut moved = false;
        for nth in 0..self.net.streams.len() {
            let at = self.turn(nth, self.net.streams.len());
            stopped_by(self.cancel.as_deref())?;
            let done = stream::go(&mut self.net, at, PIECES, (&mut self.memory, &mut self.scratch));
            if let Some((_, byte)) = done.beyond {
                let message = format!("{} is at byte {byte}, beyond its array", self.net.streams[at].name);
                return Err(Failure::Fault(Diagnostic::error(codes::TRANSFER, message)));
            }
            if let Some(over) = done.over {
                let message = over.told(&self.net.streams[at].name, self.design);
                let place = self.design.locks[over.lock].span;
                return Err(Failure::Fault(Diagnostic::error(codes::FAULT, message).at(place, "")));
            }
            *pieces += done.pieces;
            running.finished(&done.finished);
            moved |= done.bytes > 0;
            counts.waits += u64::from(done.bytes == 0);
            counts.bytes += done.bytes;
        }
        Ok(moved)
    }

    /// A design without a sequence is over when its cores are.
    fn end(&self, running: &Running, stops: &[Stop], counts: Counts) -> Result<Counts, Failure> {
        let waits = self.design.sequences.is_empty() && stops.iter().any(|stop| *stop != Stop::Ended);
        if waits || !running.all_done() {
            return Err(Failure::Deadlock(report::report(
                self.design,
                &self.net,
                running,
                stops,
                &self.cores,
            )));
        }
        Ok(counts)
    }
}

/// Whether the caller lets a launch go on.
fn stopped_by(cancel: Option<&AtomicBool>) -> Result<(), Failure> {
    match cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
        true => Err(Failure::Cancelled),
        false => Ok(()),
    }
}

/// What two runs of a design tell, with buffers as declared and as upstream's lowering gives them.
///
/// # Errors
/// It fails with the buffers that it gets on hardware, or the caller stops it.
pub fn run_both(
    design: &Design,
    name: Option<&str>,
    args: &mut [Arg],
    kernels: &mut Kernels<'_>,
    cancel: Option<&Arc<AtomicBool>>,
) -> Result<(Counts, Vec<Diagnostic>), Failure> {
    let given = args.to_vec();
    let machine = |allocation| -> Result<Machine<'_>, Failure> {
        let mut machine = Machine::new(design, allocation).map_err(Failure::Fault)?;
        machine.cancel = cancel.cloned();
        Ok(machine)
    };
    let mut lowered = machine(Allocation::Lowered)?;
    let counts = lowered.launch(name, args, kernels)?;
    let mut hangs = |allocation| -> Result<bool, Failure> {
        match machine(allocation)?.launch(name, &mut given.clone(), kernels) {
            Ok(_) => Ok(false),
            Err(Failure::Deadlock(_)) => Ok(true),
            Err(fault) => Err(fault),
        }
    };
    let mut warnings = extras(design, &mut hangs)?;
    warnings.extend(races::cut(&lowered.net));
    Ok((counts, warnings))
}

/// A warning for each fifo that a design needs an extra buffer of.
fn extras(
    design: &Design,
    hangs: &mut dyn FnMut(Allocation) -> Result<bool, Failure>,
) -> Result<Vec<Diagnostic>, Failure> {
    let mut warnings = Vec::new();
    if !hangs(Allocation::Declared)? {
        return Ok(warnings);
    }
    for (i, fifo) in design.fifos.iter().enumerate() {
        if hangs(Allocation::LoweredBut(i))? {
            let depth = fifo.producer_depth();
            let message =
                format!("the design runs only by a buffer more of fifo `@{}` than it has", fifo.name);
            warnings.push(
                Diagnostic::warning(codes::EXTRA, message)
                    .at(fifo.span, format!("depth {depth}"))
                    .help(format!("make it at least {} deep", depth + 1)),
            );
        }
    }
    if warnings.is_empty() {
        let message = "the design runs only by buffers more of several fifos than they have";
        warnings.push(Diagnostic::warning(codes::EXTRA, message));
    }
    Ok(warnings)
}
