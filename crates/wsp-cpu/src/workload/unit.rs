//! A workload whose tasks are known, as a unit of task graphs: a kernel of one block for each task, an edge for each of its edges.

use super::codes;
use wsp_backend::{BARRIER_NODE, GraphAccess, GraphListing};
use wsp_core::tg::{CoreType, DependencyType, Direction, KernelNo};
use wsp_core::{ExecPool, Region, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::tg::{TgBuilder, TgModule};
use wsp_ir::workload::{AccessMode, ParamKind, Signature, WorkloadModule};
use wsp_ordered::{OrderedMap, OrderedSet};
use wsp_plan::workload::Bindings;

/// Where a unit runs its graph.
const STREAM: &str = "default";

/// The unit that has the tasks of a listing with all accesses. Its kernels are called as those of the workload, its arguments are the bytes of
/// their regions, and its tensors those of the workload, each an array that the caller gives or takes.
///
/// # Errors
/// What a unit has no form for: kernels of a used file, integers and slots as arguments, regions whose elements do not lie together, and
/// empty ones.
pub(crate) fn unit(
    module: &WorkloadModule,
    bindings: &Bindings,
    listing: &GraphListing,
) -> Result<TgModule, Vec<Diagnostic>> {
    let tensors: OrderedSet<TensorId> = listing.accesses.iter().map(|access| access.region.tensor).collect();
    let found = refused(module, listing, &tensors);
    if !found.is_empty() {
        return Err(found);
    }
    let mut builder = TgBuilder::new();
    for id in &tensors {
        let tensor = &module.tensors[id.index()];
        let shape: Vec<u64> = bindings.shape(*id).iter().copied().map(u64::from).collect();
        builder.extern_tensor(&tensor.name, tensor.dtype, &shape);
    }
    let graph = module.entry.map_or("main", |entry| module.workloads[entry.index()].name.as_str());
    builder.tg_begin(graph);
    let mut unit = Unit { module, bindings, listing, builder, kernels: OrderedMap::new() };
    unit.tasks()?;
    unit.edges();
    let mut builder = unit.builder;
    builder.tg_end(graph);
    builder.tg_launch(graph, STREAM);
    builder.tg_sync(graph);
    builder.finish()
}

/// What of the tasks has no form whatever their regions are; `tensors` are those that they take.
fn refused(
    module: &WorkloadModule,
    listing: &GraphListing,
    tensors: &OrderedSet<TensorId>,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let run: OrderedSet<u32> = listing.tasks.iter().copied().collect();
    let names: OrderedSet<&str> =
        run.iter().map(|kernel| listing.kernels[*kernel as usize].name.as_str()).collect();
    for kernel in module.kernels.iter().filter(|kernel| names.contains(kernel.name.as_str())) {
        let Signature::Declared(params) = &kernel.signature else {
            let what = format!("kernel `{}` is one of a used file, which takes a descriptor", kernel.name);
            let help =
                "declare the kernel with its tensors, and give the graph an entry with these parameters";
            found.push(no_unit(what, kernel.span).help(help));
            continue;
        };
        let integers = params.iter().filter(|param| param.kind == ParamKind::Scalar);
        found.extend(integers.map(|param| {
            let what = format!("`{}` of kernel `{}` is an integer", param.name, kernel.name);
            no_unit(what, kernel.span)
                .note("kernels of task graphs take bytes of tensors, and their block, iteration and device")
        }));
    }
    let slots = module.slots.iter().filter(|slot| tensors.contains(&slot.tensor));
    found.extend(slots.map(|slot| {
        let name = &module.tensors[slot.tensor.index()].name;
        no_unit(format!("tasks take slot `{name}`, which begins with a value"), slot.span)
            .help("take a tensor of one element, whose value is given with the run")
    }));
    found
}

/// A workload that is no unit, for this reason.
fn no_unit(what: String, span: Span) -> Diagnostic {
    Diagnostic::error(codes::NO_UNIT, "the workload has no form as a task graph").at(span, what)
}

struct Unit<'a> {
    module: &'a WorkloadModule,
    bindings: &'a Bindings,
    listing: &'a GraphListing,
    builder: TgBuilder,
    /// Kernels of the graph by task.
    kernels: OrderedMap<u32, KernelNo>,
}

impl Unit<'_> {
    /// A kernel for each task, with its arguments.
    fn tasks(&mut self) -> Result<(), Vec<Diagnostic>> {
        let mut accesses = self.listing.accesses.as_slice();
        for (task, &kernel) in (0u32..).zip(&self.listing.tasks) {
            let own = accesses.iter().take_while(|access| access.task == task).count();
            let (these, rest) = accesses.split_at(own);
            accesses = rest;
            if self.is_barrier(task) {
                continue;
            }
            let kernel = &self.listing.kernels[kernel as usize];
            let number = self.builder.kernel(&format!("{}_{task}", kernel.name));
            let cores = match kernel.unit {
                ExecPool::Cube => CoreType::Aic,
                ExecPool::Vector => CoreType::Aiv,
                ExecPool::Any => CoreType::AicAiv,
            };
            self.builder.tg_kernel(number, kernel.name.as_str(), 1, cores, 0);
            self.kernels.insert(task, number);
            for access in these {
                self.bind(number, access).map_err(|fault| vec![fault])?;
            }
        }
        Ok(())
    }

    /// The bytes of a region as an argument.
    fn bind(&mut self, kernel: KernelNo, access: &GraphAccess) -> Result<(), Diagnostic> {
        let id = access.region.tensor;
        let (tensor, shape) = (&self.module.tensors[id.index()], self.bindings.shape(id));
        let Some(elements) = elements(&access.region, shape) else {
            let (task, arg) = (access.task, access.arg);
            let name = &self.listing.kernels[self.listing.tasks[task as usize] as usize].name;
            let why =
                if access.region.is_empty() { "has no elements" } else { "does not lie together in memory" };
            let region = &access.region;
            let bounds: Vec<String> =
                (0..shape.len()).map(|d| format!("{}..{}", region.lo[d], region.hi[d])).collect();
            let what = format!("a region of `{}` {why}", tensor.name);
            return Err(no_unit(what, tensor.span)
                .note(format!(
                    "task {task} of kernel `{name}` takes `{}[{}]` as its tensor {arg}, of {shape:?}",
                    tensor.name,
                    bounds.join(", ")
                ))
                .note("an argument of a task graph's kernel is a range of bytes, at least one")
                .help("make what the tasks take the last dimensions of the tensor, and leave out tasks over nothing"));
        };
        let size = tensor.dtype.size() as u64;
        let direction = match access.mode {
            AccessMode::In => Direction::In,
            AccessMode::Out => Direction::Out,
            AccessMode::InOut => Direction::InOut,
        };
        let bind = self.builder.mc_bind(kernel, access.arg, tensor.name.as_str());
        // The bytes of a tensor fit into an i64: binding it has counted them.
        bind.offset((elements.start * size) as i64)
            .size(((elements.end - elements.start) * size) as i64)
            .direction(direction);
        Ok(())
    }

    fn is_barrier(&self, task: u32) -> bool {
        self.listing.kernels[self.listing.tasks[task as usize] as usize].name == BARRIER_NODE
    }

    /// The edges between tasks, and an event for each barrier node.
    fn edges(&mut self) {
        let edges = &self.listing.edges;
        let direct: OrderedSet<(u32, u32)> = edges.iter().copied().collect();
        let mut behind: OrderedMap<u32, OrderedSet<u32>> = OrderedMap::new();
        // Ids are in elaboration order, and edges by the later end: what leads to a node is known when it is reached.
        for &(earlier, later) in edges {
            match (self.is_barrier(earlier), self.is_barrier(later)) {
                (false, false) => {
                    let (src, dst) = (self.kernels[&earlier], self.kernels[&later]);
                    self.builder.tg_depend(src, dst).dep_type(DependencyType::Data);
                }
                (false, true) => {
                    behind.entry(later).or_default().insert(earlier);
                }
                (true, false) => {}
                (true, true) => {
                    let had = behind.get(&earlier).cloned().unwrap_or_default();
                    behind.entry(later).or_default().extend(had);
                }
            }
        }
        for (node, tasks) in behind {
            let waiting: Vec<u32> =
                direct.range((node, 0)..=(node, u32::MAX)).map(|(_, later)| *later).collect();
            let waiting: Vec<u32> = waiting.into_iter().filter(|task| !self.is_barrier(*task)).collect();
            if waiting.is_empty() {
                continue;
            }
            let event = self.builder.event(&format!("step_{node}"));
            for task in tasks {
                self.builder.sy_signal(event, self.kernels[&task]);
            }
            for task in waiting {
                self.builder.sy_wait(event, self.kernels[&task]);
            }
        }
    }
}

/// The numbers of a region's elements in row-major order, if they are one range that is not empty.
fn elements(region: &Region, shape: &[u32]) -> Option<std::ops::Range<u64>> {
    if region.is_empty() {
        return None;
    }
    let extent = |d: usize| region.hi[d] - region.lo[d];
    // Inside of the first dimension of several indices all is taken.
    let first = (0..shape.len()).find(|d| extent(*d) != 1).unwrap_or(shape.len());
    if (first + 1..shape.len()).any(|d| extent(d) != shape[d]) {
        return None;
    }
    let start = (0..shape.len()).fold(0, |at, d| at * u64::from(shape[d]) + u64::from(region.lo[d]));
    let count: u64 = (0..shape.len()).map(|d| u64::from(extent(d))).product();
    Some(start..start + count)
}

#[cfg(test)]
mod tests {
    use super::elements;
    use wsp_core::{Region, TensorId};

    /// By enumeration: the elements of a region in row-major order, and whether they are neighbours.
    fn enumerated(lo: [u32; 3], hi: [u32; 3], shape: [u32; 3]) -> Option<std::ops::Range<u64>> {
        let mut found = Vec::new();
        for i in lo[0]..hi[0] {
            for j in lo[1]..hi[1] {
                for k in lo[2]..hi[2] {
                    found.push(u64::from(k + shape[2] * (j + shape[1] * i)));
                }
            }
        }
        let together = found.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        (!found.is_empty() && together).then(|| found[0]..found[found.len() - 1] + 1)
    }

    #[test]
    fn a_region_is_a_range_where_its_elements_are_neighbours() {
        let shape = [2, 3, 2];
        let bounds = |n: u32| (0..=n).flat_map(move |lo| (lo..=n).map(move |hi| (lo, hi)));
        for (a, b) in bounds(2) {
            for (c, d) in bounds(3) {
                for (e, f) in bounds(2) {
                    let region = Region::new(TensorId(0), &[a, c, e], &[b, d, f]).unwrap();
                    let expected = enumerated([a, c, e], [b, d, f], shape);
                    assert_eq!(elements(&region, &shape), expected, "{region:?}");
                }
            }
        }
    }
}
