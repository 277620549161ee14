//! Values for parameters and tables, and the checks of everything that follows from them alone.

mod axes;
mod channels;
mod names;
mod tensors;

pub use names::set_defaults;

use super::codes;
use super::eval::{Closed, Given, Halt, NotClosed, Values, count, eval};
use crate::ParamValue;
use wsp_core::{AxisId, ChannelId, ParamId, SlotId, TableId, TensorId, WorkloadId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::verify::endless;
use wsp_ir::workload::{IntExpr, Iteration, Node, NodeKind, ParamSource, WorkloadModule};
use wsp_ordered::OrderedMap;

/// What a run that reads files does not do by itself, to be said where a file is asked for.
const BESIDE_FILES: &str = "where files are read, `wsp run` makes up the other arrays with `--generate`";

pub(super) use axes::AxisRange;

/// What a module's parameters, tables, axes, tensors and slots are in one launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Bindings {
    pub(crate) values: Values,
    pub(super) axes: Vec<AxisRange>,
    shapes: Vec<Vec<u32>>,
    slots: Vec<i64>,
    /// Depths of the channels of each workload.
    depths: Vec<Vec<u32>>,
}

impl Bindings {
    /// The value of a parameter.
    pub fn param(&self, param: ParamId) -> i64 {
        self.values.params[param.index()]
    }

    /// The elements of a table.
    pub fn table(&self, table: TableId) -> &[i64] {
        &self.values.tables[table.index()]
    }

    /// The extents of a tensor, outermost first.
    pub fn shape(&self, tensor: TensorId) -> &[u32] {
        &self.shapes[tensor.index()]
    }

    /// The value of a slot before any task has written it.
    pub fn slot(&self, slot: SlotId) -> i64 {
        self.slots[slot.index()]
    }

    /// How many tokens a channel of a workload holds; 0 where a send waits until its token is taken.
    pub fn channel_depth(&self, workload: WorkloadId, channel: ChannelId) -> u32 {
        self.depths[workload.index()][channel.index()]
    }

    /// The same with other depths of channels, by workload.
    pub(crate) fn with_depths(&self, depths: &[Vec<u32>]) -> Bindings {
        Bindings { depths: depths.to_vec(), ..self.clone() }
    }

    /// The depths of all channels, by workload.
    pub(crate) fn depths(&self) -> &[Vec<u32>] {
        &self.depths
    }

    /// First and one past the last index of a dense axis; none for others.
    pub fn dense_axis(&self, axis: AxisId) -> Option<(i64, i64)> {
        match self.axes[axis.index()] {
            AxisRange::Dense { start, end } => Some((start, end)),
            AxisRange::Ragged | AxisRange::Sparse => None,
        }
    }

    /// The value of an expression over parameters, tables and variables, the `n`-th of which has the value `vars[n]`
    /// (0 past the end): a kernel's cost, with the task's scalars as variables.
    ///
    /// # Errors
    /// When the expression is at fault.
    pub fn evaluate(
        &self,
        module: &WorkloadModule,
        expr: &IntExpr,
        vars: &[i64],
    ) -> Result<i64, Box<Diagnostic>> {
        eval(expr, &mut Given { values: &self.values, vars }).map_err(|halt| match halt {
            Halt::Fault(fault) => Box::new(fault.diagnostic(module, &self.values)),
            Halt::Stop(NotClosed) => {
                let message = "a slot has no value here".to_owned();
                Box::new(Diagnostic::error(codes::NO_PLACE, message).at(expr.span, ""))
            }
        })
    }
}

/// The values of a launch, and what may never end with them.
///
/// # Errors
/// As [`bind`](super::bind()).
pub(super) fn values(
    module: &WorkloadModule,
    set: &[(String, ParamValue)],
    tables: &OrderedMap<String, Vec<i64>>,
) -> Result<(Bindings, Vec<Diagnostic>), Vec<Diagnostic>> {
    let given = names::given(module, set, tables)?;
    let values = Values { params: Vec::new(), tables: table_values(module, tables) };
    let mut binder = Binder { module, values, found: Vec::new() };
    binder.params(&given);
    if !binder.found.is_empty() {
        return Err(binder.found);
    }
    binder.table_lengths();
    let axes = binder.axes();
    let shapes = binder.shapes();
    let slots = binder.slots();
    let depths = binder.channel_depths();
    if !binder.found.is_empty() {
        return Err(binder.found);
    }
    let found = endless(module, &|node| binder.runs(node), true);
    Ok((Bindings { values: binder.values, axes, shapes, slots, depths }, found))
}

/// The elements of every table, by id.
fn table_values(module: &WorkloadModule, tables: &OrderedMap<String, Vec<i64>>) -> Vec<Vec<i64>> {
    let elements = |table: &wsp_ir::workload::Table| {
        let bound = tables.get(&table.name).or(table.values.as_ref());
        bound.cloned().unwrap_or_default()
    };
    module.tables.iter().map(elements).collect()
}

/// A binding under way.
struct Binder<'m> {
    module: &'m WorkloadModule,
    values: Values,
    found: Vec<Diagnostic>,
}

impl Binder<'_> {
    /// The value of a launch-time expression; none after reporting its fault.
    fn value(&mut self, expr: &IntExpr) -> Option<i64> {
        match eval(expr, &mut Closed(&self.values)) {
            Ok(value) => Some(value),
            Err(Halt::Fault(fault)) => {
                self.found.push(fault.diagnostic(self.module, &self.values));
                None
            }
            Err(Halt::Stop(NotClosed)) => {
                let message = "a slot has no value before tasks run";
                self.found.push(Diagnostic::error(codes::NO_PLACE, message).at(expr.span, ""));
                None
            }
        }
    }

    /// Whether the first block of a condition, or the one of a loop over a range, runs; none where more than values of a launch decide.
    fn runs(&self, node: &Node) -> Option<bool> {
        let value = |expr: &IntExpr| eval(expr, &mut Closed(&self.values)).ok();
        match &node.kind {
            NodeKind::Cond { condition, .. } => Some(value(condition)? != 0),
            NodeKind::ParallelFor { over: Iteration::Range { lo, hi, .. }, .. } => {
                Some(value(lo)? < value(hi)?)
            }
            _ => None,
        }
    }

    /// Values of all parameters: given, default or derived. Those after a fault stay 0.
    fn params(&mut self, given: &[Option<i64>]) {
        let module = self.module;
        self.values.params = vec![0; module.params.len()];
        for (index, param) in module.params.iter().enumerate() {
            let value = match (&param.source, given[index]) {
                (_, Some(value)) => Some(value),
                (ParamSource::Set(Some(expr)) | ParamSource::Derived(expr), None) => self.value(expr),
                (ParamSource::Set(None), None) => None,
            };
            match value {
                Some(value) => self.values.params[index] = value,
                None => return,
            }
        }
    }

    /// Declared lengths of tables.
    fn table_lengths(&mut self) {
        let module = self.module;
        for (index, table) in module.tables.iter().enumerate() {
            let Some(expr) = &table.len else { continue };
            let Some(declared) = self.value(expr) else { continue };
            let len = self.values.tables[index].len();
            if i64::try_from(len) != Ok(declared) {
                self.wrong_length(table, len, declared, expr.span, "as declared here");
            }
        }
    }

    /// Reports a table that has the wrong number of elements.
    fn wrong_length(
        &mut self,
        table: &wsp_ir::workload::Table,
        len: usize,
        wanted: i64,
        because: Span,
        reason: &str,
    ) {
        let message = format!("table `{}` has {}, not {wanted}", table.name, count(len as u64, "element"));
        let found = Diagnostic::error(codes::TABLE_LENGTH, message)
            .at(table.span, "")
            .label(because, reason)
            .help(format!("bind an array of {wanted} with `--input {}=FILE.npy`", table.name))
            .python(format!("give {wanted} integers: `{}=[…]`", table.name));
        self.found.push(match self.module.tensors.is_empty() {
            true => found,
            false => found.help(BESIDE_FILES),
        });
    }

    /// Initial values of slots.
    fn slots(&mut self) -> Vec<i64> {
        self.module.slots.iter().map(|slot| self.value(&slot.init).unwrap_or(0)).collect()
    }
}
