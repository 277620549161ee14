//! Views that a caller gives a program: what cannot be used where it lies, and the claim of a run on them.

use crate::codes::{IN_USE, READ_ONLY, SHARED_MEMORY, WRONG_ARRAY};
use std::sync::Arc;
use wsp_diag::{Diagnostic, Span};
use wsp_memory::{Claim, Claimed, Conflict, Sharing, Unusable, Use, Uses, View};

/// A tensor that is a view of the caller.
#[derive(Clone, Copy, Debug)]
pub struct Argument<'a> {
    /// The tensor.
    pub name: &'a str,
    /// Where its elements lie.
    pub view: &'a View,
    /// Whether tasks may write it.
    pub written: bool,
    /// Its declaration; none of what is declared nowhere.
    pub span: Option<Span>,
}

impl Argument<'_> {
    /// Adds the place of the declaration to what is said of memory that tasks write.
    fn declared(&self, fault: Diagnostic) -> Diagnostic {
        match self.span {
            Some(span) => fault.at(span, "some task writes this tensor"),
            None => fault,
        }
    }

    fn unusable(&self) -> Option<Diagnostic> {
        let (name, view) = (self.name, self.view);
        Some(match view.usable(self.written).err()? {
            Unusable::Elsewhere(space) => {
                let message =
                    format!("the array of tensor `{name}` is on {space}, and its tasks run on the host");
                Diagnostic::error(WRONG_ARRAY, message).help("give an array in the memory of the host")
            }
            Unusable::ReadOnly => {
                let message = format!("the array of tensor `{name}` may only be read, and tasks write it");
                self.declared(Diagnostic::error(READ_ONLY, message))
                    .help("give an array that may be written, or a copy")
            }
            Unusable::Folded => {
                let message =
                    format!("elements of the array of tensor `{name}` share memory, and tasks write it");
                self.declared(Diagnostic::error(SHARED_MEMORY, message))
                    .note(format!("extents {:?}, strides of {:?} bytes", view.shape(), view.strides()))
                    .help("give a copy of the array")
            }
        })
    }
}

/// What keeps a run from using views where they lie: some are not in its memory, may not be written, or share memory that tasks write.
pub fn refused(views: &[Argument<'_>]) -> Vec<Diagnostic> {
    let mut faults: Vec<Diagnostic> = views.iter().filter_map(Argument::unusable).collect();
    for (i, one) in views.iter().enumerate() {
        for other in views[i + 1..].iter().filter(|other| one.written || other.written) {
            let found = one.view.sharing(other.view);
            if found != Sharing::Disjoint {
                faults.push(sharing_fault(found, one, other));
            }
        }
    }
    faults
}

fn sharing_fault(found: Sharing, one: &Argument<'_>, other: &Argument<'_>) -> Diagnostic {
    let written = if one.written { one } else { other };
    let (one, other) = (one.name, other.name);
    let message = if found == Sharing::Undecided {
        format!("the arrays of tensors `{one}` and `{other}` lie in each other, and may share memory")
    } else {
        format!("the arrays of tensors `{one}` and `{other}` share memory")
    };
    written.declared(Diagnostic::error(SHARED_MEMORY, message)).help(format!(
        "give a copy for one of them, or declare one tensor for both and give kernels parts of it in place of `{one}` \
         and `{other}`"
    ))
}

/// Two arrays of the caller that share memory which tasks write, or may do so. One of them at least is copied for the run: of arrays that are
/// used where they lie, the run says it itself.
pub fn shared_memory(one: &Use, other: &Use) -> Option<Diagnostic> {
    let [one, other] =
        [one, other].map(|of| Argument { name: &of.name, view: &of.view, written: of.written, span: None });
    let found = one.view.sharing(other.view);
    let refused = (one.written || other.written) && found != Sharing::Disjoint;
    refused.then(|| sharing_fault(found, &one, &other))
}

/// What a run of these arguments claims.
pub fn uses<'a>(views: impl IntoIterator<Item = Argument<'a>>) -> Uses {
    let each =
        |of: Argument<'a>| Use { name: of.name.to_owned(), view: of.view.clone(), written: of.written };
    views.into_iter().map(each).collect()
}

/// The claim of a run: that of its caller, where this has all of its views, else one of its own.
///
/// # Errors
/// A run that goes on uses one of the views, and one of both writes it.
pub fn claimed(callers: Option<&Arc<Claim>>, uses: &Uses) -> Result<Claimed, Diagnostic> {
    Claim::beside(callers, uses).map_err(|conflict| in_use(&conflict))
}

/// Two runs at the same time, one of which writes memory that the other uses, as a diagnostic.
pub fn in_use(conflict: &Conflict) -> Diagnostic {
    Diagnostic::error(IN_USE, conflict.to_string())
        .note(conflict.note())
        .help("wait for that run first, `Run::wait`, or give each run an array of its own")
        .python("wait for that run first, `run.synchronize()`, or give each run an array of its own")
}
