//! Channels, pipelines and what their processes do with channels.

use super::{Parsed, Parser, Skip, codes};
use crate::workload::{Arm, Channel, NodeKind, Process};
use wsp_core::ChannelId;
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_syntax::{Tok, shorten};

impl<'t> Parser<'t> {
    /// `channel c[depth];`: a declaration among the statements.
    pub(super) fn channel(&mut self) -> Parsed<()> {
        self.bump();
        let (name, span) = self.name("the channel's name")?;
        let Some(workload) = self.module.workloads.last_mut() else { return Err(Skip) };
        let index = workload.channels.len();
        // A broken channel keeps its name, which statements use.
        workload.channels.push(Channel { name: name.to_owned(), depth: 1.into(), span });
        self.scope.channels.insert(name, ChannelId(index as u32));
        if !self.at(Tok::LBracket) {
            let help = format!("say how many tokens it holds: `channel {}[2];`", shorten(name));
            return Err(self.unexpected_help(codes::EXPECTED_TOKEN, "`[` and the channel's depth", &help));
        }
        let open = self.bump();
        let depth = self.expr()?;
        self.close(open, "`]` after the depth")?;
        if let Some(channel) = self.module.workloads.last_mut().and_then(|w| w.channels.get_mut(index)) {
            channel.depth = depth;
        }
        self.semicolon("the channel")
    }

    /// `pipeline { process a { … } … }`.
    pub(super) fn pipeline(&mut self) -> Parsed<NodeKind> {
        self.bump();
        if !self.at(Tok::LBrace) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, "`{` and the processes of the pipeline"));
        }
        let open = self.bump();
        let mut processes = Vec::new();
        loop {
            match self.tok() {
                Tok::RBrace => {
                    self.bump();
                    return Ok(NodeKind::Pipeline { processes });
                }
                Tok::Eof => return Err(self.unclosed_block(open)),
                Tok::Semi => {
                    self.bump();
                }
                _ if self.eat_word("process") => {
                    let (name, span) = self.name("the process's name")?;
                    let body = self.block("the process")?;
                    processes.push(Process { name: name.to_owned(), body, span });
                }
                _ => {
                    let help = "a pipeline holds processes only: `process load { … }`";
                    self.unexpected_help(codes::EXPECTED_TOKEN, "`process` or `}`", help);
                    self.recover_blocks();
                    return Ok(NodeKind::Pipeline { processes });
                }
            }
        }
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
            match self.tok() {
                Tok::RBrace => break,
                Tok::Eof => return Err(self.unclosed_block(open)),
                Tok::Semi => {
                    self.bump();
                }
                _ if self.at_word("consume")
                    && self.word_at(1) == Some("all")
                    && self.word_at(2) != Some("as") =>
                {
                    let diagnostic = Diagnostic::error(codes::EXPECTED_TOKEN, "`all` stands in an arm")
                        .at(self.span(), "")
                        .help("write it behind `select`: a `select all` takes tokens until every channel is closed");
                    self.report(diagnostic);
                    self.recover_blocks();
                    return Ok(NodeKind::Combine(Vec::new()));
                }
                _ if self.at_word("consume") => {
                    let visible = self.scope.depth();
                    let arm = self.transfer();
                    self.scope.close(visible);
                    arms.push(arm?);
                }
                _ => {
                    let help = "an arm takes a token: `consume c as s { … }`";
                    self.unexpected_help(codes::EXPECTED_TOKEN, "`consume` or `}`", help);
                    self.recover_blocks();
                    return Ok(NodeKind::Combine(Vec::new()));
                }
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

    /// `close c;`.
    pub(super) fn close_channel(&mut self) -> Parsed<NodeKind> {
        self.bump();
        let channel = self.channel_named()?;
        self.semicolon("the close")?;
        Ok(NodeKind::Close { channel })
    }

    fn channel_named(&mut self) -> Parsed<ChannelId> {
        let (name, span) = self.name("a channel")?;
        if let Some(channel) = self.scope.channels.get(name) {
            return Ok(*channel);
        }
        let message = format!("there is no channel `{}` in this workload", shorten(name));
        let diagnostic = Diagnostic::error(codes::UNDECLARED_CHANNEL, message).at(span, "");
        if self.sink.is_full() {
            return Err(self.report(diagnostic));
        }
        let help = match did_you_mean(name, self.scope.channels.keys().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("declare it before the pipeline: `channel {}[2];`", shorten(name)),
        };
        Err(self.report(diagnostic.help(help)))
    }
}
