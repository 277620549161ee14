//! What no run takes of a design, whatever its data is.

use super::net::Net;
use super::{Allocation, compile};
use crate::codes;
use crate::design::Design;
use wsp_diag::{Diagnostic, Span};

/// For each core the first operation whose operands, types or names are not those that it takes. What is right and not run here is left out.
pub(crate) fn refused(design: &Design) -> Vec<Diagnostic> {
    let mut net = match Net::new(design, Allocation::Lowered) {
        Ok(net) => net,
        Err(fault) => return of(*fault).into_iter().collect(),
    };
    let mut found = Vec::new();
    for (at, core) in design.cores.iter().enumerate() {
        let mut end = |name: &str, produces: bool, span: Span| net.core_end(design, at, name, produces, span);
        found.extend(compile::compile(design, core, &mut end).err().and_then(|fault| of(*fault)));
    }
    found
}

fn of(fault: Diagnostic) -> Option<Diagnostic> {
    (fault.code != codes::NOT_RUN).then_some(fault)
}
