//! How large a document may be.

use wsp_core::limits::MAX_NESTING;

/// Bytes of a document.
pub(crate) const MAX_BYTES: usize = 64 << 20;
/// JSON values of a document, names of fields included.
pub(crate) const MAX_VALUES: u32 = 8 << 20;
/// Bytes of a name: findings repeat names.
pub(crate) const MAX_NAME: usize = 1024;
/// Formal arguments of one workload, parameters of one kernel, directives of one schedule: what is checked one against
/// another, or listed where one is wrong.
pub(crate) const MAX_TOGETHER: usize = 256;
/// Fields of one object; no form has as many.
pub(crate) const MAX_FIELDS: usize = 32;
/// Lists and objects inside each other. A statement of a kernel takes two (its object and the list that holds it), as does a chain, and
/// statements and expressions of a kernel nest at most `4 × MAX_NESTING` deep; the rest is what stands around them.
pub(crate) const MAX_LEVELS: u32 = 2 * 4 * MAX_NESTING + 32;
