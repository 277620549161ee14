//! What an interpreter needs before it begins: its memory, and a launch that fits the program.

use super::super::dispatch::check;
use super::super::prefix::Prefixes;
use super::super::summary::{Summaries, summarise, summary_words};
use super::super::{DispatchConfig, Launch, Op, Program, Verified};
use super::frame::{Attrs, Frames};
use super::machine::{Interpreter, Pending};
use super::own::Own;
use super::strip::Strip;
use super::turns::{Channel, Process, Turns};
use super::values::{LoopVars, NO_TASK, Record};
use super::{InterpStats, Mode, Refusal};
use zerocopy::{FromBytes, IntoBytes};

/// Words of 64 bits that an interpreter of a program needs, whatever the launch.
pub fn workspace_words(program: &Verified<'_>) -> usize {
    let parts = Parts::of(program.program());
    let own = parts.labels.saturating_add(parts.afters).saturating_add(parts.filters);
    own.saturating_add(parts.channels).saturating_add(parts.processes).saturating_add(parts.summaries)
}

/// How many words each part of the workspace has.
struct Parts {
    /// The last task of each label.
    labels: usize,
    /// Tasks that a task waits for.
    afters: usize,
    /// Outer filters: two instructions a word.
    filters: usize,
    /// Tokens of channels.
    channels: usize,
    /// Processes that do not have their turn.
    processes: usize,
    /// What is known of every instruction.
    summaries: usize,
}

impl Parts {
    fn of(program: &Program<'_>) -> Parts {
        let tasks = program.words.iter().filter(|word| word.opcode == Op::Task.code());
        let afters = tasks.map(|word| (word.operand2 >> 16) & 0xFF).max().unwrap_or(0);
        let processes = program.words.iter().filter(|word| word.opcode == Op::Process.code());
        let processes = processes.map(|word| usize::from(word.flags)).max();
        let channels = processes.map_or(0, |_| usize::from(program.counts.channels));
        Parts {
            labels: usize::from(program.counts.labels),
            afters: afters as usize,
            filters: program.words.len().div_ceil(2),
            channels: channels.saturating_mul(size_of::<Channel>() / size_of::<u64>()),
            processes: processes.unwrap_or(0).saturating_mul(size_of::<Process>() / size_of::<u64>()),
            summaries: summary_words(program),
        }
    }
}

impl<'a> Interpreter<'a> {
    /// An interpreter of `program` with a launch, on the AICPU that the configuration names. `shared` may be
    /// [`Prefixes::none`]; `workspace` has at least [`workspace_words`].
    ///
    /// # Errors
    /// When the launch or the configuration does not fit the program.
    pub fn new(
        program: Verified<'a>,
        launch: Launch<'a>,
        config: &DispatchConfig,
        shared: Prefixes<'a>,
        workspace: &'a mut [u64],
        mode: Mode,
    ) -> Result<Interpreter<'a>, Refusal> {
        let need = workspace_words(&program);
        let verified = program;
        let program = *verified.program();
        check_launch(&program, &launch)?;
        let filter = check(config, &verified).map_err(Refusal::Config)?;
        let too_small = Refusal::Workspace { need: need as u64, have: workspace.len() as u64 };
        let parts = Parts::of(&program);
        let (labels, rest) = workspace.split_at_mut_checked(parts.labels).ok_or(too_small)?;
        let (after, rest) = rest.split_at_mut_checked(parts.afters).ok_or(too_small)?;
        let (filters, rest) = rest.split_at_mut_checked(parts.filters).ok_or(too_small)?;
        let outer_filters = <[u32]>::mut_from_bytes(filters.as_mut_bytes()).map_err(|_| too_small)?;
        let (channels, rest) = rest.split_at_mut_checked(parts.channels).ok_or(too_small)?;
        let channels = <[Channel]>::mut_from_bytes(channels.as_mut_bytes()).map_err(|_| too_small)?;
        let (processes, rest) = rest.split_at_mut_checked(parts.processes).ok_or(too_small)?;
        let processes = <[Process]>::mut_from_bytes(processes.as_mut_bytes()).map_err(|_| too_small)?;
        let memory = rest.get_mut(..parts.summaries).ok_or(too_small)?;
        let summaries = match mode {
            Mode::Skip => summarise(&program, &launch, memory),
            Mode::Naive => Summaries::default(),
        };
        labels.fill(NO_TASK);
        Ok(Interpreter {
            program,
            launch,
            shared,
            mode,
            summaries,
            labels_matter: parts.afters > 0,
            n: config.num_aicpus,
            me: config.my_aicpu_id,
            config: filter,
            labels,
            after,
            outer_filters,
            pc: 0,
            frames: Frames::new(),
            scope: LoopVars::new(),
            attrs: Attrs::NONE,
            own: Own::Test,
            ordinal: 0,
            record: Record::new(),
            strip: Strip::new(),
            pending: Pending::default(),
            turns: Turns::new(channels, processes),
            stats: InterpStats::default(),
            end: None,
        })
    }
}

/// Whether a launch has all that a program names.
fn check_launch(program: &Program<'_>, launch: &Launch<'_>) -> Result<(), Refusal> {
    let counts = program.counts;
    if launch.values.len() < usize::from(counts.values) {
        return Err(Refusal::Values { need: counts.values, have: launch.values.len() as u64 });
    }
    if launch.tables.len() < usize::from(counts.tables) {
        return Err(Refusal::Tables { need: counts.tables, have: launch.tables.len() as u64 });
    }
    let (need, have) = (program.tensors.len(), launch.extents.len());
    if have < need {
        return Err(Refusal::Extents { need: need as u64, have: have as u64 });
    }
    Ok(())
}
