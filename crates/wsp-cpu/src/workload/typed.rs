//! Bodies of declared kernels over typed slices: a closure whose parameters are the kernel's, `|x: &[f32], s: &mut [f32]| …`.
//!
//! Slices are the elements of the task's regions where they lie: nothing is copied.

use super::kernel_cx::{KernelCx, KernelFault};
use super::memory::Elements;
use std::fmt;
use std::marker::PhantomData;
use wsp_core::words::counted;
use wsp_plan::Element;

/// The elements that a task reads, row by row: a row is a line along the last dimension, and the rows of all other dimensions
/// follow each other in row-major order.
pub struct Rows<'t, T> {
    elements: Elements,
    of: PhantomData<&'t [T]>,
}

/// [`Rows`] that a task may write.
pub struct RowsMut<'t, T> {
    elements: Elements,
    of: PhantomData<&'t mut [T]>,
}

impl<'t, T: Element> Rows<'t, T> {
    /// Rows.
    pub fn count(&self) -> usize {
        self.elements.rows()
    }

    /// Elements of each row.
    pub fn width(&self) -> usize {
        self.elements.width()
    }

    /// Extents, outermost dimension first.
    pub fn shape(&self) -> &[u64] {
        self.elements.shape()
    }

    /// A row.
    ///
    /// # Panics
    /// There are not so many.
    pub fn row(&self, row: usize) -> &'t [T] {
        self.elements.row(row)
    }

    /// All rows, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = &'t [T]> + '_ {
        (0..self.count()).map(|row| self.row(row))
    }
}

impl<T: Element> RowsMut<'_, T> {
    /// Rows.
    pub fn count(&self) -> usize {
        self.elements.rows()
    }

    /// Elements of each row.
    pub fn width(&self) -> usize {
        self.elements.width()
    }

    /// Extents, outermost dimension first.
    pub fn shape(&self) -> &[u64] {
        self.elements.shape()
    }

    /// A row.
    ///
    /// # Panics
    /// There are not so many.
    pub fn row(&self, row: usize) -> &[T] {
        self.elements.row(row)
    }

    /// A row, to be written.
    ///
    /// # Panics
    /// There are not so many.
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        self.elements.row_mut(row)
    }
}

impl<T> fmt::Debug for Rows<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rows of {:?}", self.elements.shape())
    }
}

impl<T> fmt::Debug for RowsMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rows of {:?}", self.elements.shape())
    }
}

/// The next parameters of a task. Only a body's run has it: who could ask for a parameter twice would have two slices of its elements.
#[doc(hidden)]
#[derive(Debug)]
pub struct Next {
    tensors: usize,
    scalars: usize,
}

impl Next {
    fn tensor(&mut self) -> usize {
        self.tensors += 1;
        self.tensors - 1
    }
}

/// A parameter of a kernel's closure: `&[T]` and [`Rows`] are elements of an `in` parameter, `&mut [T]` and [`RowsMut`] those of an `out`
/// or `inout` parameter, `i64` is a scalar. Tensor parameters come in declared order, and so do scalars.
pub trait KernelParam {
    /// The parameter of a task.
    type Of<'t>;

    /// Whether it is a tensor that the closure writes; none for a scalar.
    #[doc(hidden)]
    const WRITES: Option<bool>;

    /// The parameter of this task.
    #[doc(hidden)]
    fn of<'t>(cx: &'t KernelCx<'_>, next: &mut Next) -> Result<Self::Of<'t>, KernelFault>;
}

impl<T: Element + 'static> KernelParam for Rows<'_, T> {
    type Of<'t> = Rows<'t, T>;
    const WRITES: Option<bool> = Some(false);

    fn of<'t>(cx: &'t KernelCx<'_>, next: &mut Next) -> Result<Rows<'t, T>, KernelFault> {
        Ok(Rows { elements: cx.elements::<T>(next.tensor(), false)?, of: PhantomData })
    }
}

impl<T: Element + 'static> KernelParam for RowsMut<'_, T> {
    type Of<'t> = RowsMut<'t, T>;
    const WRITES: Option<bool> = Some(true);

    fn of<'t>(cx: &'t KernelCx<'_>, next: &mut Next) -> Result<RowsMut<'t, T>, KernelFault> {
        Ok(RowsMut { elements: cx.elements::<T>(next.tensor(), true)?, of: PhantomData })
    }
}

impl<T: Element + 'static> KernelParam for &[T] {
    type Of<'t> = &'t [T];
    const WRITES: Option<bool> = Some(false);

    fn of<'t>(cx: &'t KernelCx<'_>, next: &mut Next) -> Result<&'t [T], KernelFault> {
        let n = next.tensor();
        cx.elements::<T>(n, false)?.slice().ok_or_else(|| gaps(n, "Rows"))
    }
}

impl<T: Element + 'static> KernelParam for &mut [T] {
    type Of<'t> = &'t mut [T];
    const WRITES: Option<bool> = Some(true);

    fn of<'t>(cx: &'t KernelCx<'_>, next: &mut Next) -> Result<&'t mut [T], KernelFault> {
        let n = next.tensor();
        cx.elements::<T>(n, true)?.slice_mut().ok_or_else(|| gaps(n, "RowsMut"))
    }
}

impl KernelParam for i64 {
    type Of<'t> = i64;
    const WRITES: Option<bool> = None;

    fn of(cx: &KernelCx<'_>, next: &mut Next) -> Result<i64, KernelFault> {
        next.scalars += 1;
        Ok(cx.scalars()[next.scalars - 1])
    }
}

/// The elements of a region do not follow each other.
fn gaps(n: usize, rows: &str) -> KernelFault {
    format!(
        "the region of parameter {n} is no single slice: its rows lie apart; take `{rows}` in place of a slice"
    )
    .into()
}

/// What a kernel's closure gives: nothing, or why its task failed.
pub trait KernelResult {
    /// Why the task failed, if it did.
    ///
    /// # Errors
    /// It did.
    fn ran(self) -> Result<(), KernelFault>;
}

impl KernelResult for () {
    fn ran(self) -> Result<(), KernelFault> {
        Ok(())
    }
}

impl<E: Into<KernelFault>> KernelResult for Result<(), E> {
    fn ran(self) -> Result<(), KernelFault> {
        self.map_err(Into::into)
    }
}

/// A closure over the parameters of a kernel, at most six, each a [`KernelParam`].
pub trait TypedKernel<Params>: Send + Sync + 'static {
    /// Runs a task.
    ///
    /// # Errors
    /// The parameters are not those of the task's kernel, or the closure fails.
    fn run(&self, cx: &KernelCx<'_>) -> Result<(), KernelFault>;
}

macro_rules! closures {
    ($($param:ident)*) => {
        impl<F, R, $($param: KernelParam),*> TypedKernel<(R, $($param,)*)> for F
        where
            F: Fn($($param),*) -> R + for<'t> Fn($($param::Of<'t>),*) -> R + Send + Sync + 'static,
            R: KernelResult,
        {
            #[allow(non_snake_case, reason = "a parameter is called as its type")]
            fn run(&self, cx: &KernelCx<'_>) -> Result<(), KernelFault> {
                fn call<R: KernelResult, $($param),*>(f: impl Fn($($param),*) -> R, $($param: $param),*) -> R {
                    f($($param),*)
                }
                let writes: &[Option<bool>] = &[$($param::WRITES),*];
                cx.fits(writes)?;
                #[allow(unused_mut, unused_variables, reason = "a closure may have no parameters")]
                let mut next = Next { tensors: 0, scalars: 0 };
                $(let $param = $param::of(cx, &mut next)?;)*
                call(self, $($param),*).ran()
            }
        }
    };
}

closures!();
closures!(A);
closures!(A B);
closures!(A B C);
closures!(A B C D);
closures!(A B C D E);
closures!(A B C D E G);

impl KernelCx<'_> {
    /// Whether the parameters of a closure are those of the task: as many tensors and scalars, and no tensor that it writes shares elements
    /// with another.
    fn fits(&self, writes: &[Option<bool>]) -> Result<(), KernelFault> {
        let tensors: Vec<bool> = writes.iter().flatten().copied().collect();
        let (has, scalars) = (self.regions().len(), self.scalars().len());
        let takes = (tensors.len(), writes.len() - tensors.len());
        if takes != (has, scalars) {
            return Err(format!(
                "the function takes {} and {}, and kernel `{}` has {} and {}",
                counted(takes.0, "tensor"),
                counted(takes.1, "scalar"),
                self.kernel(),
                counted(has, "tensor"),
                counted(scalars, "scalar"),
            )
            .into());
        }
        for (n, region) in self.regions().iter().enumerate().filter(|(n, _)| tensors[*n]) {
            let others = self.regions().iter().enumerate().filter(|(other, _)| *other != n);
            if let Some((other, _)) = others.into_iter().find(|(_, other)| other.overlaps(region)) {
                return Err(format!(
                    "parameters {n} and {other} of the task share elements, and the function writes {n}: register a \
                     function that loads and stores copies"
                )
                .into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::KernelRegistry;
    use super::*;
    use crate::CpuSimBackend;
    use wsp_backend::{Absent, Args, Backend as _, RunError, RunOptions, WorkloadRunOptions};
    use wsp_diag::SourceMap;
    use wsp_ir::workload::text::parse;
    use wsp_plan::{Array, Arrays};

    /// Runs a workload whose kernels have typed bodies, of one array `x` of 4 rows of 6 elements.
    fn run(text: &str, register: impl FnOnce(&mut KernelRegistry)) -> Result<Arrays, RunError> {
        let (module, found) = parse("test.wsp", text, &mut SourceMap::default());
        let module = module.unwrap_or_else(|| panic!("{found:?}"));
        let mut kernels = KernelRegistry::new();
        register(&mut kernels);
        let backend = CpuSimBackend { kernels, ..CpuSimBackend::default() };
        let program = backend.compile_workload(module, None).expect("it is right");
        let elements: Vec<f32> = (0u8..24).map(f32::from).collect();
        let x = Array::of(&[4, 6], &elements).expect("it is small");
        let workload = WorkloadRunOptions { absent: Absent::Zeros, ..WorkloadRunOptions::default() };
        Ok(program
            .execute(Args::new().with("x", x), RunOptions { workload, ..RunOptions::default() })?
            .outputs)
    }

    fn fault(text: &str, register: impl FnOnce(&mut KernelRegistry)) -> String {
        run(text, register).expect_err("it does not fit").to_string()
    }

    #[test]
    fn closures_read_and_write_regions_where_they_lie() {
        let text = "
            tensor x: f32[4, 6]; tensor y: f32[4, 6]; tensor s: f32[4];
            kernel double(in x, inout y, n); kernel sum(in x, out s);
            workload main {
                parallel for i in 0..2 { double(x[i * 2..i * 2 + 2, 1..4], y[i * 2..i * 2 + 2, 1..4], i + 2); }
                parallel for i in 0..4 { sum(y[i], s[i]); }
            }";
        let outputs = run(text, |kernels| {
            let double = |x: Rows<f32>, mut y: RowsMut<f32>, n: i64| {
                assert_eq!((x.shape(), x.count(), y.width()), (&[2, 3][..], 2, 3));
                for (row, from) in x.iter().enumerate() {
                    y.row_mut(row).iter_mut().zip(from).for_each(|(to, from)| *to += from * n as f32);
                }
            };
            kernels.register_typed("double", double).expect("it is the first");
            let sum = |x: &[f32], s: &mut [f32]| s[0] = x.iter().sum();
            kernels.register_typed("sum", sum).expect("it is the first");
        });
        let outputs = outputs.expect("it fits");
        assert_eq!(outputs["s"].as_slice::<f32>(), Some(&[12.0, 48.0, 126.0, 180.0][..]));
        assert_eq!(
            outputs["y"].as_slice::<f32>().expect("it is f32")[12..18],
            [0.0, 39.0, 42.0, 45.0, 0.0, 0.0]
        );
    }

    #[test]
    fn a_closure_that_does_not_fit_fails_its_task_and_says_why() {
        let text = "tensor x: f32[4, 6]; tensor y: f32[4, 6]; kernel k(in x, out y, n);
            workload main { k(x[0..2, 1..3], y[0..2, 1..3], 7); }";
        let of = |register: fn(&mut KernelRegistry)| fault(text, register);
        let slices = of(|k| k.register_typed("k", |_: &[f32], _: &mut [f32], _: i64| ()).expect("new"));
        assert!(slices.contains("parameter 0 is no single slice") && slices.contains("`Rows`"), "{slices}");
        let count = of(|k| k.register_typed("k", |_: &[f32], _: i64, _: i64| ()).expect("new"));
        assert!(
            count.contains("takes 1 tensor and 2 scalars, and kernel `k` has 2 tensors and 1 scalar"),
            "{count}"
        );
        let dtype = of(|k| k.register_typed("k", |_: Rows<i32>, _: RowsMut<f32>, _: i64| ()).expect("new"));
        assert!(dtype.contains("parameter 0 has elements of type F32, not I32"), "{dtype}");
        let mode = of(|k| k.register_typed("k", |_: RowsMut<f32>, _: RowsMut<f32>, _: i64| ()).expect("new"));
        assert!(mode.contains("parameter 0, which is declared `in`"), "{mode}");
        let read = of(|k| k.register_typed("k", |_: Rows<f32>, _: Rows<f32>, _: i64| ()).expect("new"));
        assert!(read.contains("parameter 1, which is declared `out`"), "{read}");
        let own = of(|k| {
            k.register_typed("k", |_: Rows<f32>, _: RowsMut<f32>, n: i64| Err::<(), _>(format!("not {n}")))
                .expect("new")
        });
        assert!(own.contains("not 7"), "{own}");
    }

    #[test]
    fn regions_that_share_elements_are_no_slices() {
        let text = "tensor x: f32[4, 6]; tensor y: f32[8]; kernel k(in x, inout y, in z);
            workload main { k(x[0], y[0..4], y[3..8]); }";
        let shared = fault(text, |k| {
            k.register_typed("k", |_: &[f32], _: &mut [f32], _: &[f32]| ()).expect("new");
        });
        assert!(shared.contains("parameters 1 and 2 of the task share elements"), "{shared}");
    }
}
