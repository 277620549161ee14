//! Tensors, bindings, copies and releases.

use super::rule::{self, Placed as _};
use super::scalar::{Source, bytes_of};
use super::{Checker, Report as _};
use crate::tg::Namespace;
use crate::tg::outline::{Affine, BlockId, FreeDef, Home, KernelDef, Outline, TensorDef};
use wsp_core::tg::{ExprId, GraphNo, KernelNo, Scalar, TensorNo, TensorRef};
use wsp_diag::did_you_mean;

/// Releases of one tensor that are compared with each use of it.
const MAX_FREES_SEEN: usize = 64;

/// What the rules of memory remember.
pub(super) struct Seen {
    /// Per tensor the last of its releases, plus 1.
    last_free: Vec<u32>,
    /// Per release the one of the same tensor before it, plus 1.
    free_before: Vec<u32>,
    /// Releases passed.
    passed: u32,
    /// Graphs that use a tensor of the unit which the host releases.
    pub(super) users_of_freed: Vec<(u32, u32)>,
}

impl Seen {
    pub(super) fn new(outline: &Outline) -> Seen {
        let mut last_free = vec![0; if outline.frees.is_empty() { 0 } else { outline.tensors.len() }];
        let free_before = outline.frees.iter().enumerate().map(|(at, free)| {
            let last = outline.tensor_index(free.tensor).map(|tensor| &mut last_free[tensor as usize]);
            last.map_or(0, |last| std::mem::replace(last, at as u32 + 1))
        });
        let free_before = free_before.collect();
        Seen { last_free, free_before, passed: 0, users_of_freed: Vec::new() }
    }
}

impl Checker<'_> {
    /// The tensor of this number, with a fault if nothing of this place can see it.
    #[inline]
    pub(super) fn visible_tensor(&mut self, no: TensorNo) -> Option<TensorDef> {
        match self.outline.tensor(no) {
            Some(def) => match def.home {
                Home::Graph(graph) if Some(graph) != self.graph => {
                    self.foreign_tensor(def, graph);
                    None
                }
                _ => Some(*def),
            },
            None => {
                self.unknown_tensor(no);
                None
            }
        }
    }

    #[cold]
    fn foreign_tensor(&mut self, def: &TensorDef, graph: u32) {
        let (name, home) =
            (self.tensor_name(def.no), self.graph_name(self.outline.graphs[graph as usize].no));
        self.fault(
            rule::FOREIGN_TENSOR,
            format!("tensor `{name}` belongs to graph `{home}`"),
            "each launch of that graph has one of its own",
        )
        .and(self.module, def.at, "allocated here")
        .help("allocate it outside of graphs, or in SHARED, to use it elsewhere as well")
        .report(self);
    }

    #[cold]
    fn unknown_tensor(&mut self, no: TensorNo) {
        if no == TensorNo::NONE {
            return self
                .fault(rule::TENSOR_ZERO, "tensor 0 is used", "0 stands for no tensor")
                .help("name a tensor that is allocated or external; tensors are numbered from 1")
                .report(self);
        }
        let name = self.tensor_name(no);
        let message = format!("unknown tensor `{name}`");
        if self.faults.is_full() {
            return self.report(wsp_diag::Diagnostic::error(rule::UNKNOWN_TENSOR, message));
        }
        let names: Vec<String> =
            self.outline.tensors.iter().take(10_000).map(|t| self.tensor_name(t.no)).collect();
        let mut fault = self.fault(rule::UNKNOWN_TENSOR, message, "neither allocated nor external");
        if let Some(near) = did_you_mean(&name, names.iter().map(String::as_str)) {
            fault = fault.help(format!("did you mean `{near}`?"));
        }
        let mut declared = name.clone();
        if self.module.names.get(Namespace::Tensor, GraphNo(0), no.0).is_none() {
            declared = format!("T{name}");
        }
        fault
            .help(format!("allocate it with MC_ALLOC, or declare it before the graphs: `extern {declared}`"))
            .report(self);
    }

    pub(super) fn alloc(&mut self, no: TensorNo, size: u64, alignment: u32) {
        if size == 0 {
            let name = self.tensor_name(no);
            self.fault(rule::SIZE, format!("tensor `{name}` has 0 bytes"), "")
                .help("give at least 1 byte, or remove it")
                .report(self);
        }
        if !alignment.is_power_of_two() {
            let name = self.tensor_name(no);
            let near = alignment.checked_next_power_of_two().unwrap_or(1 << 31);
            self.fault(
                rule::SIZE,
                format!("tensor `{name}` is aligned to {alignment} bytes"),
                "not a power of two",
            )
            .help(format!("align to {near} bytes"))
            .report(self);
        }
    }

    #[inline]
    pub(super) fn bind(
        &mut self,
        kernel: KernelNo,
        arg: u32,
        tensor: &TensorRef,
        offset: Scalar,
        size: Scalar,
    ) {
        let Some(at) = self.known_kernel(kernel) else { return };
        self.argument(at, arg);
        let def = self.outline.kernels[at as usize];
        if def.block != self.block && !self.outline.blocks.is_within(def.block, self.block) {
            self.bind_block(&def);
        }
        match (*tensor, offset, size) {
            (TensorRef::Tensor(tensor), Scalar::Const(offset), Scalar::Const(size)) => {
                let Some(tensor) = self.visible_tensor(tensor) else { return };
                self.used(&tensor, def.at, def.block);
                let rest = tensor.bytes.map(|bytes| bytes as i128 - i128::from(offset));
                let fits = rest.is_none_or(|rest| rest >= i128::from(size.max(1)));
                if offset < 0 || size < 0 || !fits {
                    self.out_of_bounds(&tensor, &def, i128::from(offset), i128::from(size), "");
                }
            }
            (TensorRef::Tensor(tensor), ..) => {
                let Some(tensor) = self.visible_tensor(tensor) else { return };
                self.used(&tensor, def.at, def.block);
                self.bind_by_loop(&tensor, &def, offset, size);
            }
            (TensorRef::Table { first, len, index }, ..) => {
                self.table((first, len), index, &def, offset, size);
            }
        }
    }

    #[cold]
    fn bind_block(&mut self, kernel: &KernelDef) {
        let name = self.kernel_name(kernel.no);
        let (opener, open) = {
            let block = self.outline.blocks.get(self.block);
            (block.kind.opener(), block.open)
        };
        self.fault(
            rule::BIND_BLOCK,
            format!("kernel `{name}` is bound in a block in which it does not stand"),
            "arguments are not bound conditionally or again in each round",
        )
        .and(self.module, open, &format!("the block of this {opener}"))
        .and(self.module, kernel.at, "the kernel stands outside of it")
        .help(format!("move the binding out of the block, or `{name}` into it"))
        .report(self);
    }

    /// A binding whose range depends on loops.
    fn bind_by_loop(&mut self, tensor: &TensorDef, kernel: &KernelDef, offset: Scalar, size: Scalar) {
        let offset = self.scalar(offset, kernel.block, Source::Binding);
        let size = self.scalar(size, kernel.block, Source::Binding);
        let (Some(offset), Some(size)) = (offset, size) else { return };
        let Some(end) = offset.add(&size) else { return };
        let extremes = |value: &Affine| self.outline.extremes(self.module, kernel.block, value);
        let (Some(o), Some(s), Some(e)) = (extremes(&offset), extremes(&size), extremes(&end)) else {
            return;
        };
        let over =
            tensor.bytes.is_some_and(|bytes| e.high > i128::from(bytes) || o.high >= i128::from(bytes));
        // The sum of both may be free of variables that each of them has.
        let takes_all = |value: &Affine| self.outline.takes_all(self.module, kernel.block, value);
        if (o.low < 0 || s.low < 0 || over) && takes_all(&offset) && takes_all(&size) {
            let low = o.low < 0 || s.low < 0;
            let offset = if low { o.low } else { o.high };
            let rounds = if low {
                "in the round where it begins first: "
            } else {
                "in the round where it begins last: "
            };
            self.out_of_bounds(
                tensor,
                kernel,
                offset,
                if low { s.low } else { e.high.saturating_sub(o.high) },
                rounds,
            );
        }
    }

    #[cold]
    fn out_of_bounds(
        &mut self,
        tensor: &TensorDef,
        kernel: &KernelDef,
        offset: i128,
        size: i128,
        when: &str,
    ) {
        let (name, kernel) = (self.tensor_name(tensor.no), self.kernel_name(kernel.no));
        let label = match size {
            0 => format!("{when}from byte {offset} to its end"),
            _ => format!("{when}bytes {offset} to {}", offset.saturating_add(size)),
        };
        let mut fault = self
            .fault(rule::BOUNDS, format!("kernel `{kernel}` is bound outside of tensor `{name}`"), &label)
            .note(bytes_of(tensor.bytes, &name));
        if tensor.home != Home::Extern {
            fault = fault.and(self.module, tensor.at, "allocated here");
        }
        let help = match offset < 0 {
            true => "bind from byte 0 or behind it",
            false => "bind fewer bytes at a smaller offset, or make the tensor larger",
        };
        fault.help(help).report(self);
    }

    fn table(
        &mut self,
        (first, len): (u32, u32),
        index: ExprId,
        kernel: &KernelDef,
        offset: Scalar,
        size: Scalar,
    ) {
        let module = self.module;
        let tensors = module.sets.tensors.get(first as usize..first as usize + len as usize);
        let Some(tensors) = tensors.filter(|tensors| !tensors.is_empty()) else {
            return self
                .fault(rule::TABLE, "a table of tensors is empty", "")
                .help("name at least one tensor: {PING, PONG}[iteration % 2]")
                .report(self);
        };
        for &tensor in tensors {
            let Some(def) = self.visible_tensor(tensor) else { continue };
            self.used(&def, kernel.at, kernel.block);
            if let (Some(offset), Some(size)) = (offset.as_const(), size.as_const()) {
                let rest = def.bytes.map(|bytes| bytes as i128 - i128::from(offset));
                if offset < 0 || size < 0 || rest.is_some_and(|rest| rest < i128::from(size.max(1))) {
                    self.out_of_bounds(&def, kernel, offset.into(), size.into(), "");
                }
            }
        }
        self.scalar(offset, kernel.block, Source::Binding);
        self.scalar(size, kernel.block, Source::Binding);
        let Some(index) = self.scalar(Scalar::Expr(index), kernel.block, Source::Binding) else { return };
        let Some(range) = self.outline.extremes(self.module, kernel.block, &index) else { return };
        let outside = range.low < 0 || range.high >= i128::from(len);
        if outside && self.outline.takes_all(self.module, kernel.block, &index) {
            let bad = if range.low < 0 { range.low } else { range.high };
            self.fault(rule::TABLE, format!("a table of {len} tensors is indexed with {bad}"), "")
                .help(format!("index it from 0 to {}; `% {len}` takes its tensors in turn", len - 1))
                .report(self);
        }
    }

    pub(super) fn copy(&mut self, src: (TensorNo, u64), dst: (TensorNo, u64), size: u64) {
        if size == 0 {
            self.fault(rule::SIZE, "a copy of 0 bytes", "")
                .help("copy at least 1 byte, or remove it")
                .report(self);
        }
        for ((no, offset), what) in [(src, "from"), (dst, "to")] {
            let Some(def) = self.visible_tensor(no) else { continue };
            self.used(&def, self.at, self.block);
            let end = u128::from(offset) + u128::from(size);
            if def.bytes.is_some_and(|bytes| end > u128::from(bytes)) {
                let name = self.tensor_name(no);
                self.fault(
                    rule::BOUNDS,
                    format!("a copy is outside of tensor `{name}`"),
                    &format!("copies {what} bytes {offset} to {end}"),
                )
                .note(bytes_of(def.bytes, &name))
                .help("copy fewer bytes at a smaller offset, or make the tensor larger")
                .report(self);
            }
        }
        let apart = src.1.abs_diff(dst.1) >= size;
        if src.0 == dst.0 && !apart {
            let name = self.tensor_name(src.0);
            self.fault(
                rule::OVERLAP,
                format!("a copy within tensor `{name}` overlaps itself"),
                &format!("{size} bytes from {} to {}", src.1, dst.1),
            )
            .help(format!("keep the offsets at least {size} bytes apart, or copy to another tensor first"))
            .report(self);
        }
    }

    /// Checks that a use at instruction `at`, in `block`, is not after a release.
    #[inline]
    pub(super) fn used(&mut self, tensor: &TensorDef, at: u32, block: BlockId) {
        if tensor.is_freed {
            self.used_and_freed(tensor, at, block);
        }
    }

    #[cold]
    fn used_and_freed(&mut self, tensor: &TensorDef, at: u32, block: BlockId) {
        let Some(place) = self.outline.tensor_index(tensor.no) else { return };
        if let (Home::Unit, Some(graph)) = (tensor.home, self.graph) {
            return self.memory.users_of_freed.push((graph, place));
        }
        let frees = self.frees_of(place);
        let before =
            frees.iter().find(|free| free.at < at && !self.outline.blocks.exclude(free.block, block));
        if let Some(&free) = before {
            let name = self.tensor_name(tensor.no);
            let what =
                if at == self.at { "used here" } else { "bound to a kernel that comes after the release" };
            let mut fault = self
                .fault(rule::AFTER_FREE, format!("tensor `{name}` is used after it was released"), what)
                .and(self.module, free.at, "released here");
            if at != self.at {
                fault = fault.and(self.module, at, "the kernel");
            }
            fault.help(format!("move MC_FREE({name}) behind its last use")).report(self);
        }
    }

    /// Releases of a tensor, at most some.
    fn frees_of(&self, tensor: u32) -> Vec<FreeDef> {
        let mut found = Vec::new();
        let mut next = self.memory.last_free.get(tensor as usize).copied().unwrap_or(0);
        while next != 0 && found.len() < MAX_FREES_SEEN {
            found.push(self.outline.frees[next as usize - 1]);
            next = self.memory.free_before[next as usize - 1];
        }
        found
    }

    pub(super) fn free(&mut self, no: TensorNo) {
        let free = self.memory.passed;
        self.memory.passed += 1;
        let Some(def) = self.visible_tensor(no) else { return };
        let name = self.tensor_name(no);
        let message = format!("tensor `{name}` is not released here");
        if def.home == Home::Extern {
            return self
                .fault(rule::FREE, message, "external: whoever runs the unit owns it")
                .help("remove this MC_FREE")
                .report(self);
        }
        if self.graph.is_some() && def.home == Home::Unit {
            return self
                .fault(rule::FREE, message, "other launches may be using it")
                .and(self.module, def.at, "allocated for the whole unit")
                .help("release it on the host, after TG_SYNC of the graphs that use it")
                .report(self);
        }
        if self.graph.is_some()
            && let Some(around) = self.outline.blocks.innermost_loop(self.block)
        {
            return self
                .fault(rule::FREE, message, "would be released in every round")
                .and(self.module, self.outline.blocks.get(around).open, "the loop")
                .help("release it after the loop: a launch allocates it once")
                .report(self);
        }
        self.freed_before(free, &name);
    }

    fn freed_before(&mut self, free: u32, name: &str) {
        let mut next = self.memory.free_before[free as usize];
        let mut looked = 0;
        while next != 0 && looked < MAX_FREES_SEEN {
            let first = self.outline.frees[next as usize - 1];
            if !self.outline.blocks.exclude(first.block, self.block) {
                return self
                    .fault(rule::FREE, format!("tensor `{name}` is released twice"), "released again here")
                    .and(self.module, first.at, "first released here")
                    .help("remove one of the two")
                    .report(self);
            }
            next = self.memory.free_before[next as usize - 1];
            looked += 1;
        }
    }
}
