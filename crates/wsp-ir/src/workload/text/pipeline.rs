//! Channels, pipelines and what their processes do with channels.

use super::{Parsed, Parser, Skip, codes};
use crate::workload::{Arm, Channel, IntExpr, IntExprKind, NodeKind, Process};
use wsp_core::ChannelId;
use wsp_core::int::{Range, UnOp};
use wsp_diag::{Diagnostic, Span, did_you_mean};
use wsp_syntax::{Tok, shorten};

/// Most copies of one `replicate`, and channels of one array.
const MOST_COPIES: u32 = 1024;

/// An end of a process, which stands for a channel.
struct End<'t> {
    process: &'t str,
    name: &'t str,
    channel: ChannelId,
    /// Whether the process sends by it.
    sends: bool,
    span: Span,
    /// The process stands behind the connection.
    used: bool,
}

/// The value of an expression of numbers.
fn closed(expr: &IntExpr) -> Option<i64> {
    fn value(expr: &IntExpr) -> Option<Range> {
        match &expr.kind {
            IntExprKind::Const(number) => Some(Range::point(i128::from(*number))),
            IntExprKind::Unary(UnOp::Neg, operand) => value(operand)?.negated(),
            IntExprKind::Binary(op, left, right) => Range::binary(*op, value(left)?, value(right)?),
            _ => None,
        }
    }
    i64::try_from(value(expr)?.value()?).ok()
}

impl<'t> Parser<'t> {
    /// `channel c[depth];`: a declaration among the statements.
    pub(super) fn channel(&mut self) -> Parsed<()> {
        self.bump();
        let (name, span) = self.name("the channel's name")?;
        let Some(workload) = self.module.workloads.last_mut() else { return Err(Skip) };
        let index = workload.channels.len();
        // A broken channel keeps its name, which statements use.
        workload.channels.push(Channel::new(name.to_owned(), 1.into(), span));
        self.scope.channels.insert(name, ChannelId(index as u32));
        if !self.at(Tok::LBracket) {
            let help = format!("say how many tokens it holds: `channel {}[2];`", shorten(name));
            return Err(self.unexpected_help(codes::EXPECTED_TOKEN, "`[` and the channel's depth", &help));
        }
        let depth = self.depth_of("the depth")?;
        if self.at(Tok::LBracket) {
            return self.channel_array((name, span), index, &depth);
        }
        self.give_depth(index, depth);
        self.semicolon("the channel")
    }

    /// `[depth]`.
    fn depth_of(&mut self, what: &str) -> Parsed<IntExpr> {
        let open = self.bump();
        let depth = self.expr()?;
        self.close(open, &format!("`]` after {what}"))?;
        Ok(depth)
    }

    fn give_depth(&mut self, index: usize, depth: IntExpr) {
        if let Some(channel) = self.module.workloads.last_mut().and_then(|w| w.channels.get_mut(index)) {
            channel.depth = depth;
        }
    }

    /// The depth of `channel c[n][depth];`: the channels `c_0`, `c_1`, …
    fn channel_array(&mut self, (name, span): (&'t str, Span), first: usize, count: &IntExpr) -> Parsed<()> {
        let depth = self.depth_of("the depth")?;
        let most = i64::from(MOST_COPIES);
        self.scope.channels.remove(name);
        let Some(count) = closed(count).filter(|count| (1..=most).contains(count)) else {
            self.scope.arrays.insert(name, (ChannelId(first as u32), 0));
            let message = format!("the number of channels `{}` is no number from 1 to {most}", shorten(name));
            let help = format!("write `channel {}[4][2];` for 4 channels of depth 2", shorten(name));
            return Err(self.report(Diagnostic::error(codes::COPIES, message).at(count.span, "").help(help)));
        };
        self.scope.arrays.insert(name, (ChannelId(first as u32), count as u32));
        if let Some(workload) = self.module.workloads.last_mut() {
            workload.channels.truncate(first);
            let of = |at: i64| {
                let ends = [format!("{name}[{at}]"), format!("{name}[{at}]")];
                Channel { ends, ..Channel::new(format!("{name}_{at}"), depth.clone(), span) }
            };
            workload.channels.extend((0..count).map(of));
        }
        self.semicolon("the channels")
    }

    /// `pipeline { process a { … } … }`.
    pub(super) fn pipeline(&mut self) -> Parsed<NodeKind> {
        self.bump();
        if !self.at(Tok::LBrace) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, "`{` and the processes of the pipeline"));
        }
        let open = self.bump();
        if self.late_connection().is_err() {
            self.recover_blocks();
            return Ok(NodeKind::Pipeline { processes: Vec::new() });
        }
        let (mut processes, mut ends) = (Vec::new(), Vec::new());
        loop {
            let parsed = match self.tok() {
                Tok::RBrace => {
                    self.bump();
                    self.unused_ends(&ends, &processes);
                    self.scope.connected.clear();
                    return Ok(NodeKind::Pipeline { processes });
                }
                Tok::Eof => return Err(self.unclosed_block(open)),
                Tok::Semi => {
                    self.bump();
                    Ok(())
                }
                _ if self.at_word("process") => self.process(&mut ends).map(|found| processes.push(found)),
                _ if self.at_word("replicate") => self.replicate("process", &mut |p| {
                    processes.push(p.process(&mut ends)?);
                    Ok(())
                }),
                _ if self.at_word("connect") => self.connect(&mut ends),
                _ => {
                    let help = "a pipeline holds processes only: `process load { … }`";
                    let expected = "`process`, `replicate`, `connect` or `}`";
                    Err(self.unexpected_help(codes::EXPECTED_TOKEN, expected, help))
                }
            };
            // What follows a broken head is not looked at: most of it would be wrong for the same reason.
            if parsed.is_err() {
                self.recover_blocks();
                return Ok(NodeKind::Pipeline { processes });
            }
        }
    }

    /// Reports a connection behind one of its processes, in which its end has no meaning yet.
    fn late_connection(&mut self) -> Parsed<()> {
        let (mut depth, mut at, mut written) = (0, 0, Vec::new());
        loop {
            match (self.peek(at).kind, self.word_at(at)) {
                (Tok::Eof, _) => return Ok(()),
                (Tok::RBrace, _) if depth == 0 => return Ok(()),
                (Tok::LBrace, _) => depth += 1,
                (Tok::RBrace, _) => depth -= 1,
                (_, Some("process")) if depth == 0 => {
                    at += 1;
                    written.extend(self.word_at(at));
                }
                (_, Some("connect")) if depth == 0 => {
                    // `connect load.out to work.tiles`.
                    let mut ends = [1, 5].into_iter().filter_map(|end| self.word_at(at + end));
                    if let Some(process) = ends.find(|end| written.contains(end)) {
                        let message = format!("a connection stands behind process `{}`", shorten(process));
                        let diagnostic =
                            Diagnostic::error(codes::COPIES, message).at(self.span_of(self.peek(at)), "");
                        return Err(
                            self.report(diagnostic.help("write it before the processes that it connects"))
                        );
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// `process load { … }`, whose ends stand for channels in its block.
    fn process(&mut self, ends: &mut [End<'t>]) -> Parsed<Process> {
        self.bump();
        let (name, span) = self.name("the process's name")?;
        let outer = self.scope.channels.clone();
        for end in ends.iter_mut().filter(|end| end.process == name) {
            end.used = true;
            self.scope.channels.insert(end.name, end.channel);
            self.scope.ends.insert(end.name, end.sends);
        }
        let body = self.block("the process");
        self.scope.channels = outer;
        self.scope.ends.clear();
        Ok(Process { name: format!("{name}{}", self.scope.suffix()), body: body?, span })
    }

    /// `connect load.out to work.tiles [2];`: a channel that each process calls by the name of its end.
    fn connect(&mut self, ends: &mut Vec<End<'t>>) -> Parsed<()> {
        self.bump();
        let from = self.end_of_process()?;
        if !self.eat_word("to") {
            let help = "name both ends: `connect load.out to work.tiles [2];`";
            return Err(self.unexpected_help(codes::EXPECTED_TOKEN, "`to` and the other end", help));
        }
        let to = self.end_of_process()?;
        if !self.at(Tok::LBracket) {
            let help = "say how many tokens the channel holds: `connect load.out to work.tiles [2];`";
            return Err(self.unexpected_help(codes::EXPECTED_TOKEN, "`[` and the channel's depth", help));
        }
        let depth = self.depth_of("the depth")?;
        let Some(workload) = self.module.workloads.last_mut() else { return Err(Skip) };
        let channel = ChannelId(workload.channels.len() as u32);
        let ((process, name, span), name_of) = (from, format!("{}_{}", from.0, from.1));
        let written = [from, to].map(|(process, name, _)| format!("{process}.{name}"));
        workload.channels.push(Channel { ends: written, ..Channel::new(name_of, depth, span) });
        if process == to.0 {
            let message = format!("both ends are of process `{}`", shorten(process));
            let diagnostic = Diagnostic::error(codes::COPIES, message).at(span, "").label(to.2, "the other");
            self.report(diagnostic.help(
                "connect two processes; what one process keeps for later is a channel: `channel c[2];`",
            ));
        }
        for (sends, (process, name, span)) in [(true, (process, name, span)), (false, to)] {
            if let Some(first) = ends.iter().find(|end| (end.process, end.name) == (process, name)) {
                let message = format!("`{}.{}` is connected twice", shorten(process), shorten(name));
                let diagnostic =
                    Diagnostic::error(codes::COPIES, message).at(span, "").label(first.span, "the first");
                self.report(diagnostic.help("give each channel an end of its own"));
            }
            self.scope.connected.push((process, name));
            ends.push(End { process, name, channel, sends, span, used: false });
        }
        self.semicolon("the connection")
    }

    /// `load.out`.
    fn end_of_process(&mut self) -> Parsed<(&'t str, &'t str, Span)> {
        let (process, start) = self.name("a process")?;
        if !self.eat(Tok::Dot) {
            let help = format!("name an end of the process: `{}.out`", shorten(process));
            return Err(self.unexpected_help(codes::EXPECTED_TOKEN, "`.` and the name of an end", &help));
        }
        let (name, _) = self.name("the name of an end")?;
        Ok((process, name, self.span_from(start)))
    }

    /// Reports ends of processes that there are not behind their connection.
    fn unused_ends(&mut self, ends: &[End<'t>], processes: &[Process]) {
        for end in ends.iter().filter(|end| !end.used) {
            let message = format!("no process `{}` stands behind the connection", shorten(end.process));
            let diagnostic = Diagnostic::error(codes::COPIES, message).at(end.span, "");
            let names = processes.iter().map(|process| process.name.as_str());
            let help = match did_you_mean(end.process, names.clone()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => {
                    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
                    format!("connect processes of this pipeline, which has {}", names.join(", "))
                }
            };
            self.report(diagnostic.help(help));
        }
    }

    /// `replicate w in 0..4 …`: what follows once for each value, which stands in the place of `w`.
    fn replicate(&mut self, what: &str, each: &mut dyn FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        let head = self.span();
        self.bump();
        let (name, span) = self.name("the variable of the copies")?;
        if !self.eat_word("in") {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, "`in` after the variable"));
        }
        let start = self.span();
        let lo = self.expr()?;
        if !self.eat(Tok::Range) {
            let help = format!("write `replicate {} in 0..4 {what} …`", shorten(name));
            return Err(self.unexpected_help(codes::EXPECTED_TOKEN, "`..` and the end of the range", &help));
        }
        let hi = self.expr()?;
        let most = i64::from(MOST_COPIES);
        let bounds =
            closed(&lo).zip(closed(&hi)).filter(|(lo, hi)| *lo >= 0 && hi.saturating_sub(*lo) <= most);
        let Some((lo, hi)) = bounds else {
            let message = format!("copies are made for numbers, at most {most}");
            let diagnostic = Diagnostic::error(codes::COPIES, message)
                .at(self.span_from(start), "")
                .note("copies are made when the file is read, before parameters have values");
            return Err(self.report(diagnostic.help(format!("write `replicate {} in 0..4`", shorten(name)))));
        };
        if !self.at_word(what) && !self.at_word("replicate") {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, &format!("`{what}` behind the range")));
        }
        if lo >= hi {
            let diagnostic = Diagnostic::error(codes::COPIES, format!("{lo}..{hi} has no copies"));
            return Err(self.report(diagnostic.at(head, "").help("leave it out")));
        }
        let (first, labels) = (self.pos, self.scope.labels.clone());
        let outer = self.scope.copied_times;
        self.scope.copied_times = outer.max(1) * lo.abs_diff(hi);
        if self.scope.copied_times > u64::from(MOST_COPIES) {
            let message = format!("{} copies of one text, at most {most} are made", self.scope.copied_times);
            self.scope.copied_times = outer;
            let diagnostic = Diagnostic::error(codes::COPIES, message).at(head, "");
            return Err(self.report(diagnostic.help("make fewer, each of which does more")));
        }
        for value in lo..hi {
            self.pos = first;
            self.scope.open_copy(name, value, span);
            let copied =
                if self.at_word("replicate") { self.nested(|p| p.replicate(what, each)) } else { each(self) };
            self.scope.close_copy();
            self.scope.labels = labels.clone();
            if copied.is_err() {
                self.scope.copied_times = outer;
            }
            copied?;
            // What is wrong with one copy is wrong with all.
            if self.sink.has_errors() {
                break;
            }
        }
        self.scope.copied_times = outer;
        Ok(())
    }

    pub(super) fn lone_process(&mut self) -> Skip {
        let diagnostic = Diagnostic::error(codes::EXPECTED_STATEMENT, "a process stands outside a pipeline")
            .at(self.span(), "")
            .help("write `pipeline { process load { … } }`");
        self.report(diagnostic)
    }

    /// `send c as s { … }`, `consume c as s { … }` or `consume all c as s { … }`, at the first word.
    pub(super) fn transfer(&mut self) -> Parsed<Arm> {
        let (word, start) = (self.word().unwrap_or("send"), self.span());
        self.bump();
        if word == "consume" && self.at_word("all") && self.word_at(1) != Some("as") {
            self.bump();
        }
        self.check_end(word);
        let channel = self.channel_named()?;
        if !self.eat_word("as") {
            let help = format!("name the slot: `{word} c as s {{ … }}`");
            return Err(self.unexpected_help(codes::EXPECTED_TOKEN, "`as` and a name for the slot", &help));
        }
        let (name, span) = self.name("a name for the slot")?;
        let var = self.declare_var(name, span);
        let body = self.block(&format!("the `{word}`"))?;
        Ok(Arm { channel, var, body, span: self.span_from(start) })
    }

    /// Whether a `select` is one over channels.
    pub(super) fn at_channel_select(&self) -> bool {
        let all = self.word_at(1) == Some("all");
        self.peek(1 + usize::from(all)).kind == Tok::LBrace
    }

    /// `select { consume a as s { … } consume b as t { … } }`, or `select all { … }`.
    pub(super) fn channel_select(&mut self) -> Parsed<NodeKind> {
        let head = self.span();
        self.bump();
        let all = self.eat_word("all");
        let open = self.bump();
        let mut arms = Vec::new();
        loop {
            let parsed = match self.tok() {
                Tok::RBrace => break,
                Tok::Eof => return Err(self.unclosed_block(open)),
                Tok::Semi => {
                    self.bump();
                    Ok(())
                }
                _ if self.at_word("consume")
                    && self.word_at(1) == Some("all")
                    && self.word_at(2) != Some("as") =>
                {
                    let diagnostic = Diagnostic::error(codes::EXPECTED_TOKEN, "`all` stands in an arm")
                        .at(self.span(), "")
                        .help("write it behind `select`: a `select all` takes tokens until every channel is closed");
                    Err(self.report(diagnostic))
                }
                _ if self.at_word("consume") => self.arm().map(|arm| arms.push(arm)),
                _ if self.at_word("replicate") => self.replicate("consume", &mut |p| {
                    arms.push(p.arm()?);
                    Ok(())
                }),
                _ => {
                    let help = "an arm takes a token: `consume c as s { … }`";
                    Err(self.unexpected_help(codes::EXPECTED_TOKEN, "`consume` or `}`", help))
                }
            };
            if parsed.is_err() {
                self.recover_blocks();
                return Ok(NodeKind::Combine(Vec::new()));
            }
        }
        self.bump();
        if arms.is_empty() {
            let diagnostic = Diagnostic::error(codes::EXPECTED_TOKEN, "a `select` over no channel")
                .at(self.span_from(head), "")
                .help("give it an arm for each channel: `consume c as s { … }`");
            self.report(diagnostic);
            return Ok(NodeKind::Combine(Vec::new()));
        }
        Ok(NodeKind::Consume { arms, all })
    }

    fn arm(&mut self) -> Parsed<Arm> {
        let visible = self.scope.depth();
        let arm = self.transfer();
        self.scope.close(visible);
        arm
    }

    /// `close c;`.
    pub(super) fn close_channel(&mut self) -> Parsed<NodeKind> {
        self.bump();
        self.check_end("close");
        let channel = self.channel_named()?;
        self.semicolon("the close")?;
        Ok(NodeKind::Close { channel })
    }

    /// Reports an end of a connection that is used the wrong way round.
    fn check_end(&mut self, word: &str) {
        let Some(name) = self.word() else { return };
        let Some(sends) = self.scope.ends.get(name).copied().filter(|sends| *sends == (word == "consume"))
        else {
            return;
        };
        let (is, behind) = if sends { ("sends", "`connect`") } else { ("consumes", "`to`") };
        let message = format!("`{word}` of an end by which the process {is}");
        let diagnostic =
            Diagnostic::error(codes::COPIES, message).at(self.span(), format!("it stands behind {behind}"));
        self.report(diagnostic.help("the first end of a connection sends, and the second consumes"));
    }

    /// `[1]` behind the name of an array of channels.
    fn channel_of_array(&mut self, name: &str, first: ChannelId, count: u32) -> Parsed<ChannelId> {
        if !self.at(Tok::LBracket) {
            let help = format!("`{0}` is an array of {count} channels: write `{0}[0]`", shorten(name));
            return Err(self.unexpected_help(codes::EXPECTED_TOKEN, "`[` and which channel", &help));
        }
        let index = self.depth_of("the channel")?;
        match closed(&index) {
            // How many there are was at fault.
            _ if count == 0 => Ok(first),
            Some(at) if (0..i64::from(count)).contains(&at) => Ok(ChannelId(first.0 + at as u32)),
            found => {
                let what =
                    found.map_or("this is no number".to_owned(), |found| format!("there is no {found}"));
                let name = shorten(name);
                let message =
                    format!("{count} channels are `{name}[0]` to `{name}[{}]`, and {what}", count - 1);
                let diagnostic = Diagnostic::error(codes::COPIES, message).at(index.span, "");
                Err(self.report(diagnostic.help("write a number, or a variable of `replicate`")))
            }
        }
    }

    fn channel_named(&mut self) -> Parsed<ChannelId> {
        let (name, span) = self.name("a channel")?;
        if let Some(channel) = self.scope.channels.get(name).copied() {
            if self.at(Tok::LBracket) {
                let help = format!(
                    "leave the brackets out, or declare an array: `channel {}[4][2];`",
                    shorten(name)
                );
                let message = format!("`{}` is one channel", shorten(name));
                let diagnostic = Diagnostic::error(codes::COPIES, message).at(self.span(), "").help(help);
                return Err(self.report(diagnostic));
            }
            return Ok(channel);
        }
        if let Some((first, count)) = self.scope.arrays.get(name).copied() {
            return self.channel_of_array(name, first, count);
        }
        let message = format!("there is no channel `{}` in this workload", shorten(name));
        let diagnostic = Diagnostic::error(codes::UNDECLARED_CHANNEL, message).at(span, "");
        if self.sink.is_full() {
            return Err(self.report(diagnostic));
        }
        if let Some((process, _)) = self.scope.connected.iter().find(|(_, end)| *end == name) {
            let help = format!(
                "`connect` gives it to process `{0}`: name this process there, or call this one `{0}`",
                shorten(process)
            );
            return Err(self.report(diagnostic.help(help)));
        }
        let help =
            match did_you_mean(name, self.scope.channels.keys().chain(self.scope.arrays.keys()).copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("declare it before the pipeline: `channel {}[2];`", shorten(name)),
            };
        Err(self.report(diagnostic.help(help)))
    }
}
