//! The instructions, body by body.

use super::{Printer, raw};
use crate::ptow::shape::{Instruction, instruction, policy_name, policy_operand};
use wsp_core::ptow::{DimKind, Ext, Group, Op, Operand, PolicyType, Word};
use wsp_ordered::OrderedMap;

/// Letters of the loops that are told at the beginning of a body.
const MAX_SCOPE: usize = 200;

/// What a line shows.
enum Piece<'p> {
    /// An instruction with its extension words.
    Whole(Instruction<'p>),
    /// A word by its numbers.
    Raw(&'p Word),
}

/// What surrounds a body.
#[derive(Clone, Default)]
struct BodyCx {
    depth: u32,
    text: String,
}

impl<'p> Printer<'p> {
    /// All instructions.
    pub(super) fn code(&mut self) {
        let pieces = self.pieces();
        self.labels = labels(&pieces);
        let mut scopes: OrderedMap<u32, BodyCx> = OrderedMap::new();
        let mut scope = BodyCx::default();
        for (at, piece) in &pieces {
            if self.labels.contains(at) {
                scope = scopes.remove(at).unwrap_or_default();
                let label = format!("L{at}:");
                let line =
                    if scope.text.is_empty() { label } else { format!("{label:<24} ; {}", scope.text) };
                self.line("");
                self.line(&line);
            }
            let line = match piece {
                Piece::Raw(word) => format!("    {}", raw(".word", word)),
                Piece::Whole(found) => {
                    let text = self.instruction(found);
                    self.enter(found, &scope, &mut scopes);
                    let indent = if found.info.group == Group::Argument { 6 } else { 4 };
                    format!("{:indent$}{text}", "")
                }
            };
            self.line(&line);
        }
        let end = self.program.words.len() as u32;
        if self.labels.contains(&end) {
            self.line(&format!("L{end}:"));
        }
    }

    /// The words as lines, each with its place.
    fn pieces(&self) -> Vec<(u32, Piece<'p>)> {
        let program = self.program;
        let mut pieces = Vec::new();
        let mut at = 0;
        while let Some(rest) = program.words.get(at..) {
            let Some(word) = rest.first() else { break };
            let (piece, len) = match instruction(rest) {
                Some(found) => (Piece::Whole(found), 1 + found.exts.len()),
                None => (Piece::Raw(word), 1),
            };
            pieces.push((at as u32, piece));
            at += len;
        }
        pieces
    }

    /// Notes what surrounds the bodies of an instruction.
    fn enter(&mut self, found: &Instruction<'_>, outer: &BodyCx, scopes: &mut OrderedMap<u32, BodyCx>) {
        let op = found.info.op;
        let mut scope = outer.clone();
        let variable = format!("i{}", outer.depth);
        let told = match op {
            Op::ParallelFor | Op::ForEach | Op::Select => {
                let axis = self.operand(Operand::Axis, u32::from(found.word.operand1));
                let each = if op == Op::ForEach { "each " } else { "" };
                format!("{each}{variable} in {axis}")
            }
            Op::While => format!("round {variable}"),
            Op::Let => format!("let {variable}"),
            Op::Process => "process".to_owned(),
            Op::Send => format!("slot {variable}"),
            Op::Recv | Op::SelectCh | Op::SelectAll => format!("received {variable}"),
            Op::Cond => "if".to_owned(),
            Op::Sequential => "in turn".to_owned(),
            _ => String::new(),
        };
        scope.depth += u32::from(op.binds());
        let comma = if scope.text.is_empty() || told.is_empty() { "" } else { ", " };
        if scope.text.len() + told.len() < MAX_SCOPE {
            scope.text = format!("{}{comma}{told}", scope.text);
        }
        for (kind, value) in operands(found) {
            if matches!(kind, Operand::Body | Operand::OptBody) && self.labels.contains(&value) {
                scopes.entry(value).or_insert_with(|| scope.clone());
            }
        }
    }

    fn instruction(&mut self, found: &Instruction<'_>) -> String {
        let mut parts = match found.info.ext {
            Ext::Policy => self.policy(found),
            _ => self.operands(found),
        };
        if found.info.ext == Ext::Dims
            && let Some(tensor) = parts.pop()
        {
            parts.push(format!("{tensor}{}", self.dims(found.exts)));
        }
        if parts.is_empty() {
            found.info.mnemonic.to_owned()
        } else {
            format!("{} {}", found.info.mnemonic, parts.join(", "))
        }
    }

    /// Operands in the order of the table. Counts of what follows are not written.
    fn operands(&mut self, found: &Instruction<'_>) -> Vec<String> {
        let mut parts = Vec::new();
        for (kind, value) in operands(found) {
            parts.push(self.operand(kind, value));
        }
        parts
    }

    fn dims(&mut self, exts: &[Word]) -> String {
        let mut parts = Vec::new();
        for ext in exts {
            let (kind, immediate) = DimKind::from_flags(ext.flags).unwrap_or((DimKind::Whole, false));
            let low = if kind == DimKind::Whole { String::new() } else { self.expr(u32::from(ext.operand1)) };
            let sign = match kind {
                DimKind::Whole => ":",
                DimKind::Index => "",
                DimKind::Range => " .. ",
                DimKind::Sized => " +: ",
            };
            let high = match kind {
                DimKind::Whole | DimKind::Index => String::new(),
                _ if immediate => (ext.operand2 as i32).to_string(),
                _ => {
                    let text = self.expr(ext.operand2);
                    let digits = text.strip_prefix('-').unwrap_or(&text);
                    if digits.bytes().all(|b| b.is_ascii_digit()) { format!("({text})") } else { text }
                }
            };
            parts.push(format!("{low}{sign}{high}"));
        }
        if parts.is_empty() { String::new() } else { format!("[{}]", parts.join(", ")) }
    }

    fn policy(&mut self, found: &Instruction<'_>) -> Vec<String> {
        let code = found.word.operand1;
        match PolicyType::from_code(code) {
            Some(PolicyType::Threshold) => self.threshold(found.exts),
            Some(PolicyType::StaticPartition) => {
                let ends: Vec<String> = found.exts.iter().map(|e| e.operand2.to_string()).collect();
                let space = if ends.is_empty() { "" } else { " " };
                vec![format!("{}{space}{}", policy_name(code), ends.join(", "))]
            }
            _ => vec![self.level(code, found.exts.first().map_or(0, |e| e.operand2))],
        }
    }

    fn threshold(&mut self, exts: &[Word]) -> Vec<String> {
        let Some((metric, rest)) = exts.split_first() else { return Vec::new() };
        let bounds = usize::from(metric.operand1);
        let key = self.expr(metric.operand2);
        let mut parts = vec![format!("{} {key}", policy_name(PolicyType::Threshold as u16))];
        parts.extend(rest.iter().take(bounds).map(|e| (e.operand2 as i32).to_string()));
        for ext in rest.iter().skip(bounds) {
            parts.push(self.level(ext.operand1, ext.operand2));
        }
        parts
    }

    /// A policy and its operand.
    fn level(&mut self, code: u16, value: u32) -> String {
        match policy_operand(code) {
            Operand::None => policy_name(code).to_owned(),
            kind => format!("{} {}", policy_name(code), self.operand(kind, value)),
        }
    }
}

/// Operands and their kinds, those of extension words behind the others; without policies, dimensions and counts that follow
/// from the text.
fn operands<'i>(found: &'i Instruction<'_>) -> impl Iterator<Item = (Operand, u32)> + 'i {
    let info = found.info;
    let (one, two) = match info.ext {
        Ext::Optional(one, two) | Ext::One(one, two) | Ext::Counted(one, two) => (one, two),
        Ext::None | Ext::Dims | Ext::Policy => (Operand::None, Operand::None),
    };
    let first = [(info.operand1, u32::from(found.word.operand1)), (info.operand2, found.word.operand2)];
    let further = found.exts.iter().flat_map(move |e| [(one, u32::from(e.operand1)), (two, e.operand2)]);
    let counted = matches!(info.ext, Ext::Counted(..));
    let follows = move |kind| {
        kind == Operand::TaskCounts || kind == Operand::Policy || (counted && kind == Operand::Count)
    };
    first.into_iter().chain(further).filter(move |(kind, _)| *kind != Operand::None && !follows(*kind))
}

/// Places that instructions name and at which a line begins.
fn labels(pieces: &[(u32, Piece<'_>)]) -> wsp_ordered::OrderedSet<u32> {
    let mut named = wsp_ordered::OrderedSet::new();
    let end = pieces.last().map_or(0, |(at, piece)| match piece {
        Piece::Whole(found) => at + 1 + found.exts.len() as u32,
        Piece::Raw(_) => at + 1,
    });
    for (_, piece) in pieces {
        let Piece::Whole(found) = piece else { continue };
        let bodies = operands(found).filter(|(kind, value)| match kind {
            Operand::Body => true,
            Operand::OptBody => *value != 0,
            _ => false,
        });
        named.extend(bodies.map(|(_, value)| value));
    }
    let begins = |at: &u32| *at == end || pieces.binary_search_by_key(at, |(start, _)| *start).is_ok();
    named.retain(begins);
    named
}
