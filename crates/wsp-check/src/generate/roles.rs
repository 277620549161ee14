//! What made-up inputs must look like for the reference that a program names: weights of a size that keeps activations near
//! one, routing tables, row pointers of ragged batches.

use super::fill::Uneven;
use super::hash::{Draws, stream};
use super::lengths;
use super::origin::Origin;
use super::pairs::Pairs;
use super::spec::{Lens, Spec};
use crate::reference::{
    LLAMA_LAYER, MERGE_STATES, MOE_LAYER, RAGGED_PREFILL, ROW_SOFTMAX, TOPK_INDEXER, role,
};
use pto_wsp::codes;
use wsp_core::{ParamId, TensorId};
use wsp_diag::Diagnostic;
use wsp_ir::{BindingSource, Dim, ExprKind, Module, Reference};
use wsp_kernel::Value;
use wsp_ordered::{Arrange, OrderedMap};

/// Keys that say how long the requests of a ragged batch are.
const LENGTH_KEYS: [&str; 3] = ["batch", "len", "lens"];
/// The key that says to how many experts a token goes.
const ROUTES_KEY: &str = "routes";
/// Prompts of a plain run: none, one token, a part of a tile, whole tiles, one and two tokens past a tile.
const PROMPTS: [u32; 6] = [256, 0, 1, 17, 706, 65];
/// Requests of a plain run of the indexer: both sides of every tier.
const INDEXED: [u32; 10] = [700, 0, 1, 2048, 2049, 8192, 8193, 65_536, 65_537, 63];
/// Rows of a layer's input that may be small. What later rows attend to is the mean of many values, so that the second norm would
/// enlarge its rounding errors with it.
const NORMALISED: u64 = 64;
/// Steps per unit of the indexer's inputs: sums of their products are exact in `f32`, so that ties are ties.
const GRID: f64 = 8.0;

/// What an input is filled with.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Values {
    /// Nothing: all elements stay 0.
    Nothing,
    /// Random numbers in `[center - scale, center + scale)`.
    Random { center: f64, scale: f64 },
    /// Random numbers with rows of different size.
    Rows(Uneven),
    /// Random multiples of `1 / steps` in `[-1, 1]`.
    Grid { steps: f64 },
    /// Logarithms of sums of attention states, a row of states each: empty states, rows of them, and rows in which some weigh
    /// nothing beside others.
    States,
    /// These numbers.
    Given(Vec<f32>),
}

/// What is particular about the inputs of a program, by the names of its entry's parameters.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Inputs {
    /// Contents of inputs that are not plain random numbers.
    pub(super) values: OrderedMap<String, Values>,
    /// Contents of integer arrays.
    pub(super) integers: OrderedMap<String, Vec<u32>>,
    /// Extents that follow from the contents.
    pub(super) extents: OrderedMap<ParamId, u32>,
}

/// Whether a key of `--generate` says something of the data that this program's reference asks for.
pub(super) fn takes(module: &Module, key: &str) -> bool {
    module.references.iter().any(|reference| match reference.name.as_str() {
        RAGGED_PREFILL | TOPK_INDEXER => LENGTH_KEYS.contains(&key),
        MOE_LAYER => key == ROUTES_KEY,
        _ => false,
    })
}

/// What the references of a program ask of its inputs; `params` are the values of its parameters as far as they are known.
///
/// # Errors
/// When a role is missing, or sizes do not allow it.
pub(super) fn inputs(
    module: &Module,
    pairs: &Pairs,
    params: &[Option<Value>],
    origin: Origin<'_>,
) -> Result<Inputs, Diagnostic> {
    let mut maker = Maker { module, pairs, params, origin, made: Inputs::default() };
    for reference in &module.references {
        match reference.name.as_str() {
            LLAMA_LAYER => maker.llama(reference)?,
            MOE_LAYER => maker.experts(reference)?,
            RAGGED_PREFILL => maker.prompts(reference)?,
            TOPK_INDEXER => maker.indexed(reference)?,
            ROW_SOFTMAX => maker.fill(reference, "x", Values::Rows(Uneven::STEEP))?,
            MERGE_STATES => maker.fill(reference, "s", Values::States)?,
            _ => {}
        }
    }
    Ok(maker.made)
}

struct Maker<'a> {
    module: &'a Module,
    pairs: &'a Pairs,
    params: &'a [Option<Value>],
    origin: Origin<'a>,
    made: Inputs,
}

impl Maker<'_> {
    fn llama(&mut self, reference: &Reference) -> Result<(), Diagnostic> {
        self.fill(reference, "x", Values::Rows(Uneven { end: NORMALISED, ..Uneven::FLAT }))?;
        for norm in ["attn_norm", "ffn_norm"] {
            self.fill(reference, norm, Values::Random { center: 1.0, scale: 0.25 })?;
        }
        for weights in ["wk", "wv", "wo", "w_gate", "w_up", "w_down"] {
            self.weights(reference, weights, 1)?;
        }
        let size = self.weight_size(reference, "wq", 1)?;
        let head = u64::from(self.head_lanes(reference)?);
        self.fill(reference, "wq", Values::Rows(Uneven { size, end: head, ..Uneven::STEEP }))
    }

    /// Lanes of a head of a layer: query columns by heads.
    fn head_lanes(&self, reference: &Reference) -> Result<u32, Diagnostic> {
        let name = role(reference, "heads")?;
        let heads = self.module.param_named(name).and_then(|id| self.params[id.index()]?.as_u32());
        Ok(self.extent(reference, "wq", 0)? / heads.unwrap_or(1).max(1))
    }

    /// Each token goes to as many experts as there are entries per token: the favourites of a random preference. The last expert is
    /// nobody's favourite, the first one that of many.
    fn experts(&mut self, reference: &Reference) -> Result<(), Diagnostic> {
        for weights in ["w_gate", "w_up", "w_down"] {
            self.weights(reference, weights, 2)?;
        }
        let (tokens, experts) = (self.extent(reference, "x", 0)?, self.extent(reference, "w_gate", 0)?);
        let routes = match self.pairs.iter().find(|(key, _)| *key == ROUTES_KEY) {
            Some((key, value)) => super::spec::number(key, value, 0, experts)
                .map_err(|fault| cannot(reference, fault.to_string()))?,
            None => 2.min(experts),
        };
        let routing = Routing::draw(tokens, experts, routes, self.origin.seed);
        let entries = routing.indices.len() as u32;
        self.force(reference, "indices", entries)?;
        self.force(reference, "weights", entries)?;
        self.fill(reference, "weights", Values::Given(routing.weights))?;
        self.integers(reference, "indptr", routing.indptr)?;
        self.integers(reference, "indices", routing.indices)
    }

    fn prompts(&mut self, reference: &Reference) -> Result<(), Diagnostic> {
        let total = self.row_pointers(reference, &PROMPTS)?;
        self.fill(reference, "q", Values::Rows(Uneven::STEEP))?;
        ["q", "k", "v"].iter().try_for_each(|what| self.force(reference, what, total))
    }

    fn indexed(&mut self, reference: &Reference) -> Result<(), Diagnostic> {
        for what in ["q", "weights", "keys"] {
            self.fill(reference, what, Values::Grid { steps: GRID })?;
        }
        let total = self.row_pointers(reference, &INDEXED)?;
        self.force(reference, "keys", total)?;
        let batch = self.made.integers[role(reference, "indptr")?].len() as u32 - 1;
        ["q", "weights"].iter().try_for_each(|what| self.force(reference, what, batch))
    }

    /// Makes `indptr` of the lengths asked for; their sum.
    fn row_pointers(&mut self, reference: &Reference, default: &[u32]) -> Result<u32, Diagnostic> {
        let pairs = self.pairs.only(&LENGTH_KEYS);
        let asked = pairs.iter().next().is_some();
        let mut spec = Spec::from_pairs(&pairs).map_err(|fault| cannot(reference, fault.to_string()))?;
        if !asked {
            spec.lens = Lens::List(default.to_vec());
        }
        let mut indptr = vec![0u32];
        for length in lengths::draw(&spec, self.origin)? {
            let end = indptr.last().and_then(|end| end.checked_add(length));
            indptr.push(end.ok_or_else(|| cannot(reference, "more than 2^32 tokens".to_owned()))?);
        }
        let total = indptr.last().copied().unwrap_or(0);
        self.integers(reference, "indptr", indptr)?;
        Ok(total)
    }

    /// Random weights whose products with inputs of size one sum to size one: the variance of `[-s, s)` is `s² / 3`. The inner
    /// dimension comes `inner` dimensions after the first.
    fn weights(&mut self, reference: &Reference, what: &str, inner: usize) -> Result<(), Diagnostic> {
        let scale = self.weight_size(reference, what, inner)?;
        self.fill(reference, what, Values::Random { center: 0.0, scale })
    }

    fn weight_size(&self, reference: &Reference, what: &str, inner: usize) -> Result<f64, Diagnostic> {
        Ok((3.0 / f64::from(self.extent(reference, what, inner)?.max(1))).sqrt())
    }

    fn fill(&mut self, reference: &Reference, what: &str, values: Values) -> Result<(), Diagnostic> {
        self.made.values.insert(role(reference, what)?.to_owned(), values);
        Ok(())
    }

    fn integers(&mut self, reference: &Reference, what: &str, values: Vec<u32>) -> Result<(), Diagnostic> {
        self.force(reference, what, values.len() as u32)?;
        self.made.integers.insert(role(reference, what)?.to_owned(), values);
        Ok(())
    }

    /// Gives dimension 0 of an array an extent, when its shape leaves that open.
    fn force(&mut self, reference: &Reference, what: &str, extent: u32) -> Result<(), Diagnostic> {
        let tensor = &self.module.tensors[self.tensor(reference, what)?.index()];
        if let Some(Dim::Expr(expr)) = tensor.dims.first()
            && let ExprKind::Param(id) = expr.kind
        {
            self.made.extents.insert(id, extent);
        }
        Ok(())
    }

    fn extent(&self, reference: &Reference, what: &str, dim: usize) -> Result<u32, Diagnostic> {
        let tensor = &self.module.tensors[self.tensor(reference, what)?.index()];
        match tensor.dims.get(dim) {
            Some(Dim::Expr(expr)) => {
                let value =
                    wsp_kernel::eval_launch_expr(self.module, expr, self.params).map_err(Diagnostic::from)?;
                value.as_u32().ok_or_else(|| cannot(reference, format!("an extent of `{what}` is {value}")))
            }
            _ => Err(cannot(reference, format!("dimension {dim} of `{what}` is not known"))),
        }
    }

    /// The tensor bound to the entry's parameter that plays a role.
    fn tensor(&self, reference: &Reference, what: &str) -> Result<TensorId, Diagnostic> {
        let name = role(reference, what)?;
        let entry = self.module.entry.as_ref();
        let bound = entry.and_then(|entry| {
            entry.launch.bindings.iter().find_map(|binding| match binding.source {
                BindingSource::Tensor(id) if entry.params[binding.param as usize].name == name => Some(id),
                _ => None,
            })
        });
        bound.ok_or_else(|| {
            cannot(reference, format!("`{name}`, its `{what}`, is no array of the host entry"))
        })
    }
}

/// Tokens by expert, in CSR form.
struct Routing {
    indptr: Vec<u32>,
    indices: Vec<u32>,
    weights: Vec<f32>,
}

impl Routing {
    /// `routes` different experts per token, with weights that sum to one.
    fn draw(tokens: u32, experts: u32, routes: u32, seed: u64) -> Routing {
        let mut draws = Draws::new(seed, stream::ROUTES);
        let mut by_expert: Vec<Vec<(u32, f32)>> = vec![Vec::new(); experts as usize];
        for token in 0..tokens {
            let mut liking: Vec<(f64, usize)> = (0..by_expert.len())
                .map(|expert| {
                    let bias = match expert {
                        _ if expert + 1 == by_expert.len() => -100.0,
                        0 => 1.0,
                        _ => 0.0,
                    };
                    (draws.normal() + bias, expert)
                })
                .collect();
            liking.arrange_by(|a, b| b.0.total_cmp(&a.0));
            liking.truncate(routes as usize);
            let sum: f64 = liking.iter().map(|(x, _)| x.exp()).sum();
            for (x, expert) in liking {
                by_expert[expert].push((token, (x.exp() / sum) as f32));
            }
        }
        let mut routing = Routing { indptr: vec![0], indices: Vec::new(), weights: Vec::new() };
        for entries in by_expert {
            routing.indices.extend(entries.iter().map(|(token, _)| token));
            routing.weights.extend(entries.iter().map(|(_, weight)| weight));
            routing.indptr.push(routing.indices.len() as u32);
        }
        routing
    }
}

fn cannot(reference: &Reference, why: String) -> Diagnostic {
    Diagnostic::error(codes::CANNOT_GENERATE, why).at(reference.span, "data are made up for this reference")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_goes_to_different_experts_with_weights_that_sum_to_one() {
        let routing = Routing::draw(50, 6, 2, 1);
        let mut sums = [0f32; 50];
        for rows in routing.indptr.windows(2) {
            let tokens = &routing.indices[rows[0] as usize..rows[1] as usize];
            assert!(tokens.is_sorted_by(|a, b| a < b), "one entry per token and expert");
            for at in rows[0]..rows[1] {
                sums[routing.indices[at as usize] as usize] += routing.weights[at as usize];
            }
        }
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-6));
        assert_eq!(routing.indptr[5], routing.indptr[6], "nobody likes the last expert");
        assert_eq!(Routing::draw(3, 1, 1, 1).indptr, [0, 3]);
    }
}
