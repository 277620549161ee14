//! The items of a file and their names, found before any item is read.

use super::words::ITEMS;
use super::{Parser, codes};
use crate::workload::walk::Reference;
use wsp_core::{AxisId, KernelId, ParamId, SlotId, TableId, TensorId, WorkloadId};
use wsp_diag::Diagnostic;
use wsp_syntax::Tok;

/// The kinds of items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ItemKind {
    Use,
    Param,
    Let,
    Table,
    Axis,
    Tensor,
    Slot,
    Kernel,
    Workload,
    Schedule,
    /// Tokens that begin with no item's keyword.
    Stray,
}

/// Items in the order of reading: each group after those it needs, and within a group in source order.
pub(super) const GROUPS: &[&[ItemKind]] = &[
    &[ItemKind::Stray, ItemKind::Use],
    &[ItemKind::Param, ItemKind::Let],
    &[ItemKind::Table],
    &[ItemKind::Axis],
    &[ItemKind::Tensor, ItemKind::Slot],
    &[ItemKind::Kernel],
    &[ItemKind::Workload],
    &[ItemKind::Schedule],
];

/// An item's tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) kind: ItemKind,
    /// The first token.
    pub(super) first: usize,
    /// One past the last token.
    pub(super) end: usize,
}

fn kind_of(word: &str) -> ItemKind {
    match word {
        "use" => ItemKind::Use,
        "param" => ItemKind::Param,
        "let" => ItemKind::Let,
        "table" => ItemKind::Table,
        "axis" => ItemKind::Axis,
        "tensor" => ItemKind::Tensor,
        "slot" => ItemKind::Slot,
        "kernel" => ItemKind::Kernel,
        "workload" => ItemKind::Workload,
        "schedule" => ItemKind::Schedule,
        _ => ItemKind::Stray,
    }
}

impl Parser<'_> {
    /// Cuts the file into items and declares their names.
    pub(super) fn outline(&mut self) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::new();
        let mut braces = 0u32;
        for at in 0..self.tokens.len() - 1 {
            let token = self.tokens[at];
            let word = if token.kind == Tok::Ident { self.text_of(token) } else { "" };
            let starts = ITEMS.contains(&word) || (word == "let" && braces == 0);
            if starts || items.is_empty() {
                if let Some(last) = items.last_mut() {
                    last.end = at;
                }
                items.push(Item { kind: kind_of(word), first: at, end: self.tokens.len() - 1 });
                braces = 0;
            }
            match token.kind {
                Tok::LBrace => braces += 1,
                Tok::RBrace => braces = braces.saturating_sub(1),
                _ => {}
            }
        }
        for item in &items {
            self.declare(*item);
        }
        items
    }

    /// Gives the item's name the id that its entry will have. Each item makes one entry of its table, broken or not.
    fn declare(&mut self, item: Item) {
        let count = &mut self.scope.counts;
        let mut next = |table: usize| {
            count[table] += 1;
            count[table] - 1
        };
        let entity = match item.kind {
            ItemKind::Param | ItemKind::Let => Reference::Param(ParamId(next(0))),
            ItemKind::Table => Reference::Table(TableId(next(1))),
            ItemKind::Axis => Reference::Axis(AxisId(next(2))),
            ItemKind::Tensor => Reference::Tensor(TensorId(next(3))),
            ItemKind::Slot => {
                next(3);
                Reference::Slot(SlotId(next(4)))
            }
            ItemKind::Kernel => Reference::Kernel(KernelId(next(5).min(u32::from(u16::MAX)) as u16)),
            ItemKind::Workload => Reference::Workload(WorkloadId(next(6))),
            ItemKind::Use | ItemKind::Schedule | ItemKind::Stray => return,
        };
        let name = self.tokens[(item.first + 1).min(self.tokens.len() - 1)];
        if name.kind != Tok::Ident || item.first + 1 >= item.end {
            return;
        }
        let (text, span) = (self.text_of(name), self.span_of(name));
        if let Some((_, first)) = self.scope.global(text) {
            self.sink.push(
                Diagnostic::error(codes::DECLARED_TWICE, format!("`{text}` is declared twice"))
                    .at(span, "declared again here")
                    .label(first, "first declared here")
                    .help("parameters, tables, axes, tensors, slots, kernels and workloads share their names; rename one"),
            );
            return;
        }
        self.scope.declare(text, entity, span);
    }
}
