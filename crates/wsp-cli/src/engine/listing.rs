//! Tasks and dependences of plans, as `wsp graph` has them.

use super::program;
use crate::graph::{Graph, GraphAccess, Missed};
use wsp_backend::{Args, Detail, GraphListing, GraphOptions, GridStats};
use wsp_core::policy::Deps;
use wsp_diag::Diagnostic;
use wsp_kernel::{Engine, Mode};
use wsp_plan::PlanSource;

/// A graph with what `wsp graph` says of it.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Tasks and edges.
    pub graph: Graph,
    /// Accesses of all tasks in order, if they were asked for.
    pub accesses: Vec<GraphAccess>,
    /// Names of the tensors.
    pub tensors: Vec<String>,
    /// How dependences were found.
    pub deps: &'static str,
    /// Hazards that the edges do not order, if they were asked for.
    pub missed: Option<Missed>,
    /// Tasks by tile, where the schedule has a grid.
    pub grid: Vec<String>,
}

/// Lists the tasks of a plan and their dependences, which are found in one way or that of its own, in the detail that is asked for.
///
/// # Errors
/// Wrong values, faults of the workload, a graph that depends on computed values or is too large.
pub fn graph(
    plan: &PlanSource,
    args: &Args,
    options: &GraphOptions,
    own: Deps,
) -> Result<Listed, Vec<Diagnostic>> {
    let listing = program(plan, Mode::default(), Engine::default(), None)?.graph(args, options)?;
    Ok(listed(listing, options.deps.unwrap_or(own), options.detail))
}

/// A picture of where a launch is on an array.
///
/// # Errors
/// As [`graph`]; a target without tiles.
pub fn placement(plan: &PlanSource, args: &Args) -> Result<String, Vec<Diagnostic>> {
    Ok(program(plan, Mode::default(), Engine::default(), None)?.placement(args)?)
}

/// What `wsp graph` says of a listing whose dependences are as a file has them.
pub fn recorded(listing: GraphListing) -> Listed {
    Listed { deps: "recorded", ..listed(listing, Deps::Explicit, Detail::default()) }
}

/// What `wsp graph` says of a listing with these dependences.
fn listed(mut listing: GraphListing, deps: Deps, detail: Detail) -> Listed {
    let tensors = std::mem::take(&mut listing.tensors);
    let count = listing.missed_count;
    let grid = listing.grid.iter().flat_map(GridStats::lines).collect();
    let (graph, accesses, missed) = Graph::of(listing);
    let task = |id: u32| format!("task {id} ({})", graph.kernel_of(id).name);
    let first = missed.first();
    let first = first.map_or(String::new(), |m| format!("{} before {}", task(m.earlier), task(m.later)));
    let missed = detail.missed.then_some(Missed { count, first });
    Listed { missed, graph, accesses, tensors, deps: deps.word(), grid }
}
