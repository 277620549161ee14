//! What tests of task-graph sessions share: units from text, and small kernels over `i64`.

use std::collections::BTreeMap;
use wsp_core::DType;
use wsp_core::tg::{Direction, GraphNo};
use wsp_cpu::tg::{Session, SessionOptions, TgCx, TgKernels};
use wsp_cpu::workload::KernelFault;
use wsp_diag::{Diagnostic, SourceMap, render_all};
use wsp_ir::tg::{ArgSignature, KernelSignature, Namespace, TgModule};
use wsp_plan::{Array, Arrays};
use wsp_runtime::tg::RuntimeConfig;

/// The unit of a text.
pub(crate) fn unit(text: &str) -> TgModule {
    let mut sources = SourceMap::default();
    let (module, findings) = wsp_isa::tg::text::parse("test.tg", text, &mut sources);
    module.unwrap_or_else(|| panic!("{}", render_all(&findings, &sources, false)))
}

/// Options with so many threads.
pub(crate) fn threads(threads: u32) -> SessionOptions {
    SessionOptions {
        runtime: RuntimeConfig { threads, ..RuntimeConfig::default() },
        ..SessionOptions::default()
    }
}

/// A session of a text, with the kernels below.
pub(crate) fn session(text: &str, options: SessionOptions) -> Session {
    session_with(text, &kernels(), options)
}

/// Options with zeros for external tensors of declared elements that they do not give: kernels may read them.
pub(crate) fn with_zeros(module: &TgModule, mut options: SessionOptions) -> SessionOptions {
    for tensor in &module.externs {
        let name = module.name(Namespace::Tensor, GraphNo(0), tensor.tensor.0);
        if let Some(dtype) = tensor.dtype.filter(|_| !options.views.contains_key(&name)) {
            let zeros = || Array::zeros(dtype, &tensor.shape).expect("it is small");
            options.inputs.entry(name).or_insert_with(zeros);
        }
    }
    options
}

/// A session of a text; external tensors that are not given begin with zeros.
pub(crate) fn session_with(text: &str, kernels: &TgKernels, options: SessionOptions) -> Session {
    let module = unit(text);
    let options = with_zeros(&module, options);
    Session::new(&module, kernels, options).unwrap_or_else(|faults| panic!("{}", all(&faults)))
}

/// What a text is refused for.
pub(crate) fn refusal(text: &str, options: SessionOptions) -> Vec<Diagnostic> {
    Session::new(&unit(text), &kernels(), options).expect_err("the unit should be refused")
}

/// Everything that diagnostics say.
pub(crate) fn all(faults: &[Diagnostic]) -> String {
    faults.iter().map(|fault| format!("{} {fault:?}\n", fault.code)).collect()
}

/// An array of integers.
pub(crate) fn integers(values: &[i64]) -> Array {
    let mut array = Array::zeros(DType::I64, &[values.len() as u64]).expect("it is small");
    array.as_slice_mut::<i64>().expect("the type is I64").copy_from_slice(values);
    array
}

/// The integers of a tensor.
pub(crate) fn values(session: &Session, name: &str) -> Vec<i64> {
    let array = session.tensor(name).unwrap_or_else(|fault| panic!("{fault:?}"));
    array.bytes().chunks_exact(8).map(|b| i64::from_ne_bytes(b.try_into().expect("8 bytes"))).collect()
}

/// Inputs by name.
pub(crate) fn inputs(given: &[(&str, &[i64])]) -> Arrays {
    given.iter().map(|(name, values)| ((*name).to_owned(), integers(values))).collect::<BTreeMap<_, _>>()
}

/// A signature with these directions.
pub(crate) fn signature(directions: &[Direction]) -> Option<KernelSignature> {
    let args = directions.iter().enumerate().map(|(n, d)| ArgSignature::new(format!("a{n}"), *d)).collect();
    Some(KernelSignature::new("kernel", args))
}

/// The elements of argument `n` that belong to a block.
fn mine(cx: &TgCx<'_>, n: usize) -> Result<std::ops::Range<usize>, KernelFault> {
    let len = cx.len::<i64>(n)?;
    let (block, blocks) = (cx.block() as usize, cx.blocks() as usize);
    Ok(len * block / blocks..len * (block + 1) / blocks)
}

/// Replaces the elements of a block: `f` of the old ones.
pub(crate) fn each(
    cx: &mut TgCx<'_>,
    from: usize,
    to: usize,
    f: impl Fn(i64) -> i64,
) -> Result<(), KernelFault> {
    let range = mine(cx, to)?;
    let mut part = vec![0i64; range.len()];
    cx.load_at(from, range.start, &mut part)?;
    part.iter_mut().for_each(|x| *x = f(*x));
    cx.store(to, range.start, &part)
}

/// Kernels: `one(out)` sets to 1, `inc(inout)` adds 1, `double(in, out)`, `copy(in, out)`, `add(in, in, out)`,
/// `iteration(out)` writes the iteration, `blocks(out)` counts blocks, `below(in, out)` writes whether the first is below 100,
/// `fail(inout)` fails.
pub(crate) fn kernels() -> TgKernels {
    use Direction::{In, InOut, Out};
    let mut kernels = TgKernels::new();
    let mut add = |name: &str, of: &[Direction], body: fn(&mut TgCx<'_>) -> Result<(), KernelFault>| {
        kernels.register(name, signature(of), body).expect("each is registered once");
    };
    add("one", &[Out], |cx| {
        let range = mine(cx, 0)?;
        cx.store(0, range.start, &vec![1i64; range.len()])
    });
    add("inc", &[InOut], |cx| each(cx, 0, 0, |x| x + 1));
    add("double", &[In, Out], |cx| each(cx, 0, 1, |x| 2 * x));
    add("copy", &[In, Out], |cx| each(cx, 0, 1, |x| x));
    add("add", &[In, In, Out], |cx| {
        let range = mine(cx, 2)?;
        let (mut a, mut b) = (vec![0i64; range.len()], vec![0i64; range.len()]);
        cx.load_at(0, range.start, &mut a)?;
        cx.load_at(1, range.start, &mut b)?;
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        cx.store(2, range.start, &a)
    });
    add("iteration", &[Out], |cx| {
        let range = mine(cx, 0)?;
        cx.store(0, range.start, &vec![cx.iteration(); range.len()])
    });
    add("blocks", &[Out], |cx| cx.store(0, cx.block() as usize, &[i64::from(cx.block()) + 1]));
    add("below", &[In, Out], |cx| {
        let first = cx.load::<i64>(0)?[0];
        cx.store(1, 0, &[i64::from(first < 100)])
    });
    add("fail", &[InOut], |cx| Err(format!("as it should, in block {}", cx.block()).into()));
    kernels
}
