//! What is said of launches that use the same bytes in no order.

use super::super::access::Access;
use super::super::{Cx, LAUNCHES, error, warning};
use super::meets::is_certain;
use super::open::{by_event, user_of};
use wsp_core::tg::Instr;
use wsp_diag::Diagnostic;
use wsp_ir::tg::outline::BlockKind;

/// The name of the graph that an instruction launches.
pub(super) fn launched_by(cx: &Cx<'_>, at: u32) -> String {
    match cx.module.instrs[at as usize] {
        Instr::TgBegin { graph_id }
        | Instr::TgLaunch { graph_id, .. }
        | Instr::TgInvoke { graph_id, .. }
        | Instr::TgRestore { graph_id, .. } => {
            cx.outline.graph(graph_id).map_or_else(String::new, |graph| cx.graph_name(graph))
        }
        _ => String::new(),
    }
}

/// Tells of two accesses of two launches, which may be of one graph; `skipped` is a loop that runs no round on the way on which they meet.
pub(super) fn tell(
    cx: &mut Cx<'_>,
    (first, second): (u32, u32),
    (is_same, skipped): (bool, Option<u32>),
    [a, b]: &[Access; 2],
) {
    let is_sure = a.is_known() && b.is_known() && is_certain(cx, a) && is_certain(cx, b) && !is_same;
    let of = if is_sure { error } else { warning };
    if cx.is_full() {
        return cx.report(of(LAUNCHES, "no order".to_owned()));
    }
    let graphs = [launched_by(cx, first), launched_by(cx, second)];
    let tensor = cx.tensor_name(a.tensor);
    let ends = [a, b].map(|of| user_of(cx, of));
    let users = ends.each_ref().map(|(user, name)| user.said(name));
    let message = match is_same {
        true => format!("two launches of graph `{}` use `{tensor}` in no order", graphs[0]),
        false => format!("launches of graphs `{}` and `{}` use `{tensor}` in no order", graphs[0], graphs[1]),
    };
    let mut found = cx.on(of(LAUNCHES, message), second, "submitted while the other may run");
    if first != second {
        found = cx.and(found, first, "the other launch");
    }
    found = cx.and(found, a.at, &format!("{} of the other {} it here", users[0], a.verb()));
    found = cx.and(found, b.at, &format!("{} {} it here", users[1], b.verb()));
    if let Some(at) = skipped {
        found = cx.and(found, at, "where this loop runs no round");
    }
    if is_same {
        found = found.note("a simulation runs them one after another; a device does not");
    }
    found = found.note("TG_SYNC behind the other launch orders them, and so does one stream for both");
    found = waits_for(cx, found, first);
    if !is_same {
        let [of_a, of_b] = &ends;
        found = by_event(found, (of_a.0, &of_a.1, &graphs[0]), (of_b.0, &of_b.1, &graphs[1]));
    }
    cx.report(found);
}

/// Says what to write to wait for a launch, and where it may stand: a graph that was never launched cannot be waited for.
pub(super) fn waits_for(cx: &Cx<'_>, found: Diagnostic, launch: u32) -> Diagnostic {
    let graph = launched_by(cx, launch);
    let found = found.help(format!("TG_SYNC({graph})"));
    let around = cx.outline.blocks.get(cx.outline.blocks.around(launch)).kind;
    if around == BlockKind::Host {
        return found;
    }
    let opener = around.opener();
    found.help(format!(
        "directly behind the launch of `{graph}`, in its `{opener}`: where that does not run, there is no launch to wait for"
    ))
}
