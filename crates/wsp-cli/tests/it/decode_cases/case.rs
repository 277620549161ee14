//! The reference cases of `testdata/decode_cases`: problems by formula with their f64 results.

use pto_wsp::codes;
use std::path::Path;
use wsp_backend::KvLayout;
use wsp_check::generate::{Fill, Names, PageTable, Problem, QueryRows, Side, Unused, Values};
use wsp_check::to_u32;
use wsp_cli::files::Npz;
use wsp_core::DType;
use wsp_diag::Diagnostic;
use wsp_plan::{Array, Arrays};

/// A decode attention case.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// What its arrays are made from; in NHD until [`Case::arrays`] asks otherwise.
    pub(crate) problem: Problem,
    /// What products of queries and keys are multiplied by.
    pub(crate) sm_scale: f64,
    /// What is added to plain attention.
    pub(crate) extras: Extras,
    /// Lanes of an output.
    pub(crate) out_lanes: usize,
    /// The largest absolute value of a logit with some weight; 0 where it is of no interest.
    pub(crate) max_logit: f64,
    /// Outputs `[batch, q_heads, rows, out_lanes]`, of packed queries `[all rows, q_heads, out_lanes]`.
    pub(crate) o: Vec<f64>,
    /// `log2` of sums of exponentials, as outputs without lanes.
    pub(crate) lse: Vec<f64>,
    /// Results of parts of a request, when the case has them.
    pub(crate) partials: Option<Partials>,
    input_check: Vec<f64>,
}

/// What a case adds to plain attention; arrays of it are made with the others.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Extras {
    /// Bound of logits; 0 for none.
    pub(crate) soft_cap: f64,
    /// Tokens seen before a query's own; negative for all.
    pub(crate) window_left: i64,
    /// Whether heads have the slopes of ALiBi.
    pub(crate) alibi: bool,
    /// Whether heads have sinks.
    pub(crate) sinks: bool,
    /// The base of rotary embeddings; 0 for none.
    pub(crate) rope_theta: f64,
    /// What stored keys are multiplied by.
    pub(crate) k_scale: f64,
    /// What stored values are multiplied by.
    pub(crate) v_scale: f64,
}

/// Results of the chunks of each request.
#[derive(Clone, Debug)]
pub(crate) struct Partials {
    /// Tokens per chunk.
    pub(crate) chunk: u32,
    /// Per request, outputs `[chunks, q_heads, dim]`.
    pub(crate) o: Vec<Vec<f64>>,
    /// Per request, `[chunks, q_heads]`.
    pub(crate) lse: Vec<Vec<f64>>,
}

/// Partial results and what their merge gives.
#[derive(Clone, Debug)]
pub(crate) struct MergeCase {
    /// Rows to merge.
    pub(crate) rows: usize,
    /// Partial results per row.
    pub(crate) states: usize,
    /// Elements per result.
    pub(crate) dim: usize,
    /// Partial outputs `[rows, states, dim]`.
    pub(crate) v: Vec<f32>,
    /// Their `log2` sums `[rows, states]`.
    pub(crate) s: Vec<f64>,
    /// Merged outputs `[rows, dim]`.
    pub(crate) v_merged: Vec<f64>,
    /// Merged `log2` sums `[rows]`.
    pub(crate) s_merged: Vec<f64>,
}

impl Case {
    /// Reads a case and checks that its formula gives the numbers it was computed from.
    ///
    /// # Errors
    /// When the file is not such a case.
    pub(crate) fn load(path: &Path) -> Result<Case, Diagnostic> {
        let npz = Npz::open(path)?;
        let entries = npz.names();
        let case = CaseFile { npz, entries, path }.case()?;
        case.verify_inputs(path)?;
        Ok(case)
    }

    /// The arrays in a layout, with unused slots NaN.
    ///
    /// # Errors
    /// When memory does not suffice.
    pub(crate) fn arrays(&self, layout: KvLayout, names: &Names) -> Result<Arrays, Diagnostic> {
        Problem { layout, ..self.problem.clone() }.arrays(names)
    }

    fn verify_inputs(&self, path: &Path) -> Result<(), Diagnostic> {
        let q = reals(&self.problem.queries()?);
        let k = reals(&self.problem.pages(Side::Keys, Unused::Formula)?);
        let v = match self.problem.values {
            Values::OfTheirOwn => reals(&self.problem.pages(Side::Values, Unused::Formula)?),
            Values::OfKeys => vec![0.0; k.len()],
        };
        let page = (self.problem.page_size * self.problem.kv_heads * self.problem.dim) as usize;
        let over_pages = |x: &[f64]| -> f64 {
            self.problem.table.indices.iter().flat_map(|&p| &x[p as usize * page..][..page]).sum()
        };
        let got = [
            q.iter().sum(),
            q.iter().map(|x| x.abs()).sum(),
            over_pages(&k),
            over_pages(&v),
            q.first().copied().unwrap_or(0.0),
            k.first().copied().unwrap_or(0.0),
            v.last().copied().unwrap_or(0.0),
        ];
        // Sums in another order differ in the last places only.
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-7 * (1.0 + b.abs());
        if got.len() == self.input_check.len() && got.iter().zip(&self.input_check).all(close) {
            return Ok(());
        }
        Err(bad(path, "the formula does not give the inputs the case was computed from")
            .note(format!("have {got:?}, want {:?}", self.input_check)))
    }
}

impl MergeCase {
    /// Reads a merge case.
    ///
    /// # Errors
    /// When the file is not such a case.
    pub(crate) fn load(path: &Path) -> Result<MergeCase, Diagnostic> {
        let mut npz = Npz::open(path)?;
        let v = npz.read("v")?;
        let &[rows, states, dim] = v.shape() else {
            return Err(bad(path, "`v` is not [rows, states, dim]"));
        };
        let Some(values) = v.as_slice::<f32>() else { return Err(bad(path, "`v` is not f32")) };
        Ok(MergeCase {
            rows: rows as usize,
            states: states as usize,
            dim: dim as usize,
            v: values.to_vec(),
            s: reals(&npz.read("s_base2")?),
            v_merged: reals(&npz.read("v_merged")?),
            s_merged: reals(&npz.read("s_merged_base2")?),
        })
    }
}

struct CaseFile<'a> {
    npz: Npz,
    entries: Vec<String>,
    path: &'a Path,
}

impl CaseFile<'_> {
    fn real(&mut self, name: &str) -> Result<f64, Diagnostic> {
        let array = self.npz.read(name)?;
        match (array.as_slice::<f64>(), array.as_slice::<i64>(), array.dtype()) {
            (Some(&[x]), _, DType::F64) => Ok(x),
            (_, Some(&[n]), DType::I64) => Ok(n as f64),
            _ => Err(bad(self.path, &format!("`{name}` is not a single number"))),
        }
    }

    /// The number, or its default when the file says nothing of it.
    fn real_or(&mut self, name: &str, default: f64) -> Result<f64, Diagnostic> {
        if self.has(name) { self.real(name) } else { Ok(default) }
    }

    fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry == name)
    }

    fn count(&mut self, name: &str) -> Result<u32, Diagnostic> {
        let x = self.real(name)?;
        self.as_count(name, x)
    }

    fn count_or(&mut self, name: &str, default: u32) -> Result<u32, Diagnostic> {
        let x = self.real_or(name, f64::from(default))?;
        self.as_count(name, x)
    }

    fn as_count(&self, name: &str, x: f64) -> Result<u32, Diagnostic> {
        if x >= 0.0 && x <= f64::from(u32::MAX) && x.fract() == 0.0 {
            return Ok(x as u32);
        }
        Err(bad(self.path, &format!("`{name}` is {x}, not a count")))
    }

    fn flag(&mut self, name: &str) -> Result<bool, Diagnostic> {
        Ok(self.real_or(name, 0.0)? != 0.0)
    }

    fn counts(&mut self, name: &str) -> Result<Vec<u32>, Diagnostic> {
        to_u32(name, &self.npz.read(name)?)
    }

    fn reals(&mut self, name: &str) -> Result<Vec<f64>, Diagnostic> {
        let array = self.npz.read(name)?;
        if array.dtype() == DType::F64 {
            Ok(reals(&array))
        } else {
            Err(bad(self.path, &format!("`{name}` is not f64")))
        }
    }

    fn dtype(&mut self, name: &str) -> Result<DType, Diagnostic> {
        let text = self.npz.text(name)?;
        match DType::from_name(&text) {
            Some(dtype) if dtype.is_float() && dtype != DType::F64 => Ok(dtype),
            _ => Err(bad(self.path, &format!("`{name}` is `{text}`"))),
        }
    }

    fn fill(&mut self, which: &str) -> Result<Fill, Diagnostic> {
        let scale = if which == "q" { "meta_q_scale".to_owned() } else { format!("meta_{which}_fill_scale") };
        let constant = self.real_or(&format!("meta_{which}_const"), f64::NAN)?;
        let ramp = if which == "k" { self.real_or("meta_k_ramp", f64::NAN)? } else { f64::NAN };
        Ok(match (constant.is_nan(), ramp.is_nan()) {
            (false, _) => Fill::Constant(constant),
            (true, false) => Fill::Ramp { slope: ramp },
            (true, true) => Fill::Random { scale: self.real_or(&scale, 1.0)? },
        })
    }

    fn case(mut self) -> Result<Case, Diagnostic> {
        let latent_lanes = self.count_or("meta_dv", 0)?;
        let problem = self.problem(latent_lanes)?;
        self.check_table(&problem)?;
        let mut case = Case {
            sm_scale: self.real("meta_sm_scale")?,
            extras: self.extras()?,
            out_lanes: if latent_lanes > 0 { latent_lanes } else { problem.dim } as usize,
            max_logit: self.real_or("meta_max_logit", 0.0)?,
            o: self.reals("o")?,
            lse: self.reals("lse_base2")?,
            partials: self.partials(problem.lens.len())?,
            input_check: self.reals("input_check")?,
            problem,
        };
        if let QueryRows::Each(rows) = case.problem.rows {
            // Files have rows before heads.
            let heads = case.problem.q_heads as usize;
            case.o = heads_first(&case.o, rows as usize, heads, case.out_lanes);
            case.lse = heads_first(&case.lse, rows as usize, heads, 1);
        }
        Ok(case)
    }

    fn problem(&mut self, latent_lanes: u32) -> Result<Problem, Diagnostic> {
        let rows = match self.has("q_lens") {
            true => QueryRows::Packed(self.counts("q_lens")?),
            false => QueryRows::Each(self.count_or("meta_q_len", 1)?),
        };
        Ok(Problem {
            seed: u64::from(self.count("meta_seed")?),
            lens: self.counts("kv_lens")?,
            table: PageTable {
                indptr: self.counts("kv_indptr")?,
                indices: self.counts("kv_indices")?,
                last_page_len: self.counts("kv_last_page_len")?,
                pages: self.count("meta_num_pages")?,
            },
            prefix_pages: self.count_or("meta_prefix_pages", 0)?,
            rows,
            q_heads: self.count("meta_qh")?,
            kv_heads: self.count("meta_h")?,
            dim: self.count("meta_d")?,
            page_size: self.count("meta_page_size")?,
            dtype: self.dtype("meta_dtype")?,
            kv_dtype: self.dtype("meta_kv_dtype")?,
            layout: KvLayout::Nhd,
            values: if latent_lanes > 0 { Values::OfKeys } else { Values::OfTheirOwn },
            steep: false,
            q: self.fill("q")?,
            k: self.fill("k")?,
            v: self.fill("v")?,
        })
    }

    fn extras(&mut self) -> Result<Extras, Diagnostic> {
        Ok(Extras {
            soft_cap: self.real_or("meta_soft_cap", 0.0)?,
            window_left: self.real_or("meta_window_left", -1.0)? as i64,
            alibi: self.flag("meta_alibi")?,
            sinks: self.flag("meta_sink")?,
            rope_theta: self.real_or("meta_rope_theta", 0.0)?,
            k_scale: self.real_or("meta_k_scale", 1.0)?,
            v_scale: self.real_or("meta_v_scale", 1.0)?,
        })
    }

    fn check_table(&self, problem: &Problem) -> Result<(), Diagnostic> {
        let PageTable { indptr, indices, last_page_len, pages } = &problem.table;
        let batch = problem.lens.len();
        let whole = indptr.len() == batch + 1
            && last_page_len.len() == batch
            && indptr.windows(2).all(|w| w[0] <= w[1] && w[1] as usize <= indices.len())
            && indices.iter().all(|p| p < pages)
            && problem.page_size > 0;
        if whole { Ok(()) } else { Err(bad(self.path, "its page table is not one")) }
    }

    fn partials(&mut self, batch: usize) -> Result<Option<Partials>, Diagnostic> {
        let chunk = self.count_or("meta_part_chunk", 0)?;
        if chunk == 0 {
            return Ok(None);
        }
        let mut partials = Partials { chunk, o: Vec::new(), lse: Vec::new() };
        for b in 0..batch {
            partials.o.push(self.reals(&format!("part_o_b{b}"))?);
            partials.lse.push(self.reals(&format!("part_lse_b{b}"))?);
        }
        Ok(Some(partials))
    }
}

/// `[batch, rows, heads, lanes]` as `[batch, heads, rows, lanes]`.
fn heads_first(values: &[f64], rows: usize, heads: usize, lanes: usize) -> Vec<f64> {
    if rows <= 1 {
        return values.to_vec();
    }
    let mut out = Vec::with_capacity(values.len());
    for request in values.chunks_exact((rows * heads * lanes).max(1)) {
        for head in 0..heads {
            for row in 0..rows {
                out.extend_from_slice(&request[(row * heads + head) * lanes..][..lanes]);
            }
        }
    }
    out
}

fn bad(path: &Path, why: &str) -> Diagnostic {
    Diagnostic::error(codes::BAD_SOURCE_FILE, format!("`{}` is not a decode attention case", path.display()))
        .note(why.to_owned())
}

/// Elements of a float array as f64.
fn reals(array: &Array) -> Vec<f64> {
    wsp_check::reference::to_f64(array).unwrap_or_default()
}
