//! Reads a graph: statements in program order, nested as their control flow is.

use super::Faults;
use super::source::{
    DefSource, Holds, Item, LoopSort, LoopSource, ScopeOrders, Source, TOP, Work, WorkKind, WorkScope,
};
use super::unit::{GraphSpan, Unit};
use crate::plan::KernelDef;
use std::collections::HashMap;
use wsp_core::tg::{Instr, KernelNo, MAX_CONTROL_DEPTH, Scalar};
use wsp_ir::tg::{Namespace, Signatures};

/// Reads a graph.
pub(super) fn read(
    unit: &Unit<'_>,
    span: &GraphSpan,
    signatures: &Signatures,
    faults: &mut Faults,
) -> Source {
    let source = Source {
        no: span.no,
        scopes: vec![WorkScope { parent: TOP, depth: 0, first: 0, end: 0 }],
        ..Source::default()
    };
    let mut reader = Reader {
        unit,
        source,
        faults,
        at: span.body.start,
        end: span.body.end,
        scope: TOP,
        last_kernel: None,
        kernels: HashMap::new(),
        copies: Vec::new(),
        later: Vec::new(),
    };
    reader.source.items = reader.block(0).items;
    reader.source.scopes[TOP as usize].end = reader.source.works.len() as u32;
    reader.source.orders = vec![ScopeOrders::default(); reader.source.scopes.len()];
    reader.attributes(signatures);
    reader.source
}

/// What a block holds.
#[derive(Default)]
struct Block {
    items: Vec<Item>,
    breaks: bool,
    saves: bool,
}

pub(super) struct Reader<'r, 'm> {
    pub(super) unit: &'r Unit<'m>,
    pub(super) source: Source,
    pub(super) faults: &'r mut Faults,
    at: usize,
    end: usize,
    scope: u32,
    last_kernel: Option<u32>,
    /// Works of kernels.
    pub(super) kernels: HashMap<KernelNo, u32>,
    /// Works of copies.
    pub(super) copies: Vec<u32>,
    /// Instructions that say something of kernels, which may be defined later: read when all are known. Of notifications, their work.
    pub(super) later: Vec<(usize, u32)>,
}

impl Reader<'_, '_> {
    fn instr(&self) -> Option<Instr> {
        (self.at < self.end).then(|| self.unit.module.instrs[self.at])
    }

    pub(super) fn fault(&mut self, at: usize, what: &str) {
        self.faults.unverified(self.unit.module, at, what);
    }

    /// Reads statements up to the end of the block, whose instruction is left to the caller.
    fn block(&mut self, depth: u32) -> Block {
        let mut block = Block::default();
        while let Some(instr) = self.instr() {
            let at = self.at as u32;
            match instr {
                Instr::CfElse {} | Instr::CfEndif {} | Instr::CfEndloop {} | Instr::CfEndwhile {}
                    if depth > 0 =>
                {
                    return block;
                }
                Instr::CfElse {} | Instr::CfEndif {} | Instr::CfEndloop {} | Instr::CfEndwhile {} => {
                    self.fault(self.at, "ends no block");
                    self.at += 1;
                }
                _ if depth > MAX_CONTROL_DEPTH => {
                    self.fault(self.at, "is nested too deeply");
                    self.at = self.end;
                }
                Instr::CfIf { condition } => {
                    self.at += 1;
                    let then = self.block(depth + 1);
                    let mut otherwise = Block::default();
                    if let Some(Instr::CfElse {}) = self.instr() {
                        self.at += 1;
                        otherwise = self.block(depth + 1);
                    }
                    self.close(at, |instr| matches!(instr, Instr::CfEndif {}));
                    block.breaks |= then.breaks | otherwise.breaks;
                    block.saves |= then.saves | otherwise.saves;
                    let (then, otherwise) = (then.items, otherwise.items);
                    block.items.push(Item::If { condition, instr: at, then, otherwise });
                }
                Instr::CfLoop { count, iterator, mode } => {
                    let sort = LoopSort::Count(mode, iterator);
                    self.read_loop(sort, count, depth, &mut block);
                }
                Instr::CfWhile { condition, max_iterations } => {
                    self.read_loop(LoopSort::While(max_iterations), condition, depth, &mut block);
                }
                Instr::CfBreak { condition } => {
                    self.at += 1;
                    block.breaks = true;
                    block.items.push(Item::Break { condition, instr: at });
                }
                instr => {
                    self.statement(instr, &mut block);
                    self.at += 1;
                }
            }
        }
        block
    }

    fn close(&mut self, begin: u32, ends: impl Fn(Instr) -> bool) {
        if self.instr().is_some_and(ends) {
            self.at += 1;
        } else {
            self.fault(begin as usize, "has no end that fits");
            self.at = self.end;
        }
    }

    fn read_loop(&mut self, sort: LoopSort, condition: Scalar, depth: u32, block: &mut Block) {
        let (instr, parent) = (self.at as u32, self.scope);
        self.at += 1;
        self.scope = self.source.scopes.len() as u32;
        let (first, nested) = (self.source.works.len() as u32, self.source.scopes[parent as usize].depth + 1);
        self.source.scopes.push(WorkScope { parent, depth: nested, first, end: first });
        let scope = self.scope;
        let body = self.block(depth + 1);
        self.source.scopes[scope as usize].end = self.source.works.len() as u32;
        self.scope = parent;
        self.close(instr, |end| match sort {
            LoopSort::Count(..) => matches!(end, Instr::CfEndloop {}),
            LoopSort::While(_) => matches!(end, Instr::CfEndwhile {}),
        });
        block.saves |= body.saves;
        let Block { items: body, breaks, saves } = body;
        block.items.push(Item::Loop(LoopSource { scope, sort, condition, instr, body, breaks, saves }));
    }

    fn work(&mut self, kind: WorkKind, block: &mut Block) -> u32 {
        let work = self.source.works.len() as u32;
        self.source.works.push(Work { kind, scope: self.scope, instr: self.at as u32 });
        block.items.push(Item::Work(work));
        work
    }

    /// A statement that is no control flow.
    fn statement(&mut self, instr: Instr, block: &mut Block) {
        match instr {
            Instr::TgKernel { kernel_id, entry_symbol, block_dim, core_type, workspace_size, partition } => {
                let module = self.unit.module;
                let def = KernelDef {
                    name: module.name(Namespace::Kernel, self.source.no, kernel_id.0),
                    kernel: kernel_id,
                    graph: self.source.no,
                    entry: module.str(entry_symbol).to_owned(),
                    block_dim,
                    core_type,
                    workspace: workspace_size,
                    partition,
                    request: None,
                    persistent: None,
                    instr: self.at as u32,
                };
                let work = self.work(WorkKind::Kernel(self.source.defs.len() as u32), block);
                self.source.defs.push(DefSource { def, binds: Vec::new() });
                self.kernels.entry(kernel_id).or_insert(work);
                self.last_kernel = Some(work);
            }
            Instr::McCopy { src_tensor, dst_tensor, size, src_offset, dst_offset } => {
                let copy = self.copies.len() as u32;
                let kind =
                    WorkKind::Copy { copy, src: src_tensor, dst: dst_tensor, size, src_offset, dst_offset };
                let work = self.work(kind, block);
                self.copies.push(work);
            }
            Instr::McFree { tensor_id } => {
                self.work(WorkKind::Free(tensor_id), block);
            }
            Instr::SyNotify { device_id, notify_id, after } => {
                let work = self.work(WorkKind::Notify { device: device_id, notify: notify_id }, block);
                match self.last_kernel {
                    Some(src) if after == KernelNo::NONE => {
                        self.later.push((usize::MAX, src));
                        self.later.push((self.at, work));
                    }
                    _ => self.later.push((self.at, work)),
                }
            }
            Instr::SyWaitNotify { device_id, notify_id, before } => {
                let holds = if before == KernelNo::NONE { Holds::Rest } else { Holds::One };
                let kind = WorkKind::WaitNotify { device: device_id, notify: notify_id, holds };
                let work = self.work(kind, block);
                self.later.push((self.at, work));
            }
            Instr::TgCheckpoint { checkpoint_id, .. } => {
                block.saves = true;
                self.work(WorkKind::Checkpoint(checkpoint_id), block);
            }
            _ => self.later.push((self.at, u32::MAX)),
        }
    }
}
