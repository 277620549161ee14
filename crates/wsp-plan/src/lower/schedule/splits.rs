//! The splits of a schedule, and its order by length, checked against the space and the generator.

use super::axes::{AxisCx, Item, Lengths, NestAxis};
use super::find::Statements;
use super::split::{Maker, Split};
use crate::lower::{codes, errors};
use wsp_diag::Diagnostic;
use wsp_ir::{
    Axis, AxisEnd, AxisStatement, Derivation, Function, OrderPolicy, Schedule, SplitPolicy, TileSize,
};

/// The split of each axis of the space, where the schedule has one.
///
/// # Errors
/// When an axis cannot be split, or not like this.
pub(super) fn resolve<'a>(
    cx: &AxisCx<'a>,
    item: &Item<'a>,
    (schedule, found): (Option<&Schedule>, &Statements<'_>),
    func: &mut Function,
) -> Result<Vec<Option<Split>>, Vec<Diagnostic>> {
    let mut splits: Vec<Option<Split>> = cx.space.axes.iter().map(|_| None).collect();
    let mut wrong = Vec::new();
    for (asked, policy) in schedule.into_iter().flat_map(Schedule::splits) {
        let named = |id: &wsp_core::AxisId| cx.module.axes[id.index()].name == asked.axis;
        // A schedule with other axes than the space has was refused before.
        let Some(position) = cx.space.axes.iter().position(named) else { continue };
        let checked = check(cx, position, (asked, policy)).and_then(|lengths| {
            check_tiles(cx, position, (asked, policy), found)?;
            Ok(lengths)
        });
        match checked {
            Ok(lengths) => {
                let maker =
                    Maker { cx, item, func: &mut *func, position, lengths, left_out: None, span: asked.span };
                splits[position] = Some(match policy {
                    SplitPolicy::Whole => maker.whole(),
                    SplitPolicy::Fixed(size) => maker.fixed(size),
                    SplitPolicy::Balanced(align) => maker.balanced(*align),
                });
            }
            Err(diagnostic) => wrong.push(diagnostic),
        }
    }
    errors(wrong)?;
    Ok(splits)
}

/// Whether the axis can be split, and where its elements come from.
fn check(
    cx: &AxisCx<'_>,
    position: usize,
    (asked, policy): (&AxisStatement, &SplitPolicy),
) -> Result<Lengths, Diagnostic> {
    let axis = &cx.module.axes[cx.space.axes[position].index()];
    let name = &axis.name;
    let refused = |why: &str, help: String| {
        Diagnostic::error(codes::SPLIT_AXIS, format!("axis `{name}` cannot be split"))
            .at(asked.span, why)
            .label(axis.span, "the axis")
            .help(help)
    };
    if axis.end != AxisEnd::Dynamic {
        return Err(refused("its end is fixed", "declare its end as `PTO_DYNAMIC`".to_owned()));
    }
    if !matches!(axis.tile.as_ref().map(|t| &t.size), Some(TileSize::Auto)) {
        return Err(refused(
            "a split decides what an item holds, and the space does not leave that open",
            format!("write `PTO_TILE({name}, PTO_AUTO)` in the space"),
        ));
    }
    let Some(lengths) = cx.lengths(position) else {
        return Err(refused(
            "how many elements it has is not known",
            format!("call `PTO_SET_EXTENT({name}, lengths);` before the loop"),
        ));
    };
    if let SplitPolicy::Balanced(_) = policy
        && let Some(other) = other_dynamic(cx, position)
    {
        let message = format!("axis `{name}` cannot be balanced beside another dynamic axis");
        return Err(Diagnostic::error(codes::SPLIT_OTHERS, message)
            .at(asked.span, "shares are cut on the line of the elements of all other indices")
            .label(other.span, "how many indices this axis has is not known at launch")
            .help(format!("give `{}` an end, or write `PTO_FIXED(n)`", other.name)));
    }
    Ok(lengths)
}

/// Gives the axes that `PTO_LONGEST_FIRST` orders the order of their indices.
///
/// # Errors
/// When there are no lengths to order by.
pub(super) fn longest_first(
    cx: &AxisCx<'_>,
    schedule: Option<&Schedule>,
    axes: &mut [NestAxis],
) -> Result<(), Vec<Diagnostic>> {
    let mut wrong = Vec::new();
    let asked = schedule.into_iter().flat_map(Schedule::orders);
    for (order, _) in asked.filter(|(_, policy)| *policy == OrderPolicy::LongestFirst) {
        let Some(position) = axes.iter().position(|axis| axis.name == order.axis) else { continue };
        let lengths = (0..axes.len()).filter(|_| position == 0).find_map(|other| match cx.lengths(other) {
            Some(Lengths::PerFirst(rows)) => Some(rows),
            Some(Lengths::Scalar) | None => None,
        });
        match lengths {
            Some(rows) => axes[position].issued = Some(rows.derived(Derivation::LongestFirst)),
            None => wrong.push(no_lengths(cx, position, order)),
        }
    }
    errors(wrong)
}

fn no_lengths(cx: &AxisCx<'_>, position: usize, order: &AxisStatement) -> Diagnostic {
    let declared = &cx.module.axes[cx.space.axes[position].index()];
    let message = format!("there are no lengths to order axis `{}` by", order.axis);
    let diagnostic = Diagnostic::error(codes::ORDER_LENGTHS, message).label(declared.span, "the axis");
    if position > 0 {
        return diagnostic
            .at(order.span, "lengths are those of the indices of the first axis, and this is another")
            .help("make it the first axis of the space");
    }
    diagnostic
        .at(order.span, "no dynamic axis has a length per index of this one")
        .help("call `PTO_SET_EXTENT(axis, lengths);` for the dynamic axis before the loop")
}

fn other_dynamic<'m>(cx: &AxisCx<'m>, position: usize) -> Option<&'m Axis> {
    let others = cx.space.axes.iter().enumerate().filter(|(i, _)| *i != position);
    others.map(|(_, id)| &cx.module.axes[id.index()]).find(|axis| axis.end == AxisEnd::Dynamic)
}

/// Nothing else in the generator speaks of the size of a tile of the axis.
fn check_tiles(
    cx: &AxisCx<'_>,
    position: usize,
    (asked, policy): (&AxisStatement, &SplitPolicy),
    found: &Statements<'_>,
) -> Result<(), Diagnostic> {
    let id = cx.space.axes[position];
    let name = &asked.axis;
    if let Some(site) = found.tiles.iter().find(|site| site.what == id) {
        let message = format!("axis `{name}` is split, and its tile is set as well");
        return Err(Diagnostic::error(codes::SPLIT_TILE, message)
            .at(asked.span, "this decides what an item holds")
            .label(site.span, "and so does this")
            .help("remove `PTO_SET_TILE`, or write its size as `PTO_SPLIT(axis, PTO_FIXED(size))`"));
    }
    let one_size = matches!(policy, SplitPolicy::Fixed(_));
    match found.tile_reads.iter().find(|site| site.what == id && !one_size) {
        None => Ok(()),
        Some(site) => {
            let message = format!("the items of axis `{name}` have no single size");
            Err(Diagnostic::error(codes::SPLIT_TILE, message)
                .at(site.span, "asked for here")
                .label(asked.span, "cut by this")
                .help(format!(
                    "use `PTO_ITEM_BEGIN({name})`, `PTO_ITEM_END({name})` and `PTO_ITEM_COUNT({name})`"
                )))
        }
    }
}
