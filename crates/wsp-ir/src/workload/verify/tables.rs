//! The tables of a module: names, parameters, tables, axes, tensors, slots and kernels.

use super::expr::Place;
use super::{Checker, error, rule};
use crate::workload::text::words::is_name;
use crate::workload::{Axis, AxisKind, Kernel, ParamKind, ParamSource, Signature, Table, Tensor};
use wsp_core::limits::{MAX_TASK_SCALARS, MAX_TASK_TENSORS};
use wsp_core::words::counted;
use wsp_core::{AxisId, DType, MAX_RANK};
use wsp_diag::Span;
use wsp_ordered::OrderedMap;

impl<'m> Checker<'m> {
    pub(super) fn tables(&mut self) {
        let module = self.module;
        self.names();
        for (index, param) in module.params.iter().enumerate() {
            let (ParamSource::Set(Some(value)) | ParamSource::Derived(value)) = &param.source else {
                continue;
            };
            self.expr(value, &Place::Param(index));
        }
        module.tables.iter().for_each(|table| self.table(table));
        for (index, axis) in module.axes.iter().enumerate() {
            self.axis(index, axis);
        }
        module.tensors.iter().for_each(|tensor| self.tensor(tensor));
        self.slots();
        module.kernels.iter().for_each(|kernel| self.kernel(kernel));
        let count = module.kernels.len();
        self.require(count <= usize::from(u16::MAX) + 1, || {
            error(
                rule::KERNEL,
                Span::default(),
                format!("{count}; at most 65536 have an id", count = counted(count, "kernel")),
            )
        });
    }

    fn names(&mut self) {
        let module = self.module;
        for file in &module.uses {
            let path = &file.path;
            self.require(!path.is_empty() && !path.contains(char::is_control), || {
                error(rule::NAME, file.span, format!("{path:?} is no file name"))
                    .help("name a file of kernels: `use \"kernels.pto\";`")
            });
        }
        let params = module.params.iter().map(|entry| (&*entry.name, entry.span));
        let tables = module.tables.iter().map(|entry| (&*entry.name, entry.span));
        let axes = module.axes.iter().map(|entry| (&*entry.name, entry.span));
        let tensors = module.tensors.iter().map(|entry| (&*entry.name, entry.span));
        let kernels = module.kernels.iter().map(|entry| (&*entry.name, entry.span));
        let workloads = module.workloads.iter().map(|entry| (&*entry.name, entry.span));
        self.distinct(params.chain(tables).chain(axes).chain(tensors).chain(kernels).chain(workloads));
        let unnamed = module.schedules.iter().filter(|schedule| schedule.name.is_empty());
        if let [first, second, ..] = unnamed.collect::<Vec<_>>()[..] {
            let diagnostic = error(rule::NAME, second.span, "two schedules have no name")
                .label(first.span, "the first")
                .help("name one: `schedule fast { … }`, and choose it with `--schedule fast`");
            self.push(diagnostic);
        }
        let named = module.schedules.iter().filter(|schedule| !schedule.name.is_empty());
        self.distinct(named.map(|schedule| (&*schedule.name, schedule.span)));
    }

    /// Requires names that are names, and different.
    pub(super) fn distinct<'n>(&mut self, names: impl Iterator<Item = (&'n str, Span)>) {
        self.distinct_or(names, None);
    }

    /// The same, with what helps where one is there twice.
    pub(super) fn distinct_or<'n>(
        &mut self,
        names: impl Iterator<Item = (&'n str, Span)>,
        help: Option<&str>,
    ) {
        let mut first: OrderedMap<&str, Span> = OrderedMap::new();
        for (name, span) in names {
            self.name(name, span);
            if let Some(earlier) = first.get(name) {
                let diagnostic = error(rule::NAME, span, format!("`{name}` is declared twice"))
                    .label(*earlier, "first declared here");
                self.push(match help {
                    Some(help) => diagnostic.help(help),
                    None => diagnostic,
                });
            } else {
                first.insert(name, span);
            }
        }
    }

    /// Requires a name that is one.
    pub(super) fn name(&mut self, name: &str, span: Span) {
        self.require(is_name(name), || {
            error(rule::NAME, span, format!("{name:?} is not a name"))
                .help("a name is a letter or `_`, then letters, digits and `_`, and no keyword")
        });
    }

    fn table(&mut self, table: &'m Table) {
        let Some(len) = &table.len else { return };
        self.expr(len, &Place::Size("the length of a table"));
        if let (Some(len), Some(values)) = (len.as_const(), &table.values) {
            let count = values.len();
            self.require(i64::try_from(count) == Ok(len), || {
                let has = counted(count, "element");
                let message = format!("table `{}` has {has}, not {len}", table.name);
                error(rule::TABLE, table.span, message)
                    .help(format!("leave the number out: `table {} = […];`", table.name))
                    .python("leave `length` out; the values say it")
            });
        }
    }

    fn axis(&mut self, index: usize, axis: &'m Axis) {
        let module = self.module;
        match &axis.kind {
            AxisKind::Dense { start, end } => {
                self.expr(start, &Place::Axis);
                self.expr(end, &Place::Axis);
            }
            AxisKind::DenseDyn(param) => {
                self.lookup(&module.params, param.index(), "parameter", axis.span);
            }
            AxisKind::Ragged { outer, lengths } => {
                self.outer(index, axis, *outer);
                self.lookup(&module.tables, lengths.index(), "table", axis.span);
            }
            AxisKind::Sparse { outer, indptr, indices } => {
                self.outer(index, axis, *outer);
                self.lookup(&module.tables, indptr.index(), "table", axis.span);
                self.lookup(&module.tables, indices.index(), "table", axis.span);
            }
        }
    }

    /// The outer axis of the axis `index`.
    fn outer(&mut self, index: usize, axis: &Axis, outer: AxisId) {
        let Some(outside) = self.lookup(&self.module.axes, outer.index(), "axis", axis.span) else { return };
        let (name, outer_name) = (&axis.name, &outside.name);
        if outer.index() == index {
            return self.push(error(rule::AXIS, axis.span, format!("axis `{name}` is its own outer axis")));
        }
        if outer.index() > index {
            let diagnostic = error(
                rule::AXIS,
                axis.span,
                format!("axis `{name}` stands before its outer axis `{outer_name}`"),
            )
            .label(outside.span, "the outer axis")
            .help(format!("declare `{outer_name}` before `{name}`"));
            return self.push(diagnostic);
        }
        let dense = matches!(outside.kind, AxisKind::Dense { .. } | AxisKind::DenseDyn(_));
        self.require(dense, || {
            error(rule::AXIS, axis.span, format!("the outer axis `{outer_name}` of `{name}` is not dense"))
                .label(outside.span, "declared here")
                .help("the index of a dense axis selects a row; flatten the outer axes to one dense axis")
        });
    }

    fn tensor(&mut self, tensor: &'m Tensor) {
        let rank = tensor.dims.len();
        self.require((1..=MAX_RANK).contains(&rank), || {
            let message = format!("tensor `{}` has {}", tensor.name, counted(rank, "dimension"));
            error(rule::TENSOR, tensor.span, message).note(format!("a tensor has 1 to {MAX_RANK} dimensions"))
        });
        for extent in &tensor.dims {
            self.expr(extent, &Place::Size("the extent of a tensor"));
        }
    }

    fn slots(&mut self) {
        let module = self.module;
        let mut last = None;
        for slot in &module.slots {
            self.expr(&slot.init, &Place::Size("the first value of a slot"));
            let Some(tensor) = self.lookup(&module.tensors, slot.tensor.index(), "tensor", slot.span) else {
                continue;
            };
            let one = matches!(&tensor.dims[..], [extent] if extent.as_const() == Some(1));
            self.require(one && tensor.dtype == DType::I64, || {
                error(rule::SLOT, slot.span, format!("the tensor of slot `{}` is not `i64[1]`", tensor.name))
            });
            self.require(last < Some(slot.tensor), || {
                let message = format!("slot `{}` does not stand in the order of its tensor", tensor.name);
                error(rule::SLOT, slot.span, message)
            });
            last = Some(slot.tensor);
        }
    }

    fn kernel(&mut self, kernel: &'m Kernel) {
        self.place = format!("kernel `{}`", kernel.name);
        let mut scalars = 0;
        match &kernel.signature {
            Signature::Declared(params) => {
                scalars = params.iter().filter(|param| param.kind == ParamKind::Scalar).count();
                let tensors = params.len() - scalars;
                self.distinct(params.iter().map(|param| (&*param.name, kernel.span)));
                let most = [(scalars, MAX_TASK_SCALARS, "integer"), (tensors, MAX_TASK_TENSORS, "tensor")];
                for (count, most, what) in most {
                    self.require(count <= most as usize, || {
                        let message = format!("`{}` takes {}", kernel.name, counted(count, what));
                        error(rule::KERNEL, kernel.span, message).note(format!("a task has at most {most}"))
                    });
                }
            }
            Signature::Library => self.require(!self.module.uses.is_empty(), || {
                let message = format!("kernel `{}` has no list of parameters", kernel.name);
                error(rule::NO_LIBRARY, kernel.span, message)
                    .note("kernels of a used file have none, and no file is used")
                    .help(format!(
                        "write `kernel {}(in a, out b);`, or name the file: `use \"kernels.pto\";`",
                        kernel.name
                    ))
            }),
        }
        if let Some(cost) = &kernel.cost {
            self.expr(cost, &Place::Cost(scalars));
        }
        self.place.clear();
    }
}
