//! Schedule lowering: PTO_SCHEDULED_FOR becomes plain loops over the items of its space in the order of the schedule.
//!
//! An index counts tiles on a tiled axis (`0 .. ⌈(end - start) / tile⌉`) and elements on any other (`start .. end`). Axes
//! nest in the order of the PTO_ORDER statements, the rest in declared order inside them. What a policy does to the nest
//! is in [`nest`], how far a dynamic axis runs in [`axes`] and [`guard`].

mod axes;
mod balanced;
mod body;
mod find;
mod guard;
mod items;
mod nest;
mod rename;
mod split;
mod splits;
mod summary;

use crate::lower::{BalancedLine, codes, errors};
use crate::{ScheduleSummary, fold, walk};
use axes::{AxisCx, Elements, Item, SetExtent};
use find::{SetExtentStmt, Site, Statements};
use nest::Nest;
use split::Split;
use wsp_core::{AxisId, FuncId, LocalId, ScheduleId, SpaceId};
use wsp_diag::{Diagnostic, Span, did_you_mean};
use wsp_ir::{
    AxisStatement, Block, Expr, ExtentSource, Function, LocalTy, Module, OrderPolicy, ScalarTy, Schedule,
    Space, Stmt, StmtKind,
};

/// Lowers a generator of the module in place. `instead` is used in place of the schedule that the source applies.
///
/// # Errors
/// When the schedule does not fit the space or the loop cannot be built.
pub(crate) fn lower_generator(
    module: &mut Module,
    generator: FuncId,
    space: SpaceId,
    instead: Option<ScheduleId>,
    notes: &mut Vec<Diagnostic>,
) -> Result<ScheduleSummary, Vec<Diagnostic>> {
    let mut func = module.functions[generator.index()].clone();
    let body = std::mem::take(&mut func.body);
    let declared = &module.spaces[space.index()];
    let found = find::statements(&body);
    let looped = found.scheduled_for;
    let chosen = match instead {
        Some(id) => Some(id),
        None => applied(&found, looped)?,
    };
    let (lowered, summary) = match looped {
        Some(site) => {
            let schedule = chosen.map(|id| &module.schedules[id.index()]);
            if let Some(schedule) = schedule {
                errors(foreign_axes(module, schedule, declared))?;
            }
            let mut summary = summary::of_schedule(module, declared, schedule, notes)?;
            let (set, held) = set_extents(module, &found, &mut func)?;
            let cx = AxisCx { module, space: declared, set, arrays: found.arrays.clone() };
            let (loops, balanced) = loops(&cx, site, (schedule, &found), &mut func)?;
            summary.balanced = balanced;
            (replace(body, &mut Some(loops), &held), summary)
        }
        None => {
            notes.extend(without_loop(module, &found, declared, instead.is_some()));
            (replace(body, &mut None, &Vec::new()), summary::of_plain_loops())
        }
    };
    func.body = lowered;
    module.functions[generator.index()] = func;
    Ok(summary)
}

/// Whether a generator still holds what schedule lowering takes away.
pub(crate) fn is_scheduled(body: &Block) -> bool {
    let mut found = false;
    walk::stmts(body, &mut |stmt| {
        found |= matches!(stmt.kind, StmtKind::ScheduledFor { .. } | StmtKind::ApplySchedule(_));
    });
    found
}

/// Diagnostics for the axes that a schedule names and a space does not have.
pub(crate) fn foreign_axes(module: &Module, schedule: &Schedule, space: &Space) -> Vec<Diagnostic> {
    let names: Vec<&str> = space.axes.iter().map(|id| module.axes[id.index()].name.as_str()).collect();
    let foreign = schedule.axes.iter().filter(|statement| !names.contains(&statement.axis.as_str()));
    foreign
        .map(|AxisStatement { axis, span, .. }| {
            let message = format!("space `{}` has no axis `{axis}`", space.name);
            let help = match did_you_mean(axis, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("its axes are {}", quoted(&names)),
            };
            Diagnostic::error(codes::UNKNOWN_AXIS, message)
                .at(*span, format!("schedule `{}` names it", schedule.name))
                .label(space.span, "the space")
                .help(help)
        })
        .collect()
}

/// Names in backticks, with commas.
pub(crate) fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The schedule that the generator applies to its loop.
fn applied(
    found: &Statements<'_>,
    looped: Option<Site<&Stmt>>,
) -> Result<Option<ScheduleId>, Vec<Diagnostic>> {
    let Some(looped) = looped else { return Ok(None) };
    let unclear = |message: &str, span: Span, text: &str| {
        Diagnostic::error(codes::SCHEDULE_UNCLEAR, message).at(span, text)
    };
    match found.applied.as_slice() {
        [] => Ok(None),
        [only] if only.certain => Ok(Some(only.what)),
        [only] => Err(vec![
            unclear("the schedule may not be applied when the loop starts", only.span, "applied here")
                .label(looped.span, "the loop that it is for")
                .help("put it before the loop, outside of `if` and of other loops"),
        ]),
        [first, second, ..] => Err(vec![
            unclear("more than one schedule is applied", second.span, "the second one")
                .label(first.span, "the first one")
                .help("apply one; choose another for a run with `--schedule NAME`")
                .python("apply one; choose another for a program: `load(path).program(schedule=\"NAME\")`"),
        ]),
    }
}

/// What PTO_SET_EXTENT gives, by axis.
type Extents = Vec<Site<SetExtent>>;

/// The variable that holds a scalar extent, by axis; each axis is set once.
type Held = Vec<(AxisId, LocalId)>;

/// What PTO_SET_EXTENT gives. Scalars are held in variables, since what they are computed from may change before the loop.
fn set_extents(
    module: &Module,
    found: &Statements<'_>,
    func: &mut Function,
) -> Result<(Extents, Held), Vec<Diagnostic>> {
    let (mut set, mut held, mut wrong) = (Extents::new(), Vec::new(), Vec::new());
    for site in &found.extents {
        let SetExtentStmt { axis, extent, last } = site.what;
        let unclear = |message: &str| Diagnostic::error(codes::EXTENT_UNCLEAR, message).at(site.span, "");
        if let Some(first) = set.iter().find(|other| other.what.axis == axis) {
            let help = "set it once; a choice goes into the value";
            wrong.push(unclear("an extent is set twice").label(first.span, "first here").help(help));
            continue;
        }
        if !site.certain {
            let help = "put it before `PTO_SCHEDULED_FOR`, outside of `if` and of other loops";
            wrong.push(unclear("an extent may not be set when the loop starts").help(help));
        }
        let declared = &module.axes[axis.index()];
        if let (Some(last), None) = (last, &declared.tile) {
            let name = &declared.name;
            let message =
                format!("axis `{name}` has no tiles, so its index cannot begin at its last elements");
            let diagnostic = Diagnostic::error(codes::EXTENT_UNCLEAR, message).at(last.span, "of these");
            let help =
                format!("write `PTO_TILE({name}, PTO_AUTO)` in the space, and use `PTO_ITEM_BEGIN({name})`");
            wrong.push(diagnostic.label(declared.span, "the axis").help(help));
        }
        let elements = match extent {
            ExtentSource::Scalar(e) => {
                let local = func.add_local("extent", LocalTy::Scalar(ScalarTy::U32), e.span);
                held.push((axis, local));
                Elements::Scalar(local)
            }
            ExtentSource::PerOuter(array) => Elements::PerOuter(*array),
        };
        // So many elements no axis has.
        let last = last.filter(|last| last.as_const_int() != Some(u32::MAX.into())).cloned();
        set.push(Site { what: SetExtent { axis, elements, last }, span: site.span, certain: site.certain });
    }
    errors(wrong)?;
    Ok((set, held))
}

/// The loop nest for a PTO_SCHEDULED_FOR, and the line that a balanced split of it cuts: of two dynamic axes none is balanced.
fn loops(
    cx: &AxisCx<'_>,
    site: Site<&Stmt>,
    (schedule, found): (Option<&Schedule>, &Statements<'_>),
    func: &mut Function,
) -> Result<(Block, Option<BalancedLine>), Vec<Diagnostic>> {
    let StmtKind::ScheduledFor { vars, body } = &site.what.kind else { return Ok((Vec::new(), None)) };
    let constraints = cx.space.constraints.iter().map(|c| body::over_vars(c, vars)).collect();
    let item = Item::new(vars, body, constraints, site.span);
    errors(body::returns(&item))?;
    let splits = splits::resolve(cx, &item, (schedule, found), func)?;
    let mut axes = axes::resolve(cx, &item, &splits, func)?;
    splits::longest_first(cx, schedule, &mut axes)?;
    let order = nesting(&axes, schedule);
    let mut nest = Nest { func, axes: &axes, order: &order, span: site.span };
    let filled = body::fill(cx, &item, &mut nest, schedule, &splits)?;
    let mut out: Block = splits.iter().flatten().flat_map(|split| split.header.clone()).collect();
    out.extend(nest.build(filled));
    Ok((out, splits.iter().flatten().find_map(Split::line).cloned()))
}

/// Axes from the outermost in: as PTO_ORDER lists them, then the rest as declared.
fn nesting(axes: &[axes::NestAxis], schedule: Option<&Schedule>) -> Vec<(usize, OrderPolicy)> {
    let mut order: Vec<(usize, OrderPolicy)> = Vec::new();
    for (statement, policy) in schedule.into_iter().flat_map(Schedule::orders) {
        if let Some(axis) = axes.iter().position(|axis| axis.name == statement.axis)
            && order.iter().all(|(seen, _)| *seen != axis)
        {
            order.push((axis, policy));
        }
    }
    for axis in 0..axes.len() {
        if order.iter().all(|(seen, _)| *seen != axis) {
            order.push((axis, OrderPolicy::Sequential));
        }
    }
    order
}

/// The block with PTO_SCHEDULED_FOR replaced, PTO_APPLY_SCHEDULE removed, and scalar extents held.
fn replace(block: Block, loops: &mut Option<Block>, held: &Held) -> Block {
    let mut out = Vec::with_capacity(block.len());
    for mut stmt in block {
        match &mut stmt.kind {
            StmtKind::ApplySchedule(_) => continue,
            StmtKind::ScheduledFor { .. } => {
                out.extend(loops.take().unwrap_or_default());
                continue;
            }
            StmtKind::SetExtent { axis, extent: ExtentSource::Scalar(e), .. } => {
                if let Some((_, local)) = held.iter().find(|(of, _)| of == axis) {
                    let (value, span) = (fold::cast(e.clone(), ScalarTy::U32), e.span);
                    *e = Expr::local(*local, ScalarTy::U32, span);
                    out.push(Stmt { kind: StmtKind::Let { local: *local, init: Some(value) }, span });
                }
            }
            _ => {}
        }
        for inner in walk::blocks_mut(&mut stmt) {
            *inner = replace(std::mem::take(inner), loops, held);
        }
        out.push(stmt);
    }
    out
}

/// What has no effect in a generator without PTO_SCHEDULED_FOR.
fn without_loop(module: &Module, found: &Statements<'_>, space: &Space, instead: bool) -> Vec<Diagnostic> {
    let unused = |message: String, span: Span| {
        Diagnostic::warning(codes::SCHEDULE_UNUSED, message)
            .at(span, "the generator has no `PTO_SCHEDULED_FOR`")
            .note("tasks are issued in the order of the generator's own loops")
    };
    let mut notes = Vec::new();
    for site in &found.applied {
        let name = &module.schedules[site.what.index()].name;
        notes.push(unused(format!("schedule `{name}` has no effect"), site.span));
    }
    if instead {
        notes.push(unused("the schedule asked for has no effect".to_owned(), space.span));
    }
    for constraint in &space.constraints {
        notes.push(unused("`PTO_WHERE` has no effect".to_owned(), constraint.span));
    }
    notes
}
