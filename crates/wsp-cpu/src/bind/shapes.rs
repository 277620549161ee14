//! Shapes of tensors, and whether the arrays have them.

use super::params::are_known;
use super::{Inputs, faults, integers};
use crate::codes;
use crate::metadata::ArrayFact;
use wsp_core::words::counted;
use wsp_core::{AxisId, CacheId, DType, TensorId};
use wsp_diag::Diagnostic;
use wsp_ir::{Dim, Elem, Expr, ExprKind, Module, Storage, Tensor};
use wsp_kernel::{IntArray, Value, eval_launch_expr};

/// One dimension of a bound tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BoundDim {
    /// This many indices.
    Fixed(u32),
    /// The requests' lengths.
    Lengths(CacheId),
    /// The iterations of an axis, known after the sizing run.
    Axis(AxisId),
}

/// A tensor whose shape and element type are known.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct BoundTensor {
    /// Element type.
    pub(crate) dtype: DType,
    /// Dimensions; of a workspace tensor those of one slot.
    pub(crate) dims: Vec<BoundDim>,
    /// Name of the array, for a launch tensor.
    pub(crate) array: Option<String>,
}

type Tensors = (Vec<BoundTensor>, Vec<Option<IntArray>>);

/// Shapes of all tensors and contents of the integer ones.
pub(super) fn bind(inputs: &Inputs<'_>, values: &[Option<Value>]) -> Result<Tensors, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let mut tensors = Vec::new();
    let mut contents: Vec<Option<IntArray>> = vec![None; inputs.module.tensors.len()];
    for (i, content) in contents.iter_mut().enumerate() {
        let id = TensorId(i as u32);
        let bound = match tensor(inputs, id, values) {
            Ok(bound) => bound,
            Err(mut more) => {
                faults.append(&mut more);
                continue;
            }
        };
        if let Some((name, Some(array))) = inputs.of_tensor[i]
            && array.shape().len() == 1
            && !bound.dtype.is_float()
        {
            match integers::to_declared(name, array, bound.dtype) {
                Ok(values) => *content = Some(values),
                Err(fault) => faults.push(fault),
            }
        }
        tensors.push(bound);
    }
    faults.extend(lengths_agree(inputs, &contents));
    if faults.is_empty() { Ok((tensors, contents)) } else { Err(faults) }
}

fn tensor(
    inputs: &Inputs<'_>,
    id: TensorId,
    values: &[Option<Value>],
) -> Result<BoundTensor, Vec<Diagnostic>> {
    let tensor = &inputs.module.tensors[id.index()];
    let bound = inputs.of_tensor[id.index()];
    let array = bound.and_then(|(_, array)| array);
    let name = bound.map(|(name, _)| name);
    let dtype = element(inputs, id, name, array).map_err(|f| vec![f])?;
    let mut faults = Vec::new();
    if let (Some(name), Some(array)) = (name, array)
        && array.shape().len() != tensor.dims.len()
    {
        return Err(vec![wsp_backend::wrong_rank(inputs.module, id, name, array.shape())]);
    }
    let mut dims = Vec::new();
    for (d, dim) in tensor.dims.iter().enumerate() {
        match dim {
            // No kernel that runs uses the tensor.
            Dim::Expr(expr) if !are_known(expr, values) => {
                let extent = array.and_then(|array| u32::try_from(array.shape()[d]).ok());
                dims.push(BoundDim::Fixed(extent.unwrap_or(0)));
            }
            Dim::Expr(expr) => match dimension(inputs.module, expr, values) {
                Ok(extent) => {
                    if let (Some(name), Some(array)) = (name, array)
                        && array.shape()[d] != u64::from(extent)
                    {
                        let need = needed(inputs.module, expr, extent);
                        let own = (name, array.shape());
                        faults.push(wsp_backend::wrong_extent(inputs.module, id, own, d, &need));
                    }
                    // Keys and values have one shape: one finding is enough.
                    if let Storage::CacheKeys(cache) = tensor.storage {
                        faults.extend(wrong_cache(inputs, id, cache, d, expr, extent));
                    }
                    dims.push(BoundDim::Fixed(extent));
                }
                Err(fault) => faults.push(fault),
            },
            Dim::Axis(axis) => dims.push(BoundDim::Axis(*axis)),
            Dim::Dynamic => match tensor.storage {
                Storage::CacheKeys(cache) | Storage::CacheValues(cache) => {
                    dims.push(BoundDim::Lengths(cache))
                }
                _ => faults.push(
                    Diagnostic::error(
                        codes::EXTENT_UNKNOWN,
                        format!("`{}` has a dynamic dimension, but is no cache", tensor.name),
                    )
                    .at(tensor.span, "declared here"),
                ),
            },
        }
    }
    if faults.is_empty() {
        Ok(BoundTensor { dtype, dims, array: name.map(str::to_owned) })
    } else {
        Err(faults)
    }
}

fn dimension(module: &Module, expr: &Expr, values: &[Option<Value>]) -> Result<u32, Diagnostic> {
    let value = eval_launch_expr(module, expr, values).map_err(Diagnostic::from)?;
    value.as_u32().ok_or_else(|| {
        Diagnostic::error(codes::TOO_LARGE, format!("an extent is {value}"))
            .at(expr.span, "this extent")
            .note(format!("extents must lie in 0..={}", u32::MAX))
    })
}

/// A cache whose pages or page table do not have the declared extent along a dimension.
fn wrong_cache(
    inputs: &Inputs<'_>,
    id: TensorId,
    cache: CacheId,
    dim: usize,
    expr: &Expr,
    need: u32,
) -> Option<Diagnostic> {
    let bound = inputs.caches[cache.index()].as_ref()?;
    let name = &bound.name;
    let have = match dim {
        0 => bound.lengths.len() as u64,
        2 => u64::from(bound.heads),
        _ => u64::from(bound.lanes),
    };
    if have == u64::from(need) {
        return None;
    }
    let what = needed(inputs.module, expr, need);
    let message = match dim {
        0 => format!(
            "`{name}.indptr` is for {have}, but there must be {what}",
            have = counted(have, "request")
        ),
        2 => format!(
            "the pages of cache `{name}` have {have}, but must have {what}",
            have = counted(have, "head")
        ),
        _ => format!(
            "the heads of cache `{name}` have {have}, but must have {what}",
            have = counted(have, "element")
        ),
    };
    let shape = inputs.arrays.get(&format!("{name}.k")).map_or(&[][..], ArrayFact::shape);
    let mut fault = Diagnostic::error(codes::WRONG_EXTENT, message)
        .at(inputs.module.tensors[id.index()].span, "declared here");
    fault = match dim {
        0 => {
            fault.note(format!("`{name}.indptr` has {}, one more than requests", counted(have + 1, "entry")))
        }
        _ => fault.note(format!("`{name}.k` is {shape:?}, with pages taken as {}", bound.layout.axes())),
    };
    if dim == 2 && bound.page_size == need {
        let (how, other) = ("if heads and tokens stand the other way round, say so", bound.layout.other());
        fault = fault
            .help(format!("{how}: `--set kv_layout={other}`"))
            .python(format!("{how}: `load(path).program(kv_layout=\"{other}\")`"));
    }
    Some(fault)
}

/// An extent that something must have, as text: with its name when it has one.
fn needed(module: &Module, expr: &Expr, need: u32) -> String {
    match expr.kind {
        ExprKind::Param(p) => format!("`{}` = {need}", module.params[p.index()].name),
        _ => need.to_string(),
    }
}

/// The element type of a tensor: the source's, the array's, or `f32` for an output that says nothing.
fn element(
    inputs: &Inputs<'_>,
    id: TensorId,
    name: Option<&str>,
    array: Option<&ArrayFact<'_>>,
) -> Result<DType, Diagnostic> {
    let tensor = &inputs.module.tensors[id.index()];
    let wrong = |name: &str, found: DType, want: DType| {
        let message = format!("array `{name}` holds {found}, but `{}` is {want}", tensor.name);
        let fault = Diagnostic::error(codes::WRONG_DTYPE, message).at(tensor.span, "declared here");
        fault.help(format!("convert the array to {want}"))
    };
    if let Some((name, found)) = pages(inputs, tensor) {
        return match tensor.elem {
            Elem::Fixed(want) if found != want => Err(wrong(&name, found, want)),
            _ => Ok(found),
        };
    }
    match (tensor.elem, array) {
        (Elem::Fixed(want), Some(array)) => {
            let found = array.dtype();
            if found == want || (!found.is_float() && !want.is_float()) {
                return Ok(want);
            }
            Err(wrong(name.unwrap_or(&tensor.name), found, want))
        }
        (Elem::Fixed(want), None) => Ok(want),
        (Elem::Of(other), _) if other != id => {
            let (name, array) = inputs.of_tensor[other.index()].unzip();
            element(inputs, other, name, array.flatten())
        }
        (Elem::Of(_), Some(array)) if array.dtype() == DType::F32 || array.dtype().is_short_float() => {
            Ok(array.dtype())
        }
        (Elem::Of(_), Some(array)) => {
            let (name, found) = (name.unwrap_or(&tensor.name), array.dtype());
            let fault = faults::wrong_float(name, found);
            Err(match &inputs.module.entry {
                Some(_) if found == DType::F64 => {
                    fault.help(format!("or declare it as `Tensor<double> {name}` in the host entry"))
                }
                _ => fault,
            })
        }
        (Elem::Of(_), None) => Ok(DType::F32),
    }
}

/// The array of pages of a tensor of a cache, and its element type. Values that no kernel uses need no array.
fn pages(inputs: &Inputs<'_>, tensor: &Tensor) -> Option<(String, DType)> {
    let (cache, field) = match tensor.storage {
        Storage::CacheKeys(cache) => (cache, "k"),
        Storage::CacheValues(cache) => (cache, "v"),
        Storage::Launch | Storage::Workspace | Storage::Temporary => return None,
    };
    let of = &inputs.caches[cache.index()].as_ref()?.name;
    [field, "k"].iter().find_map(|field| {
        let name = format!("{of}.{field}");
        let found = inputs.arrays.get(&name)?.dtype();
        Some((name, found))
    })
}

/// Arrays bound as `kv_lens` hold the lengths of the cache beside them and must agree with its page table.
fn lengths_agree(inputs: &Inputs<'_>, contents: &[Option<IntArray>]) -> Option<Diagnostic> {
    let cache = inputs.caches.iter().flatten().next()?;
    let id = inputs.module.tensor_named("kv_lens")?;
    let Some(IntArray::U32(lens)) = &contents[id.index()] else { return None };
    let name = inputs.of_tensor[id.index()].map_or("kv_lens", |(name, _)| name);
    let request = lens.iter().zip(cache.lengths.iter()).position(|(a, b)| a != b)?;
    Some(
        Diagnostic::error(
            codes::LENGTHS_DISAGREE,
            format!(
                "`{name}[{request}]` is {}, but the pages of request {request} hold {}",
                lens[request],
                counted(cache.lengths[request], "token")
            ),
        )
        .note(format!(
            "it has {} of {}, {} in the last one",
            counted(cache.indptr[request + 1] - cache.indptr[request], "page"),
            counted(cache.page_size, "token"),
            cache.last_page_len[request]
        )),
    )
}
