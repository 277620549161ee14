//! A backend that counts the tasks of plans: all that a backend has to have.

use std::collections::BTreeMap;
use std::sync::Arc;
use wsp_backend::{Args, Backend, Explanation, Outcome, Prepared, Program, RunError, RunOptions, Stats};
use wsp_core::{AxisId, StructId, limits};
use wsp_diag::{Code, Diagnostic, Diagnostics, Span};
use wsp_ir::tg::Signatures;
use wsp_ir::{AxisEnd, ParamSource, ShapeOwner, TileSize};
use wsp_kernel::{
    Env, Extent, GeneratorCode, GeneratorHost, Hints, Trap, Value, WsRequest, eval_launch_expr,
};
use wsp_memory::Claim;
use wsp_ordered::OrderedMap;
use wsp_plan::entry::signature;
use wsp_plan::target::CPU_SIM;
use wsp_plan::workload::{bind, count};
use wsp_plan::{LoweredPlan, PlanSource, Target, UnitSource};
use wsp_tg::plan::HostKind;
use wsp_tg::{ElaborateOptions, elaborate};

/// Counts tasks.
pub(crate) struct Counting;

impl Backend for Counting {
    fn name(&self) -> &'static str {
        "count"
    }

    fn targets(&self) -> &'static [&'static Target] {
        &[CPU_SIM]
    }

    /// All but units whose host decides what it launches.
    fn supports(&self, plan: &PlanSource) -> Vec<Diagnostic> {
        let PlanSource::Unit(unit) = plan else { return Vec::new() };
        match launches(unit) {
            Ok(_) => Vec::new(),
            Err(found) => found,
        }
    }

    fn compile(&self, plan: &PlanSource) -> Result<Box<dyn Program>, Diagnostics> {
        Ok(Box::new(Counted(plan.clone())))
    }
}

/// A plan whose tasks are counted.
struct Counted(PlanSource);

impl Program for Counted {
    fn explain(&self, args: &Args, options: &RunOptions) -> Result<Explanation, RunError> {
        options.check(self.0.kind())?;
        let tasks = counted(&self.0, args).map_err(|found| RunError::Refused(found.into()))?;
        let kernels = vec![("all".to_owned(), tasks)];
        Ok(Explanation::new(kernels))
    }

    fn prepare(&self, args: Args, options: RunOptions) -> Result<Box<dyn Prepared>, RunError> {
        self.explain(&args, &options)?;
        Ok(Box::new(Ready { plan: self.0.clone(), args, ran: None }))
    }
}

/// A plan with arguments.
struct Ready {
    plan: PlanSource,
    args: Args,
    /// Tasks of the last run, until its outcome is taken.
    ran: Option<u64>,
}

impl Prepared for Ready {
    fn notes(&self) -> &[Diagnostic] {
        &[]
    }

    fn launch(&mut self, _: Option<&Arc<Claim>>) -> Result<(), RunError> {
        let tasks = counted(&self.plan, &self.args).map_err(|found| RunError::Failed(found.into()))?;
        self.ran = Some(tasks);
        Ok(())
    }

    fn outcome(&mut self) -> Result<Outcome, RunError> {
        let tasks = self.ran.take().ok_or_else(RunError::no_outcome)?;
        let mut stats = Stats::default();
        (stats.tasks, stats.streams, stats.executors) = (tasks, 1, 1);
        Ok(Outcome::new(BTreeMap::new(), stats))
    }

    fn rebind(&mut self, args: Args) -> Result<(), RunError> {
        self.args.replace(args);
        Ok(())
    }
}

fn counted(plan: &PlanSource, args: &Args) -> Result<u64, Vec<Diagnostic>> {
    match plan {
        PlanSource::Spaces(plan) => descriptors(plan, args).map_err(|trap| vec![trap.into()]),
        PlanSource::Workload(plan) => {
            let bindings = bind(&plan.module, &args.values, &OrderedMap::new())?;
            count(&plan.module, &bindings)
                .ok_or_else(|| vec![refused("a task depends on what others compute")])
        }
        PlanSource::Unit(unit) => launches(unit),
    }
}

fn refused(what: &str) -> Diagnostic {
    Diagnostic::error(Code(1600), what)
}

/// Descriptors that the generators of a plan emit.
fn descriptors(plan: &LoweredPlan, args: &Args) -> Result<u64, Trap> {
    let module = &plan.module;
    let mut params: Vec<Option<Value>> = Vec::new();
    for param in &module.params {
        params.push(match &param.source {
            ParamSource::Shape { of: ShapeOwner::Tensor(id), dim } => {
                let array = &args.arrays[&module.tensors[id.index()].name];
                Some(Value::U32(array.shape()[*dim as usize] as u32))
            }
            ParamSource::Set { default } | ParamSource::Derived(default) => {
                Some(eval_launch_expr(module, default, &params)?)
            }
            ParamSource::Shape { .. } | ParamSource::Entry => None,
        });
    }
    let mut env = Env::new(module, params.iter().map(|value| value.expect("it is known")).collect());
    for (axis, extent) in module.axes.iter().zip(&mut env.axis_extents) {
        if let AxisEnd::Expr(end) = &axis.end {
            *extent = eval_launch_expr(module, end, &params)?.as_u64().map(|end| end as u32);
        }
    }
    let mut host = Emitted { plan, params: &params, tasks: 0 };
    for stage in &plan.stages {
        let code = GeneratorCode::compile(module, stage.generator, &env)?;
        code.run(&env, &mut host, limits::MAX_GENERATOR_STEPS)?;
    }
    Ok(host.tasks)
}

/// Counts what a generator emits.
struct Emitted<'a> {
    plan: &'a LoweredPlan,
    params: &'a [Option<Value>],
    tasks: u64,
}

impl GeneratorHost for Emitted<'_> {
    fn emit(&mut self, _: StructId, _: &[u32], _: Hints<'_>) -> Result<(), Trap> {
        self.tasks += 1;
        Ok(())
    }

    fn fence(&mut self) {}

    fn alloc_ws(&mut self, _: &WsRequest<'_>) -> Result<u32, Trap> {
        Ok(0)
    }

    fn set_tile(&mut self, _: AxisId, _: u32) -> Result<(), Trap> {
        Ok(())
    }

    fn set_extent(&mut self, _: AxisId, _: Extent<'_>) -> Result<(), Trap> {
        Ok(())
    }

    fn axis_tile(&mut self, axis: AxisId) -> Result<u32, Trap> {
        let tile = self.plan.module.axes[axis.index()].tile.as_ref().map(|tile| &tile.size);
        match tile {
            Some(TileSize::Fixed(size)) => {
                let size = eval_launch_expr(&self.plan.module, size, self.params)?;
                Ok(size.as_u64().unwrap_or(1) as u32)
            }
            _ => Err(Trap::new(
                Code(1600),
                "the tile is chosen by another backend".to_owned(),
                Span::default(),
            )),
        }
    }

    fn axis_extent(&mut self, _: AxisId) -> Result<u32, Trap> {
        Err(Trap::new(Code(1600), "the extent is known to another backend".to_owned(), Span::default()))
    }

    fn cancelled(&self) -> bool {
        false
    }
}

/// Kernels that the launches of a unit run.
fn launches(unit: &UnitSource) -> Result<u64, Vec<Diagnostic>> {
    let entries = unit.files.iter().flat_map(|file| {
        file.module.kernel_entries.iter().map(|entry| signature(&file.module, entry, &|_| None))
    });
    let signatures: Signatures = entries.collect();
    let plan = elaborate(&unit.module, &signatures, &ElaborateOptions::default())?;
    plan.host.iter().try_fold(0, |tasks, op| match op.kind {
        HostKind::Launch { graph, .. } => Ok(tasks + plan.graphs[graph as usize].kernels.len() as u64),
        HostKind::Sync(_) | HostKind::Alloc(_) | HostKind::Free(_) => Ok(tasks),
        _ => Err(vec![refused("the host decides what it launches")]),
    })
}

/// The backend as others see it.
pub(crate) fn counting() -> Arc<dyn Backend> {
    Arc::new(Counting)
}
