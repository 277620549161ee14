//! Pipelines: channels, processes, sends and consumes.

use super::body::Body;
use super::expr::Place;
use super::{Checker, error, rule};
use crate::workload::{Arm, Process, Workload};
use wsp_core::{ChannelId, WorkloadId};
use wsp_diag::{Diagnostic, Span};

/// What names of processes and channels are.
const PROCESS_NAMES: &str =
    "give each process a name of its own; the copies of `replicate w in 0..2 process p` are `p_0` and `p_1`";
const CHANNEL_NAMES: &str = "give each channel a name of its own; those of `channel c[2][1]` are `c_0` and `c_1`, that of `connect p.out to q.in` is `p_out`";

/// What a process does with a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Send,
    Close,
    Consume,
}

impl End {
    fn word(self) -> &'static str {
        match self {
            End::Send => "send",
            End::Close => "close",
            End::Consume => "consume",
        }
    }

    /// As a message says what a process does.
    fn does(self) -> &'static str {
        match self {
            End::Send => "sends to",
            End::Close => "closes",
            End::Consume => "consumes from",
        }
    }
}

/// Where a process first uses an end of a channel.
#[derive(Clone, Copy, Debug)]
struct Use {
    pipeline: u32,
    process: u32,
    span: Span,
}

/// A process while it is checked.
#[derive(Clone, Copy, Debug)]
struct Current {
    /// The number of its pipeline.
    pipeline: u32,
    /// Its own among the processes of the pipeline.
    process: u32,
    /// Where the pipeline stands.
    around: Span,
}

/// A statement whose steps follow each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ordered {
    word: &'static str,
    span: Span,
}

/// Pipelines and channels of a workload while it is checked.
pub(super) struct Channels {
    /// Of each channel, the process that sends and the one that consumes.
    ends: Vec<[Option<Use>; 2]>,
    /// Pipelines so far.
    pipelines: u32,
    /// The process that is checked.
    process: Option<Current>,
    /// The innermost ordered statement of the process that is checked.
    ordered: Option<Ordered>,
    /// A workload that is called has a pipeline.
    calls_pipeline: bool,
    /// Channels that a statement before, of the same block or one around it, has closed.
    closed: Vec<(ChannelId, Span)>,
    /// Channels of the sends around what is checked.
    sending: Vec<ChannelId>,
}

impl Channels {
    pub(super) fn new(workload: &Workload) -> Channels {
        let ends = vec![[None; 2]; workload.channels.len()];
        Channels {
            ends,
            pipelines: 0,
            process: None,
            ordered: None,
            calls_pipeline: false,
            closed: Vec::new(),
            sending: Vec::new(),
        }
    }

    /// Whether the workload has a pipeline, those of called workloads included.
    pub(super) fn has_pipeline(&self) -> bool {
        self.pipelines > 0 || self.calls_pipeline
    }

    /// A statement whose steps follow each other begins; returns the one around it.
    pub(super) fn enter_ordered(&mut self, word: &'static str, span: Span) -> Option<Ordered> {
        self.ordered.replace(Ordered { word, span })
    }

    /// How many channels are closed here.
    pub(super) fn closed(&self) -> usize {
        self.closed.len()
    }

    /// A block ends, which may have run or not.
    pub(super) fn forget_closed(&mut self, before: usize) {
        self.closed.truncate(before);
    }

    /// The body of a send begins.
    pub(super) fn enter_send(&mut self, channel: ChannelId) {
        self.sending.push(channel);
    }

    /// It ends.
    pub(super) fn leave_send(&mut self) {
        self.sending.pop();
    }

    /// It ends.
    pub(super) fn leave_ordered(&mut self, outer: Option<Ordered>) {
        self.ordered = outer;
    }
}

impl<'m> Checker<'m> {
    /// Checks the declarations of channels.
    pub(super) fn channels(&mut self, workload: &'m Workload) {
        self.distinct_or(
            workload.channels.iter().map(|channel| (&*channel.name, channel.span)),
            Some(CHANNEL_NAMES),
        );
        for channel in &workload.channels {
            self.expr(&channel.depth, &Place::Size("the depth of a channel"));
            if let Some(depth) = channel.depth.as_const().filter(|depth| *depth < 0) {
                let message = format!("channel `{}` has a depth of {depth}", channel.shown());
                self.push(
                    error(rule::CHANNEL, channel.span, message)
                        .note("a depth is the number of tokens that the channel holds; with 0, a send goes on when its token is taken"),
                );
            }
        }
    }

    pub(super) fn pipeline(&mut self, processes: &'m [Process], span: Span, body: &mut Body<'m>) {
        if let Some(Current { around, .. }) = body.channels.process {
            let diagnostic = error(rule::PROCESS, span, "a pipeline stands in a process")
                .label(around, "of this pipeline")
                .help("give the outer pipeline a process for each of the inner one");
            self.push(diagnostic);
        }
        self.distinct_or(processes.iter().map(|process| (&*process.name, process.span)), Some(PROCESS_NAMES));
        body.channels.pipelines += 1;
        let pipeline = body.channels.pipelines;
        let ordered = body.channels.ordered.take();
        let outer = body.channels.process;
        for (process, entry) in (0u32..).zip(processes) {
            body.channels.process = Some(Current { pipeline, process, around: span });
            self.block(&entry.body, body);
        }
        body.channels.process = outer;
        body.channels.ordered = ordered;
    }

    /// Checks `consume` and `select` over channels.
    pub(super) fn consume(&mut self, arms: &'m [Arm], span: Span, body: &mut Body<'m>) {
        self.require(!arms.is_empty(), || {
            error(rule::CHANNEL, span, "a `select` over no channel")
                .help("give it an arm for each channel: `consume c as s { … }`")
        });
        for (at, arm) in arms.iter().enumerate() {
            if let Some(first) = arms[..at].iter().find(|first| first.channel == arm.channel) {
                let diagnostic = error(rule::CHANNEL, arm.span, "a second arm of one channel")
                    .label(first.span, "the first, which takes every token")
                    .help("leave it out");
                self.push(diagnostic);
            }
            self.transfer(End::Consume, arm.channel, arm.span, body);
            self.scoped(&[arm.var], &arm.body, body, arm.span);
        }
    }

    /// Checks a close.
    pub(super) fn close(&mut self, channel: ChannelId, span: Span, body: &mut Body<'m>) {
        self.transfer(End::Close, channel, span, body);
        if body.channels.sending.contains(&channel) {
            let name =
                body.workload.channels.get(channel.index()).map_or("", |channel| channel.written(true));
            let message = format!("`{name}` is closed in a `send` to it");
            self.push(error(rule::CHANNEL, span, message).help("close it behind the `send`"));
        }
        body.channels.closed.push((channel, span));
    }

    /// Checks a send, a close or a consume, apart from its body.
    pub(super) fn transfer(&mut self, end: End, channel: ChannelId, span: Span, body: &mut Body<'m>) {
        let word = end.word();
        let declared = self.lookup(&body.workload.channels, channel.index(), "channel", span);
        let Some(Current { pipeline, process, .. }) = body.channels.process else {
            let diagnostic = error(rule::PROCESS, span, format!("`{word}` stands outside a process"))
                .help(format!("write `pipeline {{ process p {{ {word} … }} … }}`"))
                .python(match end {
                    End::Close => "write `with P.pipe():`, `with P.process(\"p\"):` and in it `c.close()`".to_owned(),
                    _ => format!(
                        "write `with P.pipe():`, `with P.process(\"p\"):` and in it `with c.{word}() as slot:`"
                    ),
                });
            return self.push(diagnostic);
        };
        if let Some(Ordered { word: ordered, span: around }) = body.channels.ordered {
            let diagnostic = error(rule::PROCESS, span, format!("`{word}` stands in a `{ordered}`"))
                .label(around, "its steps follow each other, whatever other processes do")
                .note("a process that waits lets others go on, and an ordered scope ends before others do")
                .help(
                    "write `parallel for`: tasks of different iterations wait for each other by their slots",
                )
                .python(
                    "write `for … in P(…)`: tasks of different iterations wait for each other by their slots",
                );
            self.push(diagnostic);
        }
        let Some(declared) = declared else { return };
        let here = Use { pipeline, process, span };
        let ends = &mut body.channels.ends[channel.index()];
        let side = usize::from(end == End::Consume);
        let first = *ends[side].get_or_insert(here);
        let other = ends[1 - side];
        let name = declared.written(end != End::Consume);
        let before = body.channels.closed.iter().find(|(closed, _)| *closed == channel);
        if let Some((_, before)) = before.filter(|_| end != End::Consume) {
            let diagnostic =
                error(rule::CHANNEL, span, format!("`{word}` behind the `close` of channel `{name}`"))
                    .label(*before, "closed here")
                    .note("nothing is sent to a channel that is closed")
                    .help("close it behind the last `send`, once");
            self.push(diagnostic);
        }
        if first.pipeline == here.pipeline && first.process != process {
            let does = end.does();
            let diagnostic = error(rule::CHANNEL, span, format!("a second process {does} channel `{name}`"))
                .label(first.span, "the first")
                .note("which of two processes comes first would depend on their turns")
                .help(match end {
                    End::Consume => "give each its own channel",
                    End::Send | End::Close => {
                        "give each its own channel: one process takes from several of them with a `select`"
                    }
                });
            self.push(diagnostic);
        } else if let Some(before) =
            [Some(first), other].into_iter().flatten().find(|before| before.pipeline != here.pipeline)
        {
            let diagnostic = error(rule::CHANNEL, span, format!("a second pipeline uses channel `{name}`"))
                .label(before.span, "the first")
                .note("a channel is empty when its pipeline begins")
                .help("give each pipeline its own channels");
            self.push(diagnostic);
        }
    }

    /// Requires that no workload called in a process has a pipeline.
    pub(super) fn called_pipeline(&mut self, callee: WorkloadId, span: Span, body: &mut Body<'m>) {
        if self.pipelined.get(callee.index()) != Some(&true) {
            return;
        }
        body.channels.calls_pipeline = true;
        if let Some(Current { around, .. }) = body.channels.process {
            let name = self.module.workloads.get(callee.index()).map_or("", |workload| &workload.name);
            let message = format!("`{name}` has a pipeline, and is called in a process");
            let diagnostic = error(rule::PROCESS, span, message)
                .label(around, "of this pipeline")
                .help("call it outside the pipeline");
            self.push(diagnostic);
        }
    }

    /// Warns of channels that are not used at both ends.
    pub(super) fn channel_ends(&mut self, body: &Body<'m>) {
        for (channel, ends) in body.workload.channels.iter().zip(&body.channels.ends) {
            let name = channel.shown();
            let (from, to) = (channel.written(true), channel.written(false));
            let warning =
                |message: String| Diagnostic::warning(rule::CHANNEL_END, message).at(channel.span, "");
            self.push(match ends {
                [Some(_), Some(_)] => continue,
                [None, None] => warning(format!("no process uses channel `{name}`")).help("leave it out"),
                [Some(_), None] => warning(format!("no process consumes from channel `{name}`"))
                    .help(format!("write `consume {to} as s {{ … }}`; sends wait once its slots are full"))
                    .python(format!(
                        "write `with {to}.consume() as slot:`; sends wait once its slots are full"
                    )),
                [None, Some(_)] => warning(format!("no process sends to channel `{name}`"))
                    .help(format!("write `send {from} as s {{ … }}`; consumes wait for it for ever"))
                    .python(format!("write `with {from}.send() as slot:`; consumes wait for it for ever")),
            });
        }
    }
}
