//! Decode attention data that fit a program where the user says nothing.

use super::data::Values;
use super::names::{Names, decode_reference};
use super::pairs::Pairs;
use super::spec::Spec;
use crate::reference::{MLA_DECODE, role};
use wsp_backend::KvLayout;
use wsp_core::{DType, ParamId};
use wsp_ir::{BindingSource, Dim, Expr, ExprKind, Module, ParamSource};
use wsp_kernel::{Value, eval_launch_expr};
use wsp_ordered::{OrderedMap, OrderedSet};
use wsp_plan::{Array, Arrays, ParamValue};

/// Queries per request where a shape leaves them open.
const OPEN_ROWS: u32 = 4;
/// Most queries per request where they are packed.
const PACKED_ROWS: u32 = 80;
/// Tokens of a prefix with a cache of its own.
const PREFIX: u32 = 1024;
/// Query heads per KV head where a shape says of KV heads only.
const GROUP: u32 = 8;
/// Lanes of a latent key where no shape says: 512 of the vector and 64 that are rotated (DeepSeek-V2).
const LATENT_LANES: u32 = 576;

impl Spec {
    /// What is made up for a program: the default with the constants of its shapes, and what its reference asks for. `set` are
    /// the parameters that the user sets.
    pub fn fit(module: &Module, set: &[(String, ParamValue)]) -> Spec {
        let mut spec = Spec::default();
        let Some(reference) = decode_reference(module) else { return spec };
        let params = known_params(module, set);
        let has = |what: &str| role(reference, what).is_ok();
        let q = role(reference, "q").ok().and_then(|name| extents(module, &params, name));
        let kv = role(reference, "kv").ok().and_then(|name| extents(module, &params, name));
        if reference.name == MLA_DECODE {
            spec.values = Values::OfKeys;
            spec.dim = LATENT_LANES;
            (spec.q_heads, spec.kv_heads) = (2 * GROUP, 1);
        }
        if let Some(&[_, heads, rows, dim]) = q.as_deref() {
            spec.rows = rows.unwrap_or(OPEN_ROWS);
            spec.dim = dim.unwrap_or(spec.dim);
            spec.q_heads = heads.unwrap_or(spec.q_heads);
        }
        if let Some(&[_, heads, dim]) = q.as_deref() {
            // Packed queries.
            spec.rows = PACKED_ROWS;
            spec.dim = dim.unwrap_or(spec.dim);
            spec.q_heads = heads.unwrap_or(spec.q_heads);
        }
        if let Some(&[_, _, heads, dim]) = kv.as_deref() {
            spec.dim = dim.unwrap_or(spec.dim);
            spec.kv_heads = heads.unwrap_or(spec.kv_heads);
        }
        if spec.kv_heads == 0 || !spec.q_heads.is_multiple_of(spec.kv_heads) {
            spec.q_heads = spec.kv_heads.saturating_mul(GROUP);
        }
        if has("k_scale") || has("v_scale") {
            spec.kv_dtype = Some(DType::F8E4m3);
        }
        spec.prefix = match role(reference, "shared") {
            Ok(name) => module.param_named(name).and_then(|id| params[id.index()]?.as_u32()).unwrap_or(0),
            Err(_) if has("prefix") => PREFIX,
            Err(_) => 0,
        };
        spec
    }

    /// The extents that the arrays of decode attention give the parameters of a program's shapes.
    pub fn extents(&self, module: &Module, names: &Names, arrays: &Arrays) -> OrderedMap<ParamId, u32> {
        let queries = arrays.get(&names.q).map_or(&[][..], Array::shape);
        let queries: Vec<Option<u32>> = queries.iter().map(|&n| u32::try_from(n).ok()).collect();
        let cache = [None, None, Some(self.kv_heads), Some(self.dim)];
        let mut extents = OrderedMap::new();
        for (name, have) in [(&names.q, &queries[..]), (&names.kv, &cache[..])] {
            let dims = dims(module, name).unwrap_or_default();
            for (dim, extent) in dims.iter().zip(have) {
                if let (Dim::Expr(expr), Some(extent)) = (dim, extent)
                    && let ExprKind::Param(id) = expr.kind
                    && matches!(module.params[id.index()].source, ParamSource::Shape { .. })
                {
                    extents.insert(id, *extent);
                }
            }
        }
        extents
    }
}

/// The extents that arrays give the parameters of a program's shapes; the pages of a cache are in this layout.
pub fn extents_of(module: &Module, arrays: &Arrays, layout: KvLayout) -> OrderedMap<ParamId, u32> {
    let mut extents = OrderedMap::new();
    for (name, array) in arrays {
        let (dims, has) = match name.split_once('.') {
            Some((cache, field)) => {
                (cache_dims(module, cache, field), cache_extents(field, array.shape(), layout))
            }
            None => (dims(module, name), array.shape().iter().map(|&n| Some(n)).collect()),
        };
        for (dim, extent) in dims.unwrap_or_default().iter().zip(has) {
            if let (Dim::Expr(expr), Some(extent)) = (dim, extent.and_then(|n| u32::try_from(n).ok()))
                && let ExprKind::Param(id) = expr.kind
                && matches!(module.params[id.index()].source, ParamSource::Shape { .. })
            {
                extents.insert(id, extent);
            }
        }
    }
    extents
}

/// Extents of the shape of an array that is to be made up that nothing says, though those of a given array are computed from them: the array,
/// the extent, and the array that is given.
pub fn unsolved<'a>(
    module: &'a Module,
    name: &'a str,
    arrays: &'a Arrays,
    known: &OrderedMap<ParamId, u32>,
    pairs: &Pairs,
) -> Vec<(&'a str, &'a str, &'a str)> {
    let extents = |name: &str| {
        let mut found = OrderedSet::new();
        let dims = name
            .split_once('.')
            .map_or_else(|| dims(module, name), |(cache, field)| cache_dims(module, cache, field));
        for dim in dims.unwrap_or_default() {
            if let Dim::Expr(expr) = dim {
                mentioned(module, expr, &mut found);
            }
        }
        found
    };
    let mine = extents(name);
    let is_open = |id: &ParamId| {
        let said = pairs.iter().any(|(key, _)| key == module.params[id.index()].name);
        mine.contains(id) && !known.contains_key(id) && !said
    };
    let open =
        arrays.keys().flat_map(|given| extents(given).into_iter().filter(is_open).map(move |id| (id, given)));
    let first: OrderedMap<ParamId, &String> = open.collect();
    first
        .into_iter()
        .map(|(id, given)| (name, module.params[id.index()].name.as_str(), given.as_str()))
        .collect()
}

/// The extents of shapes that an expression mentions, by itself or in what its parameters are computed from.
fn mentioned(module: &Module, expr: &Expr, found: &mut OrderedSet<ParamId>) {
    let mut params = Vec::new();
    expr.any(&mut |e| {
        if let ExprKind::Param(id) = e.kind {
            params.push(id);
        }
        false
    });
    for id in params {
        match &module.params[id.index()].source {
            ParamSource::Shape { .. } => drop(found.insert(id)),
            ParamSource::Derived(from) => mentioned(module, from, found),
            ParamSource::Set { .. } | ParamSource::Entry => {}
        }
    }
}

/// What an array of a cache says of its requests, tokens, heads and lanes.
fn cache_extents(field: &str, shape: &[u64], layout: KvLayout) -> Vec<Option<u64>> {
    match (field, shape, layout) {
        ("k" | "v", &[_, _, heads, lanes], KvLayout::Nhd) => vec![None, None, Some(heads), Some(lanes)],
        ("k" | "v", &[_, heads, _, lanes], KvLayout::Hnd) => vec![None, None, Some(heads), Some(lanes)],
        ("indptr", &[rows], _) => vec![rows.checked_sub(1)],
        ("last_page_len", &[rows], _) => vec![Some(rows)],
        _ => Vec::new(),
    }
}

/// The dimensions of a cache of the host entry, as those of its keys or values.
fn cache_dims<'m>(module: &'m Module, name: &str, field: &str) -> Option<&'m [Dim]> {
    let entry = module.entry.as_ref()?;
    let binding = entry.launch.bindings.iter().find(|b| entry.params[b.param as usize].name == name)?;
    let BindingSource::Cache(id) = binding.source else { return None };
    let cache = &module.caches[id.index()];
    Some(&module.tensors[if field == "v" { cache.values } else { cache.keys }.index()].dims)
}

/// Values of the parameters that do not hang on arrays.
pub fn known_params(module: &Module, set: &[(String, ParamValue)]) -> Vec<Option<Value>> {
    let mut values: Vec<Option<Value>> = Vec::new();
    for param in &module.params {
        let set = set.iter().rev().find(|(name, _)| *name == param.name);
        let given = set.and_then(|(_, value)| Value::of(param.ty, *value));
        values.push(match (&param.source, given) {
            (ParamSource::Set { .. }, Some(given)) => Some(given),
            (ParamSource::Set { default: expr } | ParamSource::Derived(expr), _) => {
                eval_launch_expr(module, expr, &values).ok()
            }
            (ParamSource::Shape { .. } | ParamSource::Entry, _) => None,
        });
    }
    values
}

/// The dimensions of an array or cache of the host entry.
fn dims<'m>(module: &'m Module, name: &str) -> Option<&'m [Dim]> {
    let entry = module.entry.as_ref()?;
    let bound = |param: u32| entry.params[param as usize].name == name;
    let mut bindings = entry.launch.bindings.iter().filter(|b| bound(b.param));
    let tensor = bindings.find_map(|binding| match binding.source {
        BindingSource::Tensor(id) => Some(id),
        BindingSource::Cache(id) => Some(module.caches[id.index()].keys),
        BindingSource::Param(_) => None,
    })?;
    Some(&module.tensors[tensor.index()].dims)
}

/// Its extents, where its shape says them.
fn extents(module: &Module, params: &[Option<Value>], name: &str) -> Option<Vec<Option<u32>>> {
    let extent = |dim: &Dim| match dim {
        Dim::Expr(expr) => eval_launch_expr(module, expr, params).ok()?.as_u32(),
        Dim::Dynamic | Dim::Axis(_) => None,
    };
    Some(dims(module, name)?.iter().map(extent).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_diag::SourceMap;

    fn compiled(shapes: &str, reference: &str) -> Module {
        let source = format!(
            "PTO_PARAM(uint32_t, lanes, 48)
            {shapes}
            PTO_SHAPE(output, batch, heads)
            PTO_SPACE(S) {{ PTO_AXIS(i, 0, batch) }}
            struct D {{ uint32_t i; }};
            PTO_DESCRIPTOR_GEN(S) {{ PTO_SCHEDULED_FOR(i) {{ PTO_EMIT_DESCRIPTOR(D{{ .i = i }}); }} }}
            PTO_KERNEL_IMPL(k) {{ auto d = PTO_GET_DESCRIPTOR<D>(); }}
            void run(Tensor q, PagedKVCache kv, Tensor<float> output) {{
                PTO_LAUNCH(S, {{ .q = q, .kv_cache = kv, .output = output }});
            }}
            PTO_REFERENCE({reference})"
        );
        let (module, findings) = wsp_lang::compile("a.pto", &source, &mut SourceMap::default());
        module.unwrap_or_else(|| panic!("{findings:?}"))
    }

    const DECODE: &str = "paged_decode_attention, { .q = q, .kv = kv, .output = output }";

    #[test]
    fn constants_of_shapes_are_defaults() {
        let shapes = "PTO_SHAPE(q, batch, heads, rows, 2 * lanes)
            PTO_SHAPE(kv_cache, batch, PTO_DYNAMIC, 3, 2 * lanes)";
        let module = compiled(shapes, DECODE);
        let spec = Spec::fit(&module, &[]);
        assert_eq!((spec.q_heads, spec.kv_heads, spec.rows, spec.dim), (24, 3, OPEN_ROWS, 96));
        let set = [("lanes".to_owned(), ParamValue::Int(32))];
        assert_eq!(Spec::fit(&module, &set).dim, 64);
    }

    #[test]
    fn roles_ask_for_what_they_are_about() {
        let shapes = "PTO_SHAPE(q, batch, heads, 1, dim)
            PTO_SHAPE(kv_cache, batch, PTO_DYNAMIC, kv_heads, dim)";
        assert_eq!(Spec::fit(&compiled(shapes, DECODE), &[]), Spec::default());
        let scaled = DECODE.replace(" }", ", .k_scale = lanes, .shared = lanes }");
        let spec = Spec::fit(&compiled(shapes, &scaled), &[]);
        assert_eq!((spec.kv_dtype, spec.prefix), (Some(DType::F8E4m3), 48));
        let latent = Spec::fit(&compiled(shapes, &DECODE.replace("paged_decode_attention", MLA_DECODE)), &[]);
        assert_eq!((latent.values, latent.dim), (Values::OfKeys, LATENT_LANES));
    }

    #[test]
    fn extents_of_arrays_are_those_of_the_names_in_shapes() {
        let shapes = "PTO_SHAPE(q, batch, heads, 1, dim)
            PTO_SHAPE(kv_cache, batch, PTO_DYNAMIC, kv_heads, dim)";
        let module = compiled(shapes, DECODE);
        let names = Names::of(&module).unwrap();
        let spec: Spec = "len=3/4,heads=4/2,dim=8".parse().unwrap();
        let arrays = crate::generate::generate(
            &spec,
            crate::generate::Origin::of(1),
            wsp_backend::KvLayout::Nhd,
            &names,
        )
        .unwrap();
        let extents = spec.extents(&module, &names, &arrays);
        let of = |name: &str| extents.get(&module.param_named(name).unwrap()).copied();
        let have = ["batch", "heads", "kv_heads", "dim", "lanes"].map(of);
        assert_eq!(have, [Some(2), Some(4), Some(2), Some(8), None]);
    }
}
