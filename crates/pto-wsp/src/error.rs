//! One error for everything that can go wrong.

use crate::graph::GraphError;
use std::fmt;
use wsp_backend::RunError;
use wsp_cpu::workload::{AlreadyRegistered, KernelFault};
use wsp_diag::{Diagnostic, Diagnostics, SourceMap, render_all};
use wsp_memory::ViewFault;
use wsp_plan::ArrayError;

/// Why a program could not be made or run. It comes from the errors of every layer by `?`, and goes into others as any error does.
pub struct Error(Box<Kind>);

enum Kind {
    /// Findings, with the sources that they point into.
    Found(Diagnostics, SourceMap),
    /// A run that gave nothing, with the sources that its findings point into.
    Run(RunError, SourceMap),
    /// Something else.
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Findings and the sources that they point into: the text shows the lines.
    pub fn in_sources(found: impl Into<Diagnostics>, sources: &SourceMap) -> Error {
        let found = found.into().0.into_iter().map(Diagnostic::in_rust).collect();
        Error(Box::new(Kind::Found(Diagnostics(found), sources.clone())))
    }

    /// A run that gave nothing, of a program of these sources: the text shows the lines.
    pub(crate) fn of_run(error: RunError, sources: &SourceMap) -> Error {
        let error = error.in_rust();
        Error(Box::new(Kind::Run(error, sources.clone())))
    }

    /// The findings; none where the environment failed.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match &*self.0 {
            Kind::Found(found, _) => found,
            Kind::Run(error, _) => error.diagnostics(),
            Kind::Other(_) => &[],
        }
    }

    /// Why a run gave nothing, if it is that.
    pub fn run(&self) -> Option<&RunError> {
        if let Kind::Run(error, _) = &*self.0 { Some(error) } else { None }
    }
}

/// As [`Display`](fmt::Display): `main` and `unwrap` print it.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Found(found, sources) => shown(f, found, sources),
            Kind::Run(error, sources) => {
                writeln!(f, "{}", error.what())?;
                shown(f, error.diagnostics(), sources)
            }
            Kind::Other(error) => error.fmt(f),
        }
    }
}

/// Findings, with the lines of their sources where there are some.
fn shown(f: &mut fmt::Formatter<'_>, found: &Diagnostics, sources: &SourceMap) -> fmt::Result {
    if sources.names().next().is_none() {
        return fmt::Display::fmt(found, f);
    }
    f.write_str(render_all(found, sources, false).trim_end())
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            Kind::Found(..) | Kind::Run(..) => None,
            Kind::Other(error) => error.source(),
        }
    }
}

impl From<Diagnostics> for Error {
    fn from(found: Diagnostics) -> Error {
        Error::in_sources(found, &SourceMap::default())
    }
}

impl From<Vec<Diagnostic>> for Error {
    fn from(found: Vec<Diagnostic>) -> Error {
        Diagnostics(found).into()
    }
}

impl From<Diagnostic> for Error {
    fn from(found: Diagnostic) -> Error {
        Diagnostics::from(found).into()
    }
}

impl From<Box<Diagnostic>> for Error {
    fn from(found: Box<Diagnostic>) -> Error {
        (*found).into()
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Error {
        Error::of_run(error, &SourceMap::default())
    }
}

impl From<GraphError> for Error {
    fn from(error: GraphError) -> Error {
        Error(Box::new(Kind::Other(error.into())))
    }
}

impl From<KernelFault> for Error {
    fn from(fault: KernelFault) -> Error {
        Error(Box::new(Kind::Other(fault.message.into())))
    }
}

impl From<AlreadyRegistered> for Error {
    fn from(error: AlreadyRegistered) -> Error {
        Error(Box::new(Kind::Other(error.into())))
    }
}

impl From<ArrayError> for Error {
    fn from(error: ArrayError) -> Error {
        Error(Box::new(Kind::Other(error.into())))
    }
}

impl From<ViewFault> for Error {
    fn from(error: ViewFault) -> Error {
        Error(Box::new(Kind::Other(error.into())))
    }
}
