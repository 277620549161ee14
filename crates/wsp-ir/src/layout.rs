//! How tensors lie on a grid of tiles, as schedules say it.

use std::fmt;
use wsp_core::policy::{LayoutDim, MeshAxis};
use wsp_diag::{Diagnostic, Span};

/// How a tensor lies on the grid of a schedule.
#[derive(Clone, PartialEq, Debug)]
pub struct Layout {
    /// The name of the tensor: one of the workload, or of its used file.
    pub tensor: String,
    /// One entry for each of its dimensions.
    pub dims: Vec<LayoutDim>,
    /// Axes along which each tile has a part of a sum.
    pub pending: Vec<MeshAxis>,
    /// Where its name stands.
    pub span: Span,
}

impl Layout {
    /// A layout without pending sums.
    pub fn new(tensor: &str, dims: &[LayoutDim], span: Span) -> Layout {
        Layout { tensor: tensor.to_owned(), dims: dims.to_vec(), pending: Vec::new(), span }
    }

    /// The axis that stands in it twice, if one does.
    pub fn repeated(&self) -> Option<MeshAxis> {
        let axes = || self.dims.iter().filter_map(|dim| dim.axis()).chain(self.pending.iter().copied());
        MeshAxis::WORDS.iter().map(|(_, axis)| *axis).find(|axis| axes().filter(|of| of == axis).count() > 1)
    }

    /// What is wrong with it for a tensor of so many dimensions: the message, and what helps.
    pub fn fault(&self, rank: usize) -> Option<(String, String)> {
        let tensor = &self.tensor;
        if self.dims.len() != rank {
            let (has, said) = (counted(rank), counted(self.dims.len()));
            return Some((
                format!("`{tensor}` has {has}, and its layout is of {said}"),
                format!("give {rank}: `shard(x)`, `shard(y)` or `replicate` for each"),
            ));
        }
        let axis = self.repeated()?.word();
        Some((
            format!("axis `{axis}` of the grid stands twice in the layout of `{tensor}`"),
            format!(
                "write `replicate` for one of them: the tiles along `{axis}` hold one dimension in parts, or parts of a sum"
            ),
        ))
    }

    /// What stands between the brackets of `PTO_LAYOUT(…)`.
    pub fn in_spaces(&self) -> String {
        let dim = |dim: &LayoutDim| match dim {
            LayoutDim::Replicate => "PTO_REPLICATE".to_owned(),
            LayoutDim::Shard(axis) => format!("PTO_SHARD({})", axis.word()),
        };
        std::iter::once(self.tensor.clone()).chain(self.dims.iter().map(dim)).collect::<Vec<_>>().join(", ")
    }

    /// The name of its tensor, unknown.
    pub fn unknown(&self, code: wsp_diag::Code, at: Span, known: &[&str]) -> Diagnostic {
        let message = format!("there is no tensor `{}`", self.tensor);
        let fault = Diagnostic::error(code, message).at(at, "its layout");
        match wsp_diag::did_you_mean(&self.tensor, known.iter().copied()) {
            Some(meant) => fault.help(format!("did you mean `{meant}`?")),
            None => fault.help("name a tensor of the workload or of its used file"),
        }
    }
}

fn counted(dims: usize) -> String {
    wsp_core::words::counted(dims as u64, "dimension").to_string()
}

/// One entry of a list.
pub fn dim_text(dim: LayoutDim) -> String {
    match dim {
        LayoutDim::Replicate => "replicate".to_owned(),
        LayoutDim::Shard(axis) => format!("shard({})", axis.word()),
    }
}

/// What stands between the brackets of `layout(…)`.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.dims.iter().map(|dim| dim_text(*dim)).collect();
        write!(f, "{}, [{}]", self.tensor, dims.join(", "))?;
        self.pending.iter().try_for_each(|axis| write!(f, ", pending({})", axis.word()))
    }
}
