//! Reading a unit into its outline.

use super::fault::Fault;
use super::{
    BlockId, BlockKind, Blocks, CopyDef, FreeDef, GraphDef, Home, KernelDef, NumberMap, Outline,
    PartitionDef, TensorDef,
};
use crate::tg::verify::rule::{self, Placed as _};
use crate::tg::{Namespace, TgModule};
use wsp_core::tg::{
    GraphNo, Instr, InstrScope, IterNo, KernelNo, MAX_CONTROL_DEPTH, MAX_GRAPH_ID, MemLocation, NodeNo, OPS,
    PartitionNo, TensorNo,
};
use wsp_diag::{Code, Diagnostic, Sink};

/// Where each instruction may stand, by its code.
const SCOPES: [InstrScope; 256] = {
    let mut scopes = [InstrScope::Both; 256];
    let mut at = 0;
    while at < OPS.len() {
        scopes[OPS[at].op as usize] = OPS[at].scope;
        at += 1;
    }
    scopes
};

pub(super) fn read(module: &TgModule, faults: &mut Sink) -> Outline {
    let size = module.instrs.len();
    let outline = Outline {
        graph_at: NumberMap::new(size),
        tensor_at: NumberMap::new(size),
        partition_at: NumberMap::new(size),
        ..Outline::default()
    };
    let kernels = NumberMap::new(size);
    let mut reader = Reader {
        module,
        faults,
        outline,
        kernels,
        graph: None,
        block: Blocks::HOST,
        resume: Blocks::HOST,
        nested: Vec::new(),
        at: 0,
    };
    reader.externs();
    for (at, instr) in module.instrs.iter().enumerate() {
        reader.at = at as u32;
        reader.instr(instr);
    }
    reader.at = size as u32;
    reader.finish();
    reader.outline
}

struct Reader<'m, 's> {
    module: &'m TgModule,
    faults: &'s mut Sink,
    outline: Outline,
    /// Kernels by number: places of the open graph's, and stale ones of graphs before it.
    kernels: NumberMap,
    /// The open graph.
    graph: Option<u32>,
    block: BlockId,
    /// The block of the host in which the open graph was begun.
    resume: BlockId,
    /// Graphs that were begun in the open one, which is a fault.
    nested: Vec<GraphNo>,
    /// The instruction.
    at: u32,
}

impl Reader<'_, '_> {
    fn fault(&mut self, code: Code, message: String, label: &str) -> Fault<'_> {
        let diagnostic = Diagnostic::error(code, message).on(self.module, self.at, label);
        Fault { module: self.module, faults: self.faults, diagnostic: Some(diagnostic) }
    }

    fn graph_name(&self, no: GraphNo) -> String {
        self.module.name(Namespace::Graph, GraphNo(0), no.0)
    }

    fn externs(&mut self) {
        for (at, tensor) in self.module.externs.iter().enumerate() {
            if tensor.tensor == TensorNo::NONE || self.outline.tensor(tensor.tensor).is_some() {
                continue;
            }
            self.tensor(TensorDef {
                no: tensor.tensor,
                home: Home::Extern,
                at: at as u32,
                bytes: tensor.bytes(),
                location: MemLocation::Gm,
                is_freed: false,
            });
        }
    }

    fn tensor(&mut self, tensor: TensorDef) {
        self.outline.tensor_at.insert(tensor.no.0, self.outline.tensors.len() as u32);
        self.outline.tensors.push(tensor);
    }

    #[inline(always)]
    fn instr(&mut self, instr: &Instr) {
        match (SCOPES[instr.op() as usize], self.graph) {
            (InstrScope::Graph, None) => return self.outside(instr),
            (InstrScope::Unit, Some(graph)) => return self.inside(instr, graph),
            _ => {}
        }
        match *instr {
            Instr::TgKernel { kernel_id, block_dim, core_type, partition, .. } => {
                let graph = self.graph.unwrap_or(0);
                let (at, block) = (self.at, self.block);
                self.kernel(KernelDef { no: kernel_id, at, graph, block, block_dim, core_type, partition });
            }
            Instr::McCopy { .. } => self.outline.copies.push(CopyDef { at: self.at, block: self.block }),
            Instr::McAlloc { tensor_id, size, location, .. } => self.alloc(tensor_id, size, location),
            Instr::McFree { tensor_id } => {
                self.outline.frees.push(FreeDef { tensor: tensor_id, at: self.at, block: self.block });
            }
            Instr::TgBegin { graph_id } => self.begin(graph_id),
            Instr::TgEnd { graph_id } => self.end(graph_id),
            Instr::TgFuse { graph1, graph2, fused_graph } => self.fuse(graph1, graph2, fused_graph),
            Instr::CaPartition { partition_id, aic_start, aic_count, aiv_start, aiv_count } => {
                let (aic, aiv) = ((aic_start, aic_count), (aiv_start, aiv_count));
                self.partition(PartitionDef { no: partition_id, at: self.at, aic, aiv });
            }
            Instr::CfIf { .. } => self.open(BlockKind::Then),
            Instr::CfElse {} => self.otherwise(),
            Instr::CfEndif {} => self.close(BlockKind::Then, "CF_ENDIF"),
            Instr::CfLoop { iterator, .. } => self.open_loop(iterator),
            Instr::CfEndloop {} => self.close(BlockKind::Loop, "CF_ENDLOOP"),
            Instr::CfWhile { .. } => self.open(BlockKind::While),
            Instr::CfEndwhile {} => self.close(BlockKind::While, "CF_ENDWHILE"),
            Instr::CfBreak { .. } => self.leave(),
            _ => {}
        }
    }

    fn outside(&mut self, instr: &Instr) {
        let mnemonic = instr.op().info().mnemonic;
        let last = self.outline.graphs.last().filter(|graph| graph.parts.is_none()).cloned();
        let mut fault =
            self.fault(rule::LEVEL, format!("`{mnemonic}` outside of a graph"), "no graph is open here");
        if let Some(graph) = last {
            fault.and(graph.end, "the graph before it ends here and cannot be changed any more");
        }
        fault.help(format!("put `{mnemonic}` between TG_BEGIN and TG_END"));
    }

    fn inside(&mut self, instr: &Instr, graph: u32) {
        let mnemonic = instr.op().info().mnemonic;
        let (no, begin) = (self.outline.graphs[graph as usize].no, self.outline.graphs[graph as usize].at);
        let name = self.graph_name(no);
        self.fault(rule::LEVEL, format!("`{mnemonic}` inside of graph `{name}`"), "the host does this")
            .and(begin, "the graph begins here")
            .help(format!("put `{mnemonic}` after TG_END({name})"));
    }

    fn kernel(&mut self, kernel: KernelDef) {
        if kernel.no.0 & NodeNo::COPY != 0 {
            let no = kernel.no.0;
            self.fault(rule::KERNEL_RANGE, format!("kernel number {no} is too large"), "")
                .help(format!("number kernels from 0 to {}", NodeNo::COPY - 1));
            return;
        }
        let place = self.outline.kernels.len() as u32;
        let known = self.kernels.get(kernel.no.0).map(|at| self.outline.kernels[at as usize]);
        if let Some(first) = known.filter(|known| known.graph == kernel.graph) {
            self.kernel_twice(kernel.no, first.at);
        } else {
            self.kernels.insert(kernel.no.0, place);
        }
        self.outline.kernels.push(kernel);
    }

    fn kernel_twice(&mut self, no: KernelNo, first: u32) {
        let graph = self.graph.map_or(GraphNo(0), |graph| self.outline.graphs[graph as usize].no);
        let name = self.module.name(Namespace::Kernel, graph, no.0);
        let message = format!("kernel `{name}` is defined twice in graph `{}`", self.graph_name(graph));
        self.fault(rule::KERNEL_TWICE, message, "defined again here").and(first, "first defined here").help(
            "give each kernel of a graph a number of its own; use more blocks to run one kernel on more data",
        );
    }

    fn alloc(&mut self, no: TensorNo, size: u64, location: MemLocation) {
        if no == TensorNo::NONE {
            self.fault(rule::TENSOR_ZERO, "tensor 0 is allocated".into(), "0 stands for no tensor")
                .help("number tensors from 1");
            return;
        }
        if let Some(first) = self.outline.tensor(no).copied() {
            let name = self.module.name(Namespace::Tensor, GraphNo(0), no.0);
            let message = format!("tensor `{name}` is allocated twice");
            let declared = self.module.externs.get(first.at as usize).map(|tensor| tensor.span);
            let mut fault = self.fault(rule::TENSOR_TWICE, message, "allocated here");
            match (first.home, declared) {
                (Home::Extern, Some(span)) => fault.label(span, "declared as external here"),
                _ => fault.and(first.at, "first allocated here"),
            };
            fault.help("give each allocation of the unit a number of its own");
            return;
        }
        let home = match self.graph {
            Some(graph) if location != MemLocation::Shared => Home::Graph(graph),
            _ => Home::Unit,
        };
        self.tensor(TensorDef { no, home, at: self.at, bytes: Some(size), location, is_freed: false });
    }

    fn partition(&mut self, partition: PartitionDef) {
        let no = partition.no;
        if no == PartitionNo::NONE {
            self.fault(rule::PARTITION, format!("partition number {} is reserved", no.0), "")
                .help("it stands for all cores of the device; number partitions from 0");
            return;
        }
        if let Some(first) = self.outline.partition(no).copied() {
            let name = self.module.name(Namespace::Partition, GraphNo(0), no.0);
            self.fault(rule::PARTITION, format!("partition `{name}` is defined twice"), "defined again here")
                .and(first.at, "first defined here")
                .help("give each partition of the unit a number of its own");
            return;
        }
        self.outline.partition_at.insert(no.0, self.outline.partitions.len() as u32);
        self.outline.partitions.push(partition);
    }

    fn begin(&mut self, no: GraphNo) {
        if let Some(open) = self.graph {
            let (outer, begin) =
                (self.outline.graphs[open as usize].no, self.outline.graphs[open as usize].at);
            let (name, outer) = (self.graph_name(no), self.graph_name(outer));
            self.nested.push(no);
            self.fault(
                rule::NESTED,
                format!("graph `{name}` begins inside of graph `{outer}`"),
                "begins here",
            )
            .and(begin, &format!("`{outer}` is still open"))
            .help(format!("end it first: TG_END({outer})"));
            return;
        }
        let at = self.at;
        if self.block != Blocks::HOST {
            let open = self.outline.blocks.get(self.block);
            let (opener, start) = (open.kind.opener(), open.open);
            let name = self.graph_name(no);
            self.fault(
                rule::LEVEL,
                format!("graph `{name}` is defined inside of control flow"),
                "begins here",
            )
            .and(start, &format!("inside of this {opener}"))
            .help("define the graph before, and launch it here");
        }
        let index = self.graph_def(no, None);
        let block = self.outline.blocks.open(BlockKind::Graph, Blocks::HOST, at);
        self.outline.graphs[index as usize].block = block;
        self.graph = Some(index);
        self.resume = std::mem::replace(&mut self.block, block);
    }

    /// Adds a graph that begins here, with a fault if its number is no good.
    fn graph_def(&mut self, no: GraphNo, parts: Option<(GraphNo, GraphNo)>) -> u32 {
        let (kernels, copies) = (self.outline.kernels.len() as u32, self.outline.copies.len() as u32);
        let index = self.outline.graphs.len() as u32;
        if no.0 > MAX_GRAPH_ID {
            self.fault(rule::GRAPH_RANGE, format!("graph number {} is too large", no.0), "")
                .help(format!("number graphs from 0 to {MAX_GRAPH_ID}"));
        }
        if let Some(first) = self.outline.graph(no) {
            let first = self.outline.graphs[first as usize].at;
            let name = self.graph_name(no);
            self.fault(rule::GRAPH_TWICE, format!("graph `{name}` is defined twice"), "defined again here")
                .and(first, "first defined here")
                .help("give each graph of the unit a number of its own");
        } else {
            self.outline.graph_at.insert(no.0, index);
        }
        self.outline.graphs.push(GraphDef {
            no,
            at: self.at,
            end: self.at,
            block: Blocks::HOST,
            kernels: kernels..kernels,
            copies: copies..copies,
            parts,
        });
        index
    }

    fn fuse(&mut self, graph1: GraphNo, graph2: GraphNo, fused: GraphNo) {
        if self.block != Blocks::HOST {
            let open = self.outline.blocks.get(self.block);
            let (opener, start) = (open.kind.opener(), open.open);
            self.fault(rule::LEVEL, "`TG_FUSE` inside of control flow".into(), "defines a graph")
                .and(start, &format!("inside of this {opener}"))
                .help("fuse the graphs before, and launch the fused graph here");
        }
        self.graph_def(fused, Some((graph1, graph2)));
    }

    fn end(&mut self, no: GraphNo) {
        let Some(index) = self.graph else {
            let name = self.graph_name(no);
            self.fault(rule::END, format!("`TG_END({name})` ends nothing"), "no graph is open here")
                .help(format!("begin the graph with TG_BEGIN({name}), or remove this"));
            return;
        };
        if self.nested.last() == Some(&no) {
            self.nested.pop();
            return;
        }
        let (open, begin) = (self.outline.graphs[index as usize].no, self.outline.graphs[index as usize].at);
        if open != no {
            let (name, open) = (self.graph_name(no), self.graph_name(open));
            self.fault(
                rule::END,
                format!("`TG_END({name})` does not end graph `{open}`"),
                "ends another graph",
            )
            .and(begin, &format!("`{open}` begins here"))
            .help(format!("write TG_END({open})"));
        }
        self.end_graph(index);
    }

    fn end_graph(&mut self, index: u32) {
        let block = self.outline.graphs[index as usize].block;
        self.close_up_to(block);
        self.outline.blocks.get_mut(block).close = self.at;
        let (kernels, copies) = (self.outline.kernels.len() as u32, self.outline.copies.len() as u32);
        let graph = &mut self.outline.graphs[index as usize];
        graph.end = self.at;
        graph.kernels.end = kernels;
        graph.copies.end = copies;
        self.graph = None;
        self.nested.clear();
        self.block = self.resume;
    }

    /// Closes what is open in `outer`, each with a fault.
    fn close_up_to(&mut self, outer: BlockId) {
        while self.block != outer && self.block != Blocks::HOST {
            let open = *self.outline.blocks.get(self.block);
            let (opener, closer) = (open.kind.opener(), open.kind.closer());
            let at = std::mem::replace(&mut self.at, open.open);
            let more = (at as usize) < self.module.instrs.len();
            let mut fault = self.fault(rule::UNMATCHED, format!("`{opener}` is not closed"), "opened here");
            if more {
                fault.and(at, "not closed before this");
            }
            fault.help(format!("close it with {closer}"));
            drop(fault);
            self.at = at;
            self.outline.blocks.get_mut(self.block).close = self.at;
            self.block = open.parent;
        }
    }

    fn open(&mut self, kind: BlockKind) {
        let depth = self.outline.blocks.get(self.block).depth - u32::from(self.graph.is_some());
        if depth == MAX_CONTROL_DEPTH {
            let message = format!("control flow is nested more than {MAX_CONTROL_DEPTH} deep");
            self.fault(rule::DEPTH, message, "this block is too deep")
                .help("put the inner part into a graph of its own");
        }
        self.block = self.outline.blocks.open(kind, self.block, self.at);
    }

    fn open_loop(&mut self, iterator: IterNo) {
        let around = self.outline.blocks.outwards(self.block).map(|(_, block)| *block);
        let same = around.filter(|block| block.kind == BlockKind::Loop).find(|block| {
            let open = self.module.instrs.get(block.open as usize);
            matches!(open, Some(Instr::CfLoop { iterator: outer, .. }) if *outer == iterator)
        });
        if let Some(outer) = same {
            let name = self.module.name(Namespace::Iter, GraphNo(0), iterator.0);
            self.fault(
                rule::ITERATOR,
                format!("loop variable `{name}` is in use"),
                "counts this loop as well",
            )
            .and(outer.open, &format!("`{name}` counts this loop"))
            .help("give each of two nested loops a variable of its own");
        }
        self.open(BlockKind::Loop);
    }

    fn otherwise(&mut self) {
        let open = *self.outline.blocks.get(self.block);
        match open.kind {
            BlockKind::Then => {
                self.outline.blocks.get_mut(self.block).close = self.at;
                self.block = self.outline.blocks.open(BlockKind::Else, open.parent, self.at);
                self.outline.blocks.get_mut(self.block).decided = open.open;
            }
            BlockKind::Else => {
                self.fault(rule::UNMATCHED, "a second `CF_ELSE`".into(), "one CF_IF has one CF_ELSE")
                    .and(open.open, "the first is here")
                    .help("nest another CF_IF inside of the CF_ELSE");
            }
            _ => self.misplaced("CF_ELSE", "CF_IF"),
        }
    }

    /// Closes the innermost block, which should be of this kind.
    fn close(&mut self, kind: BlockKind, mnemonic: &str) {
        let fits = |open: BlockKind| open == kind || (kind == BlockKind::Then && open == BlockKind::Else);
        let open = *self.outline.blocks.get(self.block);
        if fits(open.kind) {
            self.outline.blocks.get_mut(self.block).close = self.at;
            self.block = open.parent;
            return;
        }
        let meant = self.outline.blocks.outwards(self.block).find(|(_, block)| fits(block.kind));
        match meant.map(|(id, block)| (id, block.parent)) {
            Some((id, parent)) => {
                self.close_up_to(id);
                self.outline.blocks.get_mut(id).close = self.at;
                self.block = parent;
            }
            None => self.misplaced(mnemonic, kind.opener()),
        }
    }

    fn misplaced(&mut self, mnemonic: &str, opener: &str) {
        let open = *self.outline.blocks.get(self.block);
        let mut fault = self.fault(
            rule::UNMATCHED,
            format!("`{mnemonic}` without `{opener}`"),
            &format!("no {opener} is open here"),
        );
        if !matches!(open.kind, BlockKind::Host | BlockKind::Graph) {
            fault.and(open.open, &format!("the innermost open block is this {}", open.kind.opener()));
        }
        fault.help(format!("remove it, or open the block with {opener}"));
    }

    fn leave(&mut self) {
        match self.outline.blocks.innermost_loop(self.block) {
            Some(found) => self.outline.blocks.get_mut(found).breaks = true,
            None => {
                self.fault(rule::BREAK, "`CF_BREAK` outside of a loop".into(), "no loop is open here")
                    .help("put it between CF_LOOP and CF_ENDLOOP, or CF_WHILE and CF_ENDWHILE");
            }
        }
    }

    fn finish(&mut self) {
        if let Some(index) = self.graph {
            let (no, begin) =
                (self.outline.graphs[index as usize].no, self.outline.graphs[index as usize].at);
            let name = self.graph_name(no);
            self.close_up_to(self.outline.graphs[index as usize].block);
            let at = std::mem::replace(&mut self.at, begin);
            self.fault(rule::END, format!("graph `{name}` is not ended"), "begins here")
                .help(format!("add TG_END({name}) after its last instruction"));
            self.at = at;
            self.end_graph(index);
        }
        self.close_up_to(Blocks::HOST);
        for at in 0..self.outline.frees.len() {
            let freed = self.outline.frees[at].tensor;
            if let Some(place) = self.outline.tensor_at.get(freed.0) {
                self.outline.tensors[place as usize].is_freed = true;
            }
        }
    }
}
