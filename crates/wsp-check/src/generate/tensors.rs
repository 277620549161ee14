//! Made-up inputs of programs without a paged cache: every extent that a shape names has a value, every input random
//! numbers in `[-1, 1)` where its role asks for nothing else.

use super::fill::{Uneven, parallel, random, uneven};
use super::hash::{key, unit};
use super::origin::Origin;
use super::pairs::Pairs;
use super::roles::{self, Inputs, Values};
use super::spec::{dtype, number};
use super::unit::fill_numbers;
use crate::numbers::{Bf16, Elem as Number, F8E4m3, F8E5m2, F16, F32};
use pto_wsp::codes;
use wsp_core::{DType, ParamId, TensorId};
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::{BindingSource, Dim, Elem, EntryParam, EntryTy, Module, Param, ParamSource};
use wsp_kernel::{Value, eval_launch_expr};
use wsp_ordered::OrderedMap;
use wsp_plan::{Array, Arrays, ParamValue};

/// Value of an extent that the user does not give.
const DEFAULT_EXTENT: u32 = 256;
/// What inputs are filled with when nothing is known of them.
const PLAIN: Values = Values::Random { center: 0.0, scale: 1.0 };
/// Logarithms of sums of attention states are in `[-STATE_SIZES, STATE_SIZES)` in most rows.
const STATE_SIZES: f64 = 12.0;
/// In others the powers of some are too large for f32, unless they are relative to the largest.
const STEEP_STATES: Uneven = Uneven { factor: 32.0, ..Uneven::STEEP };
/// Elements per piece of work of one thread.
const PIECE: usize = 1 << 16;

/// Makes an array for every tensor of the launch that `is_input` names. `known` are extents that other arrays have.
///
/// # Errors
/// When a key names no extent, a value is out of range, or an input cannot be made up.
pub fn generate_tensors(
    module: &Module,
    pairs: &Pairs,
    set: &[(String, ParamValue)],
    known: &OrderedMap<ParamId, u32>,
    origin: Origin<'_>,
    is_input: &dyn Fn(TensorId) -> bool,
) -> Result<Arrays, Diagnostic> {
    let recipe = Recipe::new(module, pairs, set, known, origin)?;
    let mut arrays = Arrays::new();
    for (param, id) in entry_tensors(module).filter(|(_, id)| is_input(*id)) {
        arrays.insert(param.name.clone(), recipe.make(param, id)?);
    }
    Ok(arrays)
}

/// The extents that [`generate_tensors`] does not choose: those that arrays have, and those that the references ask for.
///
/// # Errors
/// As there, but for single arrays.
pub fn extents_asked(
    module: &Module,
    pairs: &Pairs,
    set: &[(String, ParamValue)],
    known: &OrderedMap<ParamId, u32>,
    origin: Origin<'_>,
) -> Result<OrderedMap<ParamId, u32>, Diagnostic> {
    Ok(Recipe::new(module, pairs, set, known, origin)?.wanted.extents)
}

/// All extents of arrays, by name, as [`generate_tensors`] makes them.
///
/// # Errors
/// As there, but for single arrays.
pub fn extents_made(
    module: &Module,
    pairs: &Pairs,
    set: &[(String, ParamValue)],
    known: &OrderedMap<ParamId, u32>,
    origin: Origin<'_>,
) -> Result<Vec<(String, u64)>, Diagnostic> {
    let recipe = Recipe::new(module, pairs, set, known, origin)?;
    let of = |(param, value): (&Param, &Option<Value>)| {
        let is_extent = matches!(param.source, ParamSource::Shape { .. });
        Some((param.name.clone(), value.filter(|_| is_extent)?.as_u64()?))
    };
    Ok(module.params.iter().zip(&recipe.params).filter_map(of).collect())
}

/// Whether [`generate_tensors`] makes an array for a tensor of the launch, if there is memory for it.
pub fn can_make(
    module: &Module,
    pairs: &Pairs,
    set: &[(String, ParamValue)],
    known: &OrderedMap<ParamId, u32>,
    origin: Origin<'_>,
    tensor: TensorId,
) -> bool {
    let Ok(recipe) = Recipe::new(module, pairs, set, known, origin) else { return false };
    entry_tensors(module).find(|(_, id)| *id == tensor).is_some_and(|(param, id)| match param.ty {
        EntryTy::Array(_) => recipe.integers(param).is_ok(),
        _ => recipe
            .form(param, id)
            .is_ok_and(|(dtype, _)| recipe.is_plain(dtype, id) && fill(dtype, &[0], &PLAIN, 0).is_some()),
    })
}

/// The tensors of the launch, with the parameters of the host entry that they are bound to.
fn entry_tensors(module: &Module) -> impl Iterator<Item = (&EntryParam, TensorId)> {
    let bindings =
        module.entry.iter().flat_map(|entry| entry.launch.bindings.iter().map(move |b| (entry, b)));
    bindings.filter_map(|(entry, binding)| match binding.source {
        BindingSource::Tensor(id) => Some((&entry.params[binding.param as usize], id)),
        BindingSource::Cache(_) | BindingSource::Param(_) => None,
    })
}

/// How the arrays of a launch are made up.
struct Recipe<'m> {
    module: &'m Module,
    /// Elements of tensors of any type.
    elem: DType,
    /// What the references ask for.
    wanted: Inputs,
    /// An extent that arrays have, and that is another by what the references ask for: its name and both values.
    clash: Option<(&'m str, u32, u32)>,
    params: Vec<Option<Value>>,
    seed: u64,
    forms: bool,
}

impl<'m> Recipe<'m> {
    fn new(
        module: &'m Module,
        pairs: &Pairs,
        set: &[(String, ParamValue)],
        known: &OrderedMap<ParamId, u32>,
        origin: Origin<'_>,
    ) -> Result<Recipe<'m>, Diagnostic> {
        let elem = element(module, pairs)?;
        // Sizes decide what the reference asks for, and that decides the extents which are left.
        let before = Inputs { extents: known.clone(), ..Inputs::default() };
        let sizes = params(module, pairs, set, &before)?;
        let mut wanted = roles::inputs(module, pairs, &sizes, origin)?;
        let clash = known.iter().find_map(|(id, &has)| {
            let asked = wanted.extents.get(id).copied().filter(|&asked| asked != has)?;
            Some((module.params[id.index()].name.as_str(), has, asked))
        });
        wanted.extents.extend(known);
        let params = params(module, pairs, set, &wanted)?;
        Ok(Recipe { module, elem, wanted, clash, params, seed: origin.seed, forms: origin.forms })
    }

    fn make(&self, param: &EntryParam, id: TensorId) -> Result<Array, Diagnostic> {
        if matches!(param.ty, EntryTy::Array(_)) {
            return self.integers(param);
        }
        let (dtype, shape) = self.form(param, id)?;
        let bytes = shape.iter().try_fold(dtype.size() as u64, |total, &n| total.checked_mul(n));
        if let Some(bytes) = bytes {
            crate::check_memory(&format!("`{}` of {dtype}{shape:?}", param.name), bytes)?;
        }
        let values = self.wanted.values.get(&param.name).unwrap_or(&PLAIN);
        let stream = key(self.seed, u64::from(id.0) + 1);
        let values = if self.forms { &Values::Nothing } else { values };
        let made =
            Some(()).filter(|()| self.is_plain(dtype, id)).and_then(|()| fill(dtype, &shape, values, stream));
        made.ok_or_else(|| {
            bad(format!("`{}` of {dtype}{shape:?} cannot be made up", param.name))
                .at(self.module.tensors[id.index()].span, "declared here")
        })
    }

    /// Whether any numbers will do: integers that are read as an array are indices, lengths and the like.
    fn is_plain(&self, dtype: DType, id: TensorId) -> bool {
        dtype.is_float() || wsp_plan::is_moved(self.module, id)
    }

    /// Type and shape of a tensor.
    fn form(&self, param: &EntryParam, id: TensorId) -> Result<(DType, Vec<u64>), Diagnostic> {
        if let Some(Values::Given(_)) = self.wanted.values.get(&param.name) {
            self.refuse_clash(param)?;
        }
        let dtype = match self.module.tensors[id.index()].elem {
            Elem::Fixed(fixed) => fixed,
            Elem::Of(_) => self.elem,
        };
        Ok((dtype, shape(self.module, id, &self.params)?))
    }

    /// The integers that the program's reference asks for.
    fn integers(&self, param: &EntryParam) -> Result<Array, Diagnostic> {
        let Some(values) = self.wanted.integers.get(&param.name) else {
            return Err(bad(format!("integers of `{}` cannot be made up", param.name))
                .at(param.span, "declared here")
                .help(format!("give them with `--input {}=FILE.npy`", param.name)));
        };
        self.refuse_clash(param)?;
        let no_memory =
            || bad(format!("`{}` does not fit memory", param.name)).at(param.span, "declared here");
        let mut array = Array::zeros(DType::U32, &[values.len() as u64]).map_err(|_| no_memory())?;
        array.as_slice_mut::<u32>().ok_or_else(no_memory)?.copy_from_slice(values);
        Ok(array)
    }

    /// Refuses to make up what says the extents of other arrays, where these are given and have others.
    fn refuse_clash(&self, param: &EntryParam) -> Result<(), Diagnostic> {
        let Some((extent, has, asked)) = self.clash else { return Ok(()) };
        let message = format!("`{}` cannot be made up beside arrays that are given", param.name);
        Err(bad(message)
            .at(param.span, "declared here")
            .note(format!("`{extent}` is {has} by these, and {asked} by what would be made up"))
            .help(format!("give it: `--input {}=FILE.npy`", param.name)))
    }
}

/// Refuses a `dtype` that no array takes: `made` are those that are made up.
///
/// # Errors
/// When each of them has a type of its own.
pub fn check_dtype(module: &Module, pairs: &Pairs, made: &[String]) -> Result<(), Diagnostic> {
    let Some((_, value)) = pairs.iter().find(|(key, _)| *key == "dtype") else { return Ok(()) };
    let takes = |entry: &wsp_ir::Entry| {
        entry.launch.bindings.iter().any(|binding| {
            let BindingSource::Tensor(id) = binding.source else { return false };
            let is_any = matches!(module.tensors[id.index()].elem, Elem::Of(_));
            is_any && made.contains(&entry.params[binding.param as usize].name)
        })
    };
    if module.entry.as_ref().is_some_and(takes) {
        return Ok(());
    }
    Err(bad(format!(
        "`--generate dtype={value}` has no meaning: every array that is made up has a type of its own"
    ))
    .help(format!("leave out `dtype={value}`, or declare a tensor of any type: `Tensor x`")))
}

/// The element type of inputs that take any; keys that mean nothing are refused on the way.
fn element(module: &Module, pairs: &Pairs) -> Result<DType, Diagnostic> {
    let extents: Vec<&str> = module
        .params
        .iter()
        .filter(|p| matches!(p.source, ParamSource::Shape { .. }))
        .map(|p| p.name.as_str())
        .collect();
    let mut elem = DType::F32;
    for (key, value) in pairs.iter() {
        if key == "dtype" {
            elem = dtype(value).map_err(|fault| bad(format!("`--generate`: {fault}")))?;
        } else if !extents.contains(&key) && !roles::takes(module, key) {
            let known: Vec<&str> = extents.iter().copied().chain(["dtype"]).collect();
            let fault =
                bad(format!("`--generate {key}={value}`: no shape of this program names an extent `{key}`"));
            if module.param_named(key).is_some() {
                return Err(fault.help(format!("`{key}` is a parameter: `--set {key}={value}`")));
            }
            return Err(match did_you_mean(key, known.iter().copied()) {
                Some(near) => fault.help(format!("did you mean `--generate {near}={value}`?")),
                None => fault.help(format!("`--generate` takes {}", known.join(", "))),
            });
        }
    }
    Ok(elem)
}

/// Values of parameters as the launch will see them.
fn params(
    module: &Module,
    pairs: &Pairs,
    set: &[(String, ParamValue)],
    wanted: &Inputs,
) -> Result<Vec<Option<Value>>, Diagnostic> {
    let mut values: Vec<Option<Value>> = Vec::new();
    for (i, param) in module.params.iter().enumerate() {
        let is_this = |name: &str| module.user_names(ParamId(i as u32)).any(|other| other == name);
        let given = set.iter().rev().find(|(name, _)| is_this(name)).and_then(|(_, value)| match value {
            ParamValue::Int(n) => Value::from_int(param.ty, *n),
            ParamValue::Float(_) | ParamValue::Bool(_) => None,
        });
        let follows = wanted.extents.get(&ParamId(i as u32));
        values.push(match (&param.source, given) {
            (ParamSource::Shape { .. }, _) if follows.is_some() => {
                if let (Some((key, _)), Some(n)) = (pairs.iter().find(|(key, _)| *key == param.name), follows)
                {
                    return Err(bad(format!("`--generate {key}=…` has no meaning: `{key}` is {n} here, which follows from the data")
                        ));
                }
                follows.copied().map(Value::U32)
            }
            (ParamSource::Shape { .. }, _) => {
                let asked = pairs.iter().find(|(key, _)| *key == param.name);
                let extent = asked.map_or(Ok(DEFAULT_EXTENT), |(key, value)| number(key, value, 0, u32::MAX));
                Some(Value::U32(extent.map_err(|fault| bad(format!("`--generate`: {fault}")))?))
            }
            (ParamSource::Set { .. } | ParamSource::Entry, Some(given)) => Some(given),
            (ParamSource::Set { default: expr } | ParamSource::Derived(expr), _) => {
                Some(eval_launch_expr(module, expr, &values).map_err(Diagnostic::from)?)
            }
            (ParamSource::Entry, None) => None,
        });
    }
    Ok(values)
}

fn shape(module: &Module, id: TensorId, params: &[Option<Value>]) -> Result<Vec<u64>, Diagnostic> {
    let tensor = &module.tensors[id.index()];
    let extent = |dim: &Dim| match dim {
        Dim::Expr(expr) => {
            let value = eval_launch_expr(module, expr, params).map_err(Diagnostic::from)?;
            value.as_u64().ok_or_else(|| bad(format!("an extent is {value}")).at(expr.span, "this extent"))
        }
        Dim::Dynamic | Dim::Axis(_) => Err(bad(format!("`{}` has an extent that is not known", tensor.name))
            .at(tensor.span, "declared here")),
    };
    tensor.dims.iter().map(extent).collect()
}

/// An array of numbers, of integers those below 10; `None` when it does not fit memory, or for `f64`.
pub(super) fn fill(dtype: DType, shape: &[u64], values: &Values, stream: u64) -> Option<Array> {
    let made = if *values == Values::Nothing { Array::on_pages } else { Array::zeros };
    let mut array = made(dtype, shape).ok()?;
    match dtype {
        DType::F32 => fill_as::<F32>(&mut array, values, stream),
        DType::F16 => fill_as::<F16>(&mut array, values, stream),
        DType::Bf16 => fill_as::<Bf16>(&mut array, values, stream),
        DType::F8E4m3 => fill_as::<F8E4m3>(&mut array, values, stream),
        DType::F8E5m2 => fill_as::<F8E5m2>(&mut array, values, stream),
        DType::F64 => return None,
        _ => fill_numbers(&mut array, stream),
    }
    Some(array)
}

fn fill_as<E: Number>(array: &mut Array, values: &Values, stream: u64) {
    let cols = array.shape().last().map_or(1, |&n| n.max(1) as usize);
    let threads = crate::cores() as usize;
    let out = E::slice_mut(array);
    let (center, scale, steps) = match values {
        Values::Nothing => return,
        Values::Given(given) => {
            out.iter_mut().zip(given).for_each(|(out, &x)| *out = E::encode(x));
            return;
        }
        Values::States => {
            let state = |i: usize| state(i / cols, i % cols, f64::from(unit(stream, i as u64)));
            out.iter_mut().enumerate().for_each(|(i, out)| *out = E::encode(state(i) as f32));
            return;
        }
        Values::Rows(sizes) => {
            let rows = (PIECE / cols).max(1);
            let piece = |n, out: &mut [E::Bits]| uneven::<E>(stream, (n * rows) as u64, cols, *sizes, out);
            parallel(out, rows * cols, threads, piece);
            return;
        }
        Values::Random { center, scale } => (*center, *scale, None),
        Values::Grid { steps } => (0.0, 1.0, Some(*steps)),
    };
    let piece = |at: usize, out: &mut [E::Bits]| {
        random::<E>(stream, at as u64, scale, out);
        let shape = |x: f64| steps.map_or(x + center, |steps| (x * steps).round() / steps);
        if center != 0.0 || steps.is_some() {
            out.iter_mut().for_each(|x| *x = E::encode(shape(f64::from(E::decode(*x))) as f32));
        }
    };
    let whole = out.len() - out.len() % PIECE;
    let (pieces, rest) = out.split_at_mut(whole);
    parallel(pieces, PIECE, threads, |n, out| piece(n * PIECE, out));
    piece(whole, rest);
}

/// The logarithm of the sum of a state, from a number in `[-1, 1)`. All states of some rows are empty, and some states of the others.
fn state(row: usize, state: usize, x: f64) -> f64 {
    match row % 7 == 5 || (row + state) % 7 == 1 {
        true => f64::NEG_INFINITY,
        false => STATE_SIZES * STEEP_STATES.of_row(row as u64) * x,
    }
}

fn bad(message: String) -> Diagnostic {
    Diagnostic::error(codes::CANNOT_GENERATE, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_diag::SourceMap;

    const SOURCE: &str = "
        PTO_SHAPE(x, rows, cols)
        PTO_SHAPE(y, rows, 2 * cols)
        void run(Tensor x, Tensor<half> y) { PTO_LAUNCH(S, { .x = x, .y = y }); }
        PTO_SPACE(S) { PTO_AXIS(i, 0, rows) }
        struct D { uint32_t i; };
        PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(i) { PTO_EMIT_DESCRIPTOR(D{ .i = i }); } }
        PTO_KERNEL_IMPL(k) { auto d = PTO_GET_DESCRIPTOR<D>(); }
    ";

    fn compiled(source: &str) -> Module {
        let (module, findings) = wsp_lang::compile("a.pto", source, &mut SourceMap::default());
        module.unwrap_or_else(|| panic!("{findings:?}"))
    }

    fn make(spec: &str) -> Result<Arrays, Diagnostic> {
        generate_tensors(
            &compiled(SOURCE),
            &spec.parse().unwrap(),
            &[],
            &OrderedMap::new(),
            Origin::of(1),
            &|_| true,
        )
    }

    #[test]
    fn a_number_of_the_entry_has_the_name_of_its_parameter_too() {
        let source = SOURCE.replace("Tensor<half> y)", "Tensor<half> y, uint32_t n)");
        let module = compiled(&source.replace(".y = y }", ".y = y, .rows = n }"));
        for name in ["n", "rows"] {
            let set = [(name.to_owned(), ParamValue::Int(5))];
            let arrays = generate_tensors(
                &module,
                &Pairs::default(),
                &set,
                &OrderedMap::new(),
                Origin::of(1),
                &|_| true,
            )
            .unwrap();
            assert_eq!(arrays["x"].shape(), [5, 256], "{name}");
        }
    }

    #[test]
    fn states_are_empty_here_and_there_and_in_whole_rows() {
        let states = fill(DType::F32, &[14, 8], &Values::States, 1).unwrap();
        let empty = |row: &[f32]| row.iter().filter(|x| x.is_infinite()).count();
        let rows: Vec<usize> = states.as_slice::<f32>().unwrap().chunks(8).map(empty).collect();
        assert_eq!(rows.iter().filter(|&&n| n == 8).count(), 2);
        assert!(rows.iter().all(|&n| n > 0));
    }

    #[test]
    fn extents_come_from_the_user_and_default_otherwise() {
        let arrays = make("rows=3").unwrap();
        assert_eq!(arrays["x"].shape(), [3, 256]);
        assert_eq!((arrays["y"].shape(), arrays["y"].dtype()), (&[3u64, 512][..], DType::F16));
        let x = arrays["x"].as_slice::<f32>().unwrap();
        assert!(x.iter().all(|v| (-1.0..1.0).contains(v)) && x[0] != x[1]);
        assert_eq!(make("dtype=bf16,cols=0").unwrap()["x"].dtype(), DType::Bf16);
    }

    #[test]
    fn an_unknown_extent_is_refused_with_the_nearest_one() {
        assert_eq!(make("row=3").unwrap_err().help, ["did you mean `--generate rows=3`?"]);
        assert!(make("rows=many").unwrap_err().message.contains("whole number"));
        assert!(make("rows=4294967295,cols=4294967295").unwrap_err().message.contains("cannot be made up"));
    }
}
