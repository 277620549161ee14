//! Lowers a workload and its schedule.
//!
//! Statements are written first, then what the schedule says: whether an affinity can name the depth of a loop depends on
//! where the tasks stand.

mod axis;
mod body;
mod expr;
mod finish;
mod pipeline;
mod places;
mod schedule;
mod scope;
mod statement;
mod task;

pub(super) use places::Places;
pub use places::{BodyVar, VarKind};
pub use statement::{Statement, statements};

use super::dispatch::DispatchPlan;
use super::emit::{Bodies, BodyId, ExprPool, Place};
use super::{ProgramBuf, codes};
use crate::workload::LoweredSchedule;
use places::OpenPlaces;
use scope::InlinedWorkload;
use wsp_core::ptow::{AxisDescriptor, MAX_WORDS, Op, Word, XOp};
use wsp_core::words::counted;
use wsp_core::{AxisId, ParamId, TableId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::{Deps, WorkloadModule};
use wsp_ordered::OrderedMap;

/// A workload as a program.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The program.
    pub program: ProgramBuf,
    /// The parameter that each launch-time value is.
    pub values: Vec<ParamId>,
    /// The table that each launch-time table is.
    pub tables: Vec<TableId>,
    /// The axis that each row of the table of axes is; none for `lo..hi`.
    pub axes: Vec<Option<AxisId>>,
    /// Every `TASK`, by the index of its word.
    pub sites: Vec<Site>,
    /// Every `PROCESS`, in the order of their words.
    pub(super) pipelines: Vec<Pipeline>,
    /// The statement or directive of each word.
    pub spans: Vec<Span>,
    /// What the source says of bodies and expressions.
    pub(super) places: Places,
    /// What AICPUs are told beside the program.
    pub dispatch: DispatchPlan,
    /// Whether the program has labels and `AFTER`.
    pub keeps_after: bool,
    /// What the program does in another way than the schedule says.
    pub notes: Vec<Diagnostic>,
}

/// Whether an instruction may fail, whatever its expressions do.
fn can_fail(word: &Word) -> bool {
    use Op::{
        Channel, Close, ForEach, Let, ParallelFor, Process, Recv, Select, SelectAll, SelectCh, Send, Task,
        While,
    };
    let op = Op::from_code(word.opcode);
    let known = [
        ParallelFor,
        ForEach,
        Select,
        While,
        Let,
        Task,
        Channel,
        Process,
        Send,
        Recv,
        Close,
        SelectCh,
        SelectAll,
    ];
    op.is_some_and(|op| known.contains(&op))
}

/// Whether an operation of an expression may have no result.
fn expression_can_fail(word: &Word) -> bool {
    XOp::from_code(word.opcode).is_some_and(XOp::can_fail)
}

/// A `TASK` of the program.
#[derive(Clone, PartialEq, Debug)]
pub struct Site {
    /// The index of its word.
    pub word: u32,
    /// Its statement: an index into [`statements`]. Statements of workloads that are called more than once have several
    /// sites.
    pub statement: u32,
}

/// A `PROCESS` of the program.
#[derive(Clone, Debug)]
pub(super) struct Pipeline {
    /// The index of its word.
    pub(super) word: u32,
    /// Names of its processes, by number.
    pub(super) processes: Vec<String>,
    /// Its channels, by number.
    pub(super) channels: Vec<PipelineChannel>,
}

/// A channel of a pipeline.
#[derive(Clone, Debug)]
pub(super) struct PipelineChannel {
    pub(super) declared: wsp_ir::workload::Channel,
    /// The numbers of the process that sends or closes and of the one that takes.
    pub(super) ends: [Option<usize>; 2],
    /// Whether it is sent to, and whether it is closed, perhaps.
    pub(super) sends: bool,
    pub(super) closes: bool,
}

impl Lowered {
    /// The site of a `TASK`.
    pub fn site(&self, word: u32) -> Option<&Site> {
        let at = self.sites.binary_search_by_key(&word, |site| site.word).ok()?;
        self.sites.get(at)
    }

    /// Where what may fail stands in the source: the word of the instruction, none for the schedule and for axes; the word of its
    /// expression, none for the instruction itself; and the place.
    pub fn places(&self) -> impl Iterator<Item = (Option<u32>, Option<u32>, Span)> + '_ {
        let program = self.program.verified();
        let program = program.program();
        let words: Vec<bool> = program.words.iter().map(can_fail).collect();
        let exprs: Vec<bool> = program.exprs.iter().map(expression_can_fail).collect();
        self.places.all(&self.spans).filter(move |(word, expr, _)| match (word, expr) {
            (_, Some(expr)) => exprs.get(*expr as usize).is_some_and(|can| *can),
            (Some(word), None) => words.get(*word as usize).is_some_and(|can| *can),
            (None, None) => false,
        })
    }

    /// The variables in scope at a word, outermost first.
    pub fn vars(&self, word: u32) -> &[BodyVar] {
        self.places.vars(word)
    }
}

/// Lowers the entry workload of a verified module. Time and size depend on the source alone: the values that a launch
/// binds are not looked at.
///
/// # Errors
/// What a program has no room for: too many words, loops or bodies nested too deeply, expressions that are too large, and
/// schedules that [`wsp_core::ptow::DispatchConfig`] and `DISPATCH_FILTER` cannot say.
pub fn lower(module: &WorkloadModule, schedule: &LoweredSchedule) -> Result<Lowered, Vec<Diagnostic>> {
    let Some(entry) = module.entry else {
        return Err(vec![crate::workload::fault::no_workload()]);
    };
    let inlined = statement::inlined(module, entry);
    if inlined > u64::from(MAX_WORDS) * 8 {
        return Err(vec![too_many_statements(module, inlined)]);
    }
    let mut lowering = Lowering::new(module, schedule);
    let workload = &module.workloads[entry.index()];
    lowering.next_label = workload.labels.len() as u32;
    let statements = lowering.body();
    let mut scope = InlinedWorkload::new(workload, Vec::new(), 0, lowering.first_statement(entry));
    lowering.block(&workload.body, &mut scope, statements);
    let (outermost, dispatch) = lowering.schedule(schedule, statements);
    lowering.finish(outermost, dispatch)
}

fn too_many_statements(module: &WorkloadModule, inlined: u64) -> Diagnostic {
    let span = module.entry.map(|entry| module.workloads[entry.index()].span).unwrap_or_default();
    Diagnostic::error(codes::TOO_LARGE, "the workload is too large for a program")
        .at(
            span,
            format!(
                "{inlined}, those of called workloads at every call",
                inlined = counted(inlined, "statement")
            ),
        )
        .note(format!("a program has at most {MAX_WORDS} instruction words"))
        .help("put repeated calls into a loop")
}

/// A lowering under way.
struct Lowering<'m> {
    module: &'m WorkloadModule,
    bodies: Bodies,
    exprs: ExprPool,
    values: Vec<ParamId>,
    tables: Vec<TableId>,
    axes: Vec<AxisRow>,
    named_axes: OrderedMap<AxisId, u32>,
    ranges: OrderedMap<[u32; 3], u32>,
    /// Statements before those of each workload.
    first_statements: Vec<u32>,
    /// The variables in scope, over calls.
    vars: Vec<BodyVar>,
    /// Those of each body.
    vars_of: Vec<(BodyId, Vec<BodyVar>)>,
    exprs_at: OpenPlaces,
    sites: Vec<OpenSite>,
    pipelines: Vec<OpenPipeline>,
    /// Most channels of a pipeline.
    channels: usize,
    keeps_after: bool,
    next_label: u32,
    found: Vec<Diagnostic>,
    notes: Vec<Diagnostic>,
}

/// A row of the table of axes.
struct AxisRow {
    axis: Option<AxisId>,
    row: AxisDescriptor,
}

/// A site whose word has no index yet.
struct OpenSite {
    place: Place,
    statement: u32,
    vars: Vec<BodyVar>,
}

/// A `PROCESS` whose word has no index yet.
struct OpenPipeline {
    place: Place,
    processes: Vec<String>,
    channels: Vec<PipelineChannel>,
}

impl<'m> Lowering<'m> {
    fn new(module: &'m WorkloadModule, schedule: &LoweredSchedule) -> Lowering<'m> {
        Lowering {
            module,
            bodies: Bodies::default(),
            exprs: ExprPool::default(),
            values: Vec::new(),
            tables: Vec::new(),
            axes: Vec::new(),
            named_axes: OrderedMap::new(),
            ranges: OrderedMap::new(),
            first_statements: statement::first_statements(module),
            vars: Vec::new(),
            vars_of: Vec::new(),
            exprs_at: OpenPlaces::default(),
            sites: Vec::new(),
            pipelines: Vec::new(),
            channels: 0,
            keeps_after: matches!(schedule.policy.deps, Deps::Explicit | Deps::Hybrid),
            next_label: 0,
            found: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Reports something, once per place.
    fn report(&mut self, diagnostic: Diagnostic) {
        if !self.found.contains(&diagnostic) {
            self.found.push(diagnostic);
        }
    }
}
