//! What programs declare and nothing uses, in every language.

use crate::{Code, Diagnostic, Span};

crate::codes! {
    /// A declaration that nothing uses.
    pub UNUSED_ITEM = 261, "declaration that is never used",
        "\
A parameter, constant, array of the launch, tensor, workspace, struct or function of a program with a host entry is used by
no kernel, generator or other declaration. An array of the launch counts as used when a kernel or generator names it, or when
it is the only array that gives an extent which is used; that a reference names an output does not write it. A tensor that is only written is
reported too: `PTO_TENSOR` and `PTO_WORKSPACE` are gone after the launch. Remove the declaration, or begin its name with `_`.
Files that a program includes are not searched: what they declare may serve other programs. In a `.wsp` file, a tensor is
reported that no task of any workload is given.";
}

/// Something that is never used.
pub fn unused(code: Code, message: String, span: Span) -> Diagnostic {
    Diagnostic::warning(code, message).at(span, "never used")
}

/// A name that says that it is meant to be unused.
pub fn is_meant(name: &str) -> bool {
    name.starts_with('_')
}
