//! Bodies of declared kernels: functions registered by name.

use super::codes;
use super::kernel_cx::{KernelCx, KernelFault};
use super::typed::TypedKernel;
use super::view_kernel::ViewKernel;
use std::fmt;
use std::sync::Arc;
use wsp_diag::Diagnostic;
use wsp_kernel::{CodeCache, Engine, Mode};
use wsp_ordered::OrderedMap;
use wsp_plan::ViewKernelSource;

type Body = dyn Fn(&mut KernelCx<'_>) -> Result<(), KernelFault> + Send + Sync;

/// What runs a kernel.
#[derive(Clone)]
pub(crate) enum KernelBody {
    Function(Arc<Body>),
    Views(Arc<ViewKernel>),
}

/// Kernel bodies by name.
#[derive(Clone, Default)]
pub struct KernelRegistry {
    bodies: OrderedMap<String, KernelBody>,
    /// Machine code of kernels over views.
    code: CodeCache,
    /// Whether layouts are followed through kernels over views.
    followed: bool,
}

impl fmt::Debug for KernelRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.bodies.keys()).finish()
    }
}

/// A kernel of that name is registered already.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AlreadyRegistered(pub String);

impl fmt::Display for AlreadyRegistered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}` is registered already; `replace` exchanges its body", self.0)
    }
}

impl std::error::Error for AlreadyRegistered {}

impl KernelRegistry {
    /// No kernels.
    pub fn new() -> KernelRegistry {
        KernelRegistry::default()
    }

    /// No kernels; machine code of kernels over views will be kept there.
    pub fn with_code(code: CodeCache) -> KernelRegistry {
        KernelRegistry { code, ..KernelRegistry::default() }
    }

    /// From here on, kernels over views keep what they are compiled from: a run whose schedule has layouts follows these through them, and
    /// refuses what no tile has. Through other kernels it does not follow them, and says so.
    pub fn follow_layouts(&mut self) {
        self.followed = true;
    }

    /// Gives a kernel its body.
    ///
    /// # Errors
    /// When the name has one.
    pub fn register(
        &mut self,
        name: impl Into<String>,
        body: impl Fn(&mut KernelCx<'_>) -> Result<(), KernelFault> + Send + Sync + 'static,
    ) -> Result<(), AlreadyRegistered> {
        let name = name.into();
        if self.bodies.contains_key(&name) {
            return Err(AlreadyRegistered(name));
        }
        self.bodies.insert(name, KernelBody::Function(Arc::new(body)));
        Ok(())
    }

    /// Gives a kernel its body: a closure over the kernel's parameters, whose slices are the elements of its tasks where they lie.
    ///
    /// ```
    /// # use wsp_cpu::workload::{KernelRegistry, RowsMut};
    /// let mut kernels = KernelRegistry::new();
    /// // kernel sum(in x, out s);
    /// kernels.register_typed("sum", |x: &[f32], s: &mut [f32]| s[0] = x.iter().sum())?;
    /// // kernel fill(out y, value: i64);
    /// kernels.register_typed("fill", |mut y: RowsMut<i32>, value: i64| {
    ///     for row in 0..y.count() {
    ///         y.row_mut(row).fill(value as i32);
    ///     }
    /// })?;
    /// # Ok::<(), wsp_cpu::workload::AlreadyRegistered>(())
    /// ```
    ///
    /// A run that looks for elements that tasks leave unwritten may call it twice for a task, as it does for bodies that are given a
    /// [`view`](KernelCx::view). A task whose parameters do not fit fails, and says which does not.
    ///
    /// # Errors
    /// When the name has a body.
    pub fn register_typed<Params>(
        &mut self,
        name: impl Into<String>,
        body: impl TypedKernel<Params>,
    ) -> Result<(), AlreadyRegistered> {
        self.register(name, move |cx| body.run(cx))
    }

    /// Gives a kernel its body, in place of the one it may have.
    pub fn replace(
        &mut self,
        name: impl Into<String>,
        body: impl Fn(&mut KernelCx<'_>) -> Result<(), KernelFault> + Send + Sync + 'static,
    ) {
        self.bodies.insert(name.into(), KernelBody::Function(Arc::new(body)));
    }

    /// Gives a kernel its body: a function over views of its tasks' regions, compiled once. `mode` picks the implementation of
    /// tile operations for every run, so that results do not depend on how tasks are run; `engine` runs its scalar code.
    ///
    /// # Errors
    /// When the name has a body, the module breaks a rule of [`wsp_ir::verify()`], does not fit its description, or cannot be
    /// compiled. Whether it fits the kernel that a workload declares, [`WorkloadProgram::with_kernels`] says.
    ///
    /// [`WorkloadProgram::with_kernels`]: super::WorkloadProgram::with_kernels
    pub fn register_view_kernel(
        &mut self,
        name: impl Into<String>,
        source: ViewKernelSource,
        mode: Mode,
        engine: Engine,
    ) -> Result<(), Vec<Diagnostic>> {
        let name = name.into();
        if self.bodies.contains_key(&name) {
            let message = AlreadyRegistered(name).to_string();
            return Err(vec![Diagnostic::error(codes::VIEW_KERNEL, message)]);
        }
        let kernel = ViewKernel::new(&name, source, (mode, engine), (&self.code, self.followed))?;
        self.bodies.insert(name, KernelBody::Views(Arc::new(kernel)));
        Ok(())
    }

    /// Whether a kernel has a body.
    pub fn has(&self, name: &str) -> bool {
        self.bodies.contains_key(name)
    }

    /// Registered names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.bodies.keys().map(String::as_str)
    }

    /// The kernel over views with this name.
    pub(crate) fn view_kernel(&self, name: &str) -> Option<&ViewKernel> {
        match self.bodies.get(name)? {
            KernelBody::Views(kernel) => Some(kernel),
            KernelBody::Function(_) => None,
        }
    }

    /// Whether layouts are followed through any kernel.
    pub(crate) fn has_followed(&self) -> bool {
        self.followed && self.bodies.values().any(|body| matches!(body, KernelBody::Views(_)))
    }

    pub(crate) fn body(&self, name: &str) -> Option<KernelBody> {
        self.bodies.get(name).cloned()
    }
}

/// Functions as bodies of kernels, each under its own name; behind `extern` those of [`CKernel`](super::CKernel)'s type.
///
/// It is no attribute: an attribute needs a crate of its own that runs when its user is compiled, and would name the function twice as well, where
/// it is defined and where the program gets it.
///
/// ```
/// fn sum(x: &[f32], s: &mut [f32]) {
///     s[0] = x.iter().sum();
/// }
///
/// extern "C" fn nothing(_: &wsp_cpu::workload::CTask) -> i32 {
///     0
/// }
///
/// // kernel sum(in x, out s); kernel nothing(inout x);
/// let kernels = wsp_cpu::kernels![sum; extern nothing]?;
/// assert!(kernels.has("sum") && kernels.has("nothing"));
/// # Ok::<(), wsp_cpu::workload::AlreadyRegistered>(())
/// ```
///
/// # Errors
/// A name that stands in it twice ([`AlreadyRegistered`]).
#[macro_export]
macro_rules! kernels {
    ($($name:ident),* $(,)? $(; extern $($of_c:ident),+ $(,)?)?) => {{
        let mut kernels = $crate::workload::KernelRegistry::new();
        let first = Ok::<(), $crate::workload::AlreadyRegistered>(());
        first
            $(.and_then(|()| kernels.register_typed(stringify!($name), $name)))*
            $($(.and_then(|()| kernels.register_c(stringify!($of_c), $of_c)))+)?
            .map(|()| kernels)
    }};
}
