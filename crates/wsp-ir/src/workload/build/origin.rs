//! Where handles come from, so that one of another module or workload is found.

use std::sync::atomic::{AtomicU64, Ordering};

/// The module, or the workload of a module, that a handle belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Owner(u64);

impl Owner {
    /// One that no handle has yet.
    pub(super) fn fresh() -> Owner {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Owner(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// What the handles in an expression belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Origin {
    /// The module of its parameters, tables, slots and axes.
    pub(super) module: Option<Owner>,
    /// The workload or kernel of its variables.
    pub(super) scope: Option<Owner>,
    /// Handles of two modules or two workloads are mixed.
    pub(super) mixed: bool,
}

impl Origin {
    pub(super) fn of_module(module: Owner) -> Origin {
        Origin { module: Some(module), ..Origin::default() }
    }

    pub(super) fn of_scope(scope: Owner) -> Origin {
        Origin { scope: Some(scope), ..Origin::default() }
    }

    /// That of an expression with operands of these origins.
    pub(super) fn and(self, other: Origin) -> Origin {
        let differ = |a: Option<Owner>, b: Option<Owner>| a.is_some() && b.is_some() && a != b;
        Origin {
            module: self.module.or(other.module),
            scope: self.scope.or(other.scope),
            mixed: self.mixed
                || other.mixed
                || differ(self.module, other.module)
                || differ(self.scope, other.scope),
        }
    }
}
