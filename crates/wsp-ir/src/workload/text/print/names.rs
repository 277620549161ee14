//! Names for variables, so that none hides a name that its scope uses.

use crate::workload::walk::{self, Reference, Visitor};
use crate::workload::{KernelParam, ParamKind, Workload, WorkloadModule};
use wsp_core::{TensorId, VarId};
use wsp_ordered::{OrderedMap, OrderedSet};

/// The printed name of each variable.
#[derive(Default)]
pub(super) struct Names(Vec<String>);

impl Names {
    /// The scalar parameters of a kernel, as variables of its cost.
    pub(super) fn of_kernel(params: &[KernelParam]) -> Names {
        let scalars = params.iter().filter(|param| param.kind == ParamKind::Scalar);
        Names(scalars.map(|param| param.name.clone()).collect())
    }

    /// The variables of a workload: their own names, but `i_1`, `i_2`, … for one that hides a name which its scope uses, or has that of
    /// another of its head.
    pub(super) fn of_workload(module: &WorkloadModule, workload: &Workload) -> Names {
        let mut chosen: Vec<String> = workload.vars.iter().map(|var| var.name.clone()).collect();
        let mut uses = Uses { module, workload, open: Vec::new(), clashes: OrderedSet::new() };
        uses.open.extend((0..workload.params.min(workload.vars.len() as u32)).map(VarId));
        uses.clashes.extend(doubled_formals(workload));
        workload.channels.iter().for_each(|channel| walk::expr(&channel.depth, &mut uses));
        walk::block(&workload.body, &mut uses);
        if uses.clashes.is_empty() {
            return Names(chosen);
        }
        let mut taken: OrderedSet<String> = globals(module);
        taken.extend(chosen.iter().cloned());
        // The number to try next behind each name, so that many equal ones take linear time.
        let mut next: OrderedMap<String, u64> = OrderedMap::new();
        for var in uses.clashes {
            let Some(name) = chosen.get_mut(var.index()) else { continue };
            let first = next.entry(name.clone()).or_insert(1);
            let mut numbered = (*first..).map(|n| (n + 1, format!("{name}_{n}")));
            if let Some((after, fresh)) = numbered.find(|(_, fresh)| !taken.contains(fresh)) {
                *first = after;
                taken.insert(fresh.clone());
                *name = fresh;
            }
        }
        Names(chosen)
    }

    pub(super) fn var(&self, id: VarId) -> String {
        self.0.get(id.index()).cloned().unwrap_or_else(|| format!("?{}", id.0))
    }
}

/// Formal arguments with the name of an earlier one.
fn doubled_formals(workload: &Workload) -> impl Iterator<Item = VarId> {
    let formals = workload.vars.get(..workload.params as usize).unwrap_or_default();
    let mut earlier = OrderedSet::new();
    let doubled = formals.iter().enumerate().filter(move |(_, formal)| !earlier.insert(&formal.name));
    doubled.map(|(i, _)| VarId(i as u32))
}

/// The names of the file's tables.
fn globals(module: &WorkloadModule) -> OrderedSet<String> {
    let params = module.params.iter().map(|entry| &entry.name);
    let tables = module.tables.iter().map(|entry| &entry.name);
    let axes = module.axes.iter().map(|entry| &entry.name);
    let tensors = module.tensors.iter().map(|entry| &entry.name);
    let kernels = module.kernels.iter().map(|entry| &entry.name);
    let workloads = module.workloads.iter().map(|entry| &entry.name);
    params.chain(tables).chain(axes).chain(tensors).chain(kernels).chain(workloads).cloned().collect()
}

/// Finds the variables that hide a name which their scope uses.
struct Uses<'m> {
    module: &'m WorkloadModule,
    workload: &'m Workload,
    /// Variables that are visible, innermost last.
    open: Vec<VarId>,
    clashes: OrderedSet<VarId>,
}

impl Uses<'_> {
    fn var_name(&self, var: VarId) -> &str {
        self.workload.vars.get(var.index()).map_or("", |var| &var.name)
    }

    fn tensor_name(&self, tensor: TensorId) -> &str {
        self.module.tensors.get(tensor.index()).map_or("", |tensor| &tensor.name)
    }

    /// The name of something of the file.
    fn name(&self, reference: Reference) -> &str {
        let module = self.module;
        match reference {
            Reference::Param(id) => module.params.get(id.index()).map_or("", |entry| &entry.name),
            Reference::Var(id) => self.var_name(id),
            Reference::Slot(id) => {
                module.slots.get(id.index()).map_or("", |slot| self.tensor_name(slot.tensor))
            }
            Reference::Axis(id) => module.axes.get(id.index()).map_or("", |entry| &entry.name),
            Reference::Table(id) => module.tables.get(id.index()).map_or("", |entry| &entry.name),
            Reference::Tensor(id) => self.tensor_name(id),
            Reference::Kernel(id) => module.kernels.get(id.index()).map_or("", |entry| &entry.name),
            Reference::Workload(id) => module.workloads.get(id.index()).map_or("", |entry| &entry.name),
        }
    }
}

impl Visitor for Uses<'_> {
    fn reference(&mut self, reference: Reference) {
        let inner = match reference {
            Reference::Var(var) => self.open.iter().rposition(|open| *open == var).map_or(0, |at| at + 1),
            _ => 0,
        };
        let name = self.name(reference);
        let hiding: Vec<VarId> =
            self.open[inner..].iter().copied().filter(|var| self.var_name(*var) == name).collect();
        self.clashes.extend(hiding);
    }

    fn open(&mut self, var: VarId) {
        self.open.push(var);
    }

    fn beside(&mut self, first: VarId, second: VarId) {
        if self.var_name(first) == self.var_name(second) {
            self.clashes.insert(second);
        }
    }

    fn close(&mut self) {
        self.open.pop();
    }
}
