//! Task statements: where their arguments are kept, and when they are brought up to date.

use super::affine::{Form, form, is_small, names_slot};
use super::compile::{Compiler, Depth, Within};
use super::program::{
    FastRegion, FastScalar, Op, Partial, Places, Site, SiteArg, Sum, TreeRegion, TreeScalar, Upper,
    set_bounds,
};
use std::ops::Range;
use wsp_core::{KernelId, Region};
use wsp_diag::Span;
use wsp_ir::workload::{
    Access, AccessMode, ArgValue, DimRange, IntExpr, IntExprKind, ParamKind, Signature, Task, WorkloadModule,
};

impl<'m> Compiler<'m> {
    pub(super) fn task(&mut self, task: &'m Task, span: Span, within: Within) {
        let site = self.program.sites.len() as u32;
        let mut args = Vec::with_capacity(task.args.len());
        let scalars = self.program.scalar_count;
        let layout = self.layout(task);
        let mut places = layout.places.iter();
        let mut late = false;
        for arg in &task.args {
            match &arg.value {
                ArgValue::Scalar(expr) => {
                    args.push(SiteArg::Scalar { expr, at: self.program.scalar_count });
                    self.program.scalar_count += 1;
                    late |= names_slot(expr);
                }
                ArgValue::Access(access) => {
                    let places = *places.next().expect("the layout should have a place for every region");
                    args.push(SiteArg::Region { access, places });
                    late |= access.ranges.iter().flat_map(bounds_of).any(names_slot);
                }
            }
        }
        for arg in &args {
            match arg {
                SiteArg::Scalar { expr, at } if !late => self.scalar(expr, *at, site, within),
                SiteArg::Region { access, places } => self.access(access, *places, site, within, late),
                SiteArg::Scalar { .. } => {}
            }
        }
        self.program.sites.push(Site {
            kernel: task.kernel,
            unit: self.program.module.kernels[task.kernel.index()].unit,
            regions: layout.regions,
            reads: layout.reads,
            writes: layout.writes,
            scalars: scalars..self.program.scalar_count,
            label: task.label.map(|label| within.labels + label.0),
            after: task.after.iter().map(|label| within.labels + label.0).collect(),
            late,
            base: within.base,
            args,
            task,
            span,
        });
        self.program.ops.push(Op::Task(site));
    }

    /// Makes the regions of a statement: by argument, then those read, then those written. Where the arguments are those
    /// read and then those written, all three are one.
    fn layout(&mut self, task: &Task) -> Layout {
        let modes = modes(self.program.module, task.kernel, task);
        let first = self.program.regions.len() as u32;
        let mut add = |access: &Access| {
            let region = Region::new(access.tensor, &[], &[]).expect("rank 0 should be within the limit");
            self.program.regions.push(region);
            self.program.regions.len() as u32 - 1
        };
        let mut places: Vec<Places> = modes.iter().map(|(access, _)| Places::new(add(access))).collect();
        let regions = first..first + places.len() as u32;
        let reads = modes.iter().take_while(|(_, mode)| *mode == AccessMode::In).count();
        if modes[reads..].iter().all(|(_, mode)| *mode == AccessMode::Out) {
            let middle = first + reads as u32;
            return Layout { reads: first..middle, writes: middle..regions.end, regions, places };
        }
        let mut part = |skipped: AccessMode| {
            let mut range = regions.end..regions.end;
            for (index, (access, mode)) in modes.iter().enumerate() {
                if *mode != skipped {
                    let at = add(access);
                    places[index].push(at);
                    range = if range.is_empty() { at..at + 1 } else { range.start..at + 1 };
                }
            }
            range
        };
        let (reads, writes) = (part(AccessMode::Out), part(AccessMode::In));
        Layout { regions, reads, writes, places }
    }

    /// When an expression's value changes: the level of its deepest variable.
    fn depth_of<'e>(&self, exprs: impl IntoIterator<Item = &'e IntExpr>) -> u32 {
        let mut deepest = Depth::default();
        for expr in exprs {
            expr.each(&mut |kind| {
                if let IntExprKind::Var(var) = kind {
                    deepest = deepest.max(self.scopes[var.index()]);
                }
            });
        }
        deepest.level
    }

    fn scalar(&mut self, expr: &'m IntExpr, at: u32, site: u32, within: Within) {
        let level = self.depth_of([expr]) as usize;
        match form(expr, &self.program.bindings.values, within.base) {
            Some(form) => {
                let sum = self.sum(&form, within.base);
                self.levels[level].fast_scalars.push(FastScalar { sum, at });
            }
            None => self.levels[level].scalars.push(TreeScalar { expr, site, base: within.base, at }),
        }
    }

    /// Registers every dimension of a region where it changes; of a late statement, only those that are whole.
    fn access(&mut self, access: &'m Access, places: Places, site: u32, within: Within, late: bool) {
        let shape = self.program.bindings.shape(access.tensor).to_vec();
        for (dim, extent) in shape.iter().enumerate() {
            let range = access.ranges.get(dim).unwrap_or(&DimRange::Whole);
            let dim = dim as u8;
            if matches!(range, DimRange::Whole) {
                let regions = &mut self.program.regions;
                set_bounds(regions, &places, dim, 0, i64::from(*extent));
            } else if !late {
                let level = self.depth_of(bounds_of(range)) as usize;
                match self.fast_bounds(range, within.base) {
                    Some((lo, hi)) => {
                        let extent = i64::from(*extent);
                        let fast = FastRegion { lo, hi, extent, site, places, dim };
                        self.levels[level].fast_regions.push(fast);
                    }
                    None => {
                        let tree = TreeRegion { access, site, base: within.base, places, dim };
                        self.levels[level].tree_regions.push(tree);
                    }
                }
            }
        }
    }

    /// Bounds as sums, if they are.
    fn fast_bounds(&mut self, range: &DimRange, base: u32) -> Option<(Sum, Upper)> {
        let values = &self.program.bindings.values;
        let (lo, hi) = match range {
            DimRange::Whole => return None,
            DimRange::Index(lo) => {
                let lo = form(lo, values, base)?;
                let hi = lo.add(&Form::constant(1))?;
                (lo, hi)
            }
            DimRange::Range { lo, hi } => (form(lo, values, base)?, form(hi, values, base)?),
            DimRange::Sized { lo, len } => {
                let lo = form(lo, values, base)?;
                let hi = lo.add(&form(len, values, base)?)?;
                (lo, hi)
            }
        };
        if !is_small(&hi) {
            return None;
        }
        let upper = match hi.minus(&lo)?.as_constant() {
            Some(len) => Upper::Len(number(len)),
            None => Upper::Sum(self.sum(&hi, base)),
        };
        Some((self.sum(&lo, base), upper))
    }

    /// A form, cut where its variables change.
    fn sum(&mut self, form: &Form, base: u32) -> Sum {
        let depth = |register: u32| self.scopes[(register - base) as usize];
        let mut terms: Vec<(Depth, u32, i128)> =
            form.terms.iter().map(|&(register, scale)| (depth(register), register, scale)).collect();
        terms.sort_unstable();
        let offset = number(form.constant);
        let Some((_, register, scale)) = terms.pop() else { return Sum { offset, ..Sum::default() } };
        let mut outer = 0;
        for (depth, register, scale) in terms {
            outer = self.partial(Sum { outer, register, scale: number(scale), offset: 0 }, depth.level);
        }
        Sum { outer, register, scale: number(scale), offset }
    }

    /// The register that holds a sum whose last variable is of a level.
    fn partial(&mut self, sum: Sum, level: u32) -> u32 {
        if let Some(register) = self.partials.get(&sum) {
            return *register;
        }
        let to = self.program.register_count;
        self.program.register_count += 1;
        self.levels[level as usize].partials.push(Partial { to, sum });
        self.partials.insert(sum, to);
        to
    }
}

/// A scale or an offset of a small form, or the difference of two.
fn number(part: i128) -> i64 {
    i64::try_from(part).expect("numbers of small forms should have 32 bits")
}

/// Where the regions of a statement are.
struct Layout {
    regions: Range<u32>,
    reads: Range<u32>,
    writes: Range<u32>,
    places: Vec<Places>,
}

/// The regions of a statement and what it does to them. Of a region that a library kernel is given nothing is known.
fn modes<'t>(module: &WorkloadModule, kernel: KernelId, task: &'t Task) -> Vec<(&'t Access, AccessMode)> {
    let declared: &[_] = match &module.kernels[kernel.index()].signature {
        Signature::Declared(params) => params,
        Signature::Library => &[],
    };
    let mode = |index: usize| match declared.get(index).map(|param| param.kind) {
        Some(ParamKind::Tensor(mode)) => mode,
        Some(ParamKind::Scalar) | None => AccessMode::InOut,
    };
    let args = task.args.iter().enumerate();
    args.filter_map(|(index, arg)| match &arg.value {
        ArgValue::Access(access) => Some((access, mode(index))),
        ArgValue::Scalar(_) => None,
    })
    .collect()
}

/// The expressions of a dimension's bounds.
fn bounds_of(range: &DimRange) -> impl Iterator<Item = &IntExpr> {
    let (first, second) = match range {
        DimRange::Whole => (None, None),
        DimRange::Index(index) => (Some(index), None),
        DimRange::Range { lo, hi } => (Some(lo), Some(hi)),
        DimRange::Sized { lo, len } => (Some(lo), Some(len)),
    };
    first.into_iter().chain(second)
}
