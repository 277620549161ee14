//! The keys of `--generate`, and what their values mean.

use super::data::Values;
use super::pairs::{Pairs, SpecError, error};
use std::path::PathBuf;
use std::str::FromStr;
use wsp_backend::KvLayout;
use wsp_core::DType;
use wsp_core::words::counted;
use wsp_diag::did_you_mean;

/// Most requests of a made-up batch.
const MAX_BATCH: u32 = 1 << 20;
/// Most heads, lanes or tokens per page.
const MAX_EXTENT: u32 = 1 << 16;

/// Keys of the grammar, each with its values.
const KEYS: &[(&str, &str)] = &[
    ("batch", "the number of requests"),
    ("len", "a length, `1/17/128`, `uniform(LOW,HIGH)`, `lognormal(MU,SIGMA)` or `ragged`"),
    ("lens", "a file with one length per line"),
    ("heads", "QUERY/KV, such as `32/8`"),
    ("dim", "elements per head"),
    ("page", "tokens per page"),
    ("rows", "queries per request, the last of its tokens"),
    ("prefix", "tokens that all requests begin with, a multiple of `page`"),
    ("dtype", "f16, bf16 or f32"),
    ("kv_dtype", "f16, bf16, f32, f8e4m3 or f8e5m2"),
    ("layout", "NHD or HND"),
];

/// What `wsp run --help` says of the grammar.
pub const HELP: &str = "\
Data to make up, as KEY=VALUE pairs joined by commas; each has a default.
For programs that take a paged KV cache:
  batch=N             number of requests [32]
  len=N               the same length for all
  len=A/B/C           these lengths, one request each
  len=uniform(LO,HI)  each length between LO and HI
  len=lognormal(M,S)  exp of a normal distribution, between 1 and 131072
  len=ragged          lognormal(6.2,1.0), one long, one empty, some of one token [this]
  lens=FILE           one length per line
  heads=Q/KV          query heads / KV heads [8/2]
  dim=N               elements per head [128]
  page=N              tokens per page [16]
  rows=N              queries per request, the last of its tokens [1]
  prefix=N            tokens that all requests begin with, beside their length [0]
  dtype=T             f16, bf16 or f32 [f16]
  kv_dtype=T          that of keys and values: also f8e4m3 or f8e5m2 [dtype]
  layout=L            NHD or HND [NHD]
Constants in the shapes of the program and its PTO_REFERENCE change these defaults.
Example: batch=16,len=4096,heads=32/8
For other programs:
  NAME=N              an extent that a shape names [256]
  dtype=T             f16, bf16 or f32, for inputs that take any [f32]
Example: rows=1000,cols=512
With a PTO_REFERENCE, weights, routing tables and row pointers are made to fit it:
  batch, len, lens    requests of `ragged_prefill` and `topk_indexer`, as above
  routes=N            experts per token of `moe_layer` [2]
Sizes that are a PTO_PARAM are set with --set.";

/// How long requests are.
#[derive(Clone, PartialEq, Debug)]
pub enum Lens {
    /// Mostly short, one long, one empty.
    Ragged,
    /// All the same.
    Fixed(u32),
    /// Each by itself.
    List(Vec<u32>),
    /// Between two bounds, both included.
    Uniform(u32, u32),
    /// `exp` of a normal distribution with this mean and deviation.
    Lognormal(f64, f64),
    /// One per line of a file.
    File(PathBuf),
}

/// What to make up.
#[derive(Clone, PartialEq, Debug)]
pub struct Spec {
    /// Requests; from the list of lengths when that is given.
    pub batch: Option<u32>,
    /// Lengths.
    pub lens: Lens,
    /// Query heads, a multiple of `kv_heads`.
    pub q_heads: u32,
    /// KV heads.
    pub kv_heads: u32,
    /// Elements per head.
    pub dim: u32,
    /// Tokens per page.
    pub page: u32,
    /// Queries per request.
    pub rows: u32,
    /// Tokens that all requests begin with; `lens` come after them.
    pub prefix: u32,
    /// Element type of queries, and of keys and values unless `kv_dtype` says otherwise.
    pub dtype: DType,
    /// Element type of keys and values.
    pub kv_dtype: Option<DType>,
    /// What values are.
    pub values: Values,
    /// Order of heads and tokens in a page.
    pub layout: Option<KvLayout>,
    /// Whether one row of seven of the queries is so large that its softmax has to be relative to the largest logit.
    pub steep: bool,
}

impl Default for Spec {
    /// A ragged batch with a quarter of the heads of a 32/8 model: with two KV heads the chunks of all requests fit the
    /// cores of the default machine model at once, so that long requests are split and merged.
    fn default() -> Spec {
        Spec {
            batch: None,
            lens: Lens::Ragged,
            q_heads: 8,
            kv_heads: 2,
            dim: 128,
            page: 16,
            rows: 1,
            prefix: 0,
            dtype: DType::F16,
            kv_dtype: None,
            values: Values::OfTheirOwn,
            layout: None,
            steep: true,
        }
    }
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Spec, SpecError> {
        Spec::from_pairs(&text.parse()?)
    }
}

impl Spec {
    /// Decode attention data from pairs.
    ///
    /// # Errors
    /// When a key or value is not of the grammar.
    pub fn from_pairs(pairs: &Pairs) -> Result<Spec, SpecError> {
        Spec::default().with(pairs)
    }

    /// This specification where the pairs say nothing else.
    ///
    /// # Errors
    /// When a key or value is not of the grammar.
    pub fn with(self, pairs: &Pairs) -> Result<Spec, SpecError> {
        let mut spec = self;
        for (key, value) in pairs.iter() {
            spec.set(key, value)?;
        }
        if pairs.has("len") && pairs.has("lens") {
            return error("both `len` and `lens` are given; keep one of them".to_owned());
        }
        if let (Lens::List(list), Some(batch)) = (&spec.lens, spec.batch)
            && list.len() != batch as usize
        {
            return error(format!(
                "`batch={batch}`, but `len` lists {}; leave `batch` out",
                counted(list.len(), "length")
            ));
        }
        if !spec.prefix.is_multiple_of(spec.page) {
            return error(format!(
                "`prefix={}` is no multiple of `page={}`; whole pages are shared",
                spec.prefix, spec.page
            ));
        }
        Ok(spec)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), SpecError> {
        match key {
            "batch" => self.batch = Some(number(key, value, 0, MAX_BATCH)?),
            "len" => self.lens = lens(value)?,
            "lens" if value.is_empty() => return error("`lens` needs the name of a file".to_owned()),
            "lens" => self.lens = Lens::File(PathBuf::from(value)),
            "heads" => (self.q_heads, self.kv_heads) = heads(value)?,
            "dim" => self.dim = number(key, value, 1, MAX_EXTENT)?,
            "page" => self.page = number(key, value, 1, MAX_EXTENT)?,
            "rows" => self.rows = number(key, value, 1, MAX_EXTENT)?,
            "prefix" => self.prefix = number(key, value, 0, u32::MAX)?,
            "dtype" => self.dtype = dtype(value)?,
            "kv_dtype" => self.kv_dtype = Some(kv_dtype(value)?),
            "layout" => {
                let Some(layout) = KvLayout::from_name(value) else {
                    return error(format!("`layout` is NHD or HND, not `{value}`"));
                };
                self.layout = Some(layout);
            }
            other => return error(format!("there is no `{other}`; {}", usage(other))),
        }
        Ok(())
    }
}

/// What to type for a key that may be misspelt.
pub(super) fn usage(key: &str) -> String {
    let names = KEYS.iter().map(|(name, _)| *name);
    let near = KEYS
        .iter()
        .find(|(name, _)| *name == key)
        .map(|(name, _)| *name)
        .or(did_you_mean(key, names.clone()));
    match near.and_then(|near| KEYS.iter().find(|(name, _)| *name == near)) {
        Some((name, what)) if *name == key => format!("`{name}=` takes {what}"),
        Some((name, what)) => format!("did you mean `{name}=`? it takes {what}"),
        None => format!("known are {}", names.collect::<Vec<_>>().join(", ")),
    }
}

pub(super) fn number(key: &str, value: &str, low: u32, high: u32) -> Result<u32, SpecError> {
    match value.replace('_', "").parse::<u32>() {
        Ok(n) if (low..=high).contains(&n) => Ok(n),
        Ok(n) => error(format!("`{key}={n}` is out of range: {low}..={high}")),
        Err(_) => error(format!("`{key}` takes a whole number from {low} to {high}, not `{value}`")),
    }
}

fn heads(value: &str) -> Result<(u32, u32), SpecError> {
    let (q, kv) = value.split_once('/').unwrap_or((value, value));
    let (q, kv) = (number("heads", q.trim(), 1, MAX_EXTENT)?, number("heads", kv.trim(), 1, MAX_EXTENT)?);
    if q % kv != 0 {
        return error(format!(
            "{q} query heads cannot share {kv} KV heads evenly; write QUERY/KV, such as `heads=32/8`"
        ));
    }
    Ok((q, kv))
}

pub(super) fn dtype(value: &str) -> Result<DType, SpecError> {
    match DType::from_name(value) {
        Some(dtype @ (DType::F16 | DType::Bf16 | DType::F32)) => Ok(dtype),
        _ => error(format!("`dtype` is f16, bf16 or f32, not `{value}`")),
    }
}

fn kv_dtype(value: &str) -> Result<DType, SpecError> {
    match DType::from_name(value) {
        Some(dtype @ (DType::F8E4m3 | DType::F8E5m2)) => Ok(dtype),
        _ => dtype(value)
            .map_err(|_| SpecError(format!("`kv_dtype` is f16, bf16, f32, f8e4m3 or f8e5m2, not `{value}`"))),
    }
}

fn lens(value: &str) -> Result<Lens, SpecError> {
    if value == "ragged" {
        return Ok(Lens::Ragged);
    }
    if let Some((name, rest)) = value.split_once('(') {
        let inner = rest.strip_suffix(')').map(|inner| inner.split_once(','));
        let Some(Some((a, b))) = inner else {
            return error(format!("`{name}` takes two numbers in parentheses, as in `{name}(1,4096)`"));
        };
        return distribution(name.trim(), a.trim(), b.trim());
    }
    if value.contains('/') {
        let list =
            value.split('/').map(|n| number("len", n.trim(), 0, u32::MAX)).collect::<Result<Vec<_>, _>>()?;
        return Ok(Lens::List(list));
    }
    if value.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(Lens::Fixed(number("len", value, 0, u32::MAX)?));
    }
    error(format!("`len={value}` is no length; {}", usage("len")))
}

fn distribution(name: &str, a: &str, b: &str) -> Result<Lens, SpecError> {
    match name {
        "uniform" => {
            let (low, high) = (number("len", a, 0, u32::MAX)?, number("len", b, 0, u32::MAX)?);
            if low > high {
                return error(format!("`uniform({low},{high})` is empty; the smaller bound stands first"));
            }
            Ok(Lens::Uniform(low, high))
        }
        "lognormal" => {
            let real = |text: &str| {
                let parsed = text.parse::<f64>().ok().filter(|x| x.is_finite());
                parsed.ok_or_else(|| SpecError(format!("`lognormal` takes two real numbers, not `{text}`")))
            };
            let (mu, sigma) = (real(a)?, real(b)?);
            if sigma < 0.0 {
                return error(format!("the deviation of `lognormal({mu},{sigma})` is negative"));
            }
            Ok(Lens::Lognormal(mu, sigma))
        }
        other => match did_you_mean(other, ["uniform", "lognormal"]) {
            Some(near) => error(format!("there is no distribution `{other}`; did you mean `{near}`?")),
            None => error(format!("there is no distribution `{other}`; known are uniform and lognormal")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(text: &str) -> String {
        text.parse::<Spec>().unwrap_err().0
    }

    #[test]
    fn all_keys_are_understood() {
        let spec: Spec = "batch=16, len=lognormal(7.2,1.0),heads=32/8,dim=64,page=8,dtype=bf16,layout=hnd"
            .parse()
            .unwrap();
        assert_eq!(spec.lens, Lens::Lognormal(7.2, 1.0));
        assert_eq!((spec.batch, spec.q_heads, spec.kv_heads, spec.dim, spec.page), (Some(16), 32, 8, 64, 8));
        assert_eq!((spec.dtype, spec.layout), (DType::Bf16, Some(KvLayout::Hnd)));
        assert_eq!("".parse::<Spec>().unwrap(), Spec::default());
        assert_eq!("heads=8".parse::<Spec>().unwrap().kv_heads, 8);
        let spec: Spec = "rows=4,prefix=64,kv_dtype=f8e5m2".parse().unwrap();
        assert_eq!((spec.rows, spec.prefix, spec.kv_dtype), (4, 64, Some(DType::F8E5m2)));
        assert_eq!("lens=a/b.txt".parse::<Spec>().unwrap().lens, Lens::File("a/b.txt".into()));
    }

    #[test]
    fn mistakes_say_what_to_type() {
        assert!(fails("bach=3").contains("did you mean `batch=`?"));
        assert!(fails("batch").contains("`batch=` takes the number of requests"));
        assert!(fails("batch=3,,len=4").contains("empty part"));
        assert!(fails("batch=3,batch=4").contains("twice"));
        assert!(fails("len=4,lens=x").contains("keep one"));
        assert!(fails("batch=2,len=1/2/3").contains("lists 3 lengths"));
        assert!(fails("heads=8/3").contains("evenly"));
        assert!(fails("heads=8/0").contains("out of range"));
        assert!(fails("len=uniform(9,3)").contains("smaller bound"));
        assert!(fails("len=uniform(9").contains("two numbers"));
        assert!(fails("len=unifrom(1,9)").contains("did you mean `uniform`?"));
        assert!(fails("len=lognormal(nan,1)").contains("real numbers"));
        assert!(fails("len=-4").contains("no length"));
        assert!(fails("len=99999999999").contains("whole number"));
        assert!(fails("dtype=i32").contains("f16, bf16 or f32"));
        assert!(fails("layout=HDN").contains("NHD or HND"));
        assert!(fails("kv_dtype=i8").contains("f8e4m3 or f8e5m2"));
        assert!(fails("prefix=40").contains("multiple of `page=16`"));
        assert!(fails("rows=0").contains("out of range"));
        assert!(fails("zzzzzz=1").contains("known are batch"));
        assert!(fails("page=0").contains("out of range"));
    }
}
