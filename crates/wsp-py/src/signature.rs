//! What a program takes by name: tensors, tables and sizes, with the names that the user gave them.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use wsp_core::DType;
use wsp_core::int::{BinOp, Int as _, UnOp};
use wsp_ir::workload::{IntExpr, IntExprKind, ParamSource, WorkloadModule};
use wsp_ordered::OrderedSet;
use wsp_trace::Trace;

/// Who makes a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// The caller gives an array.
    Argument,
    /// The program: zeros at the start of each run.
    Temporary,
    /// The program: a slot with its first value. The caller may give an array to see its last value.
    Slot,
}

/// A tensor of the program.
#[derive(Clone, Debug)]
pub(crate) struct TensorFact {
    /// As the user calls it.
    pub(crate) given: String,
    /// As the workload's module calls it.
    pub(crate) name: String,
    /// Type of its elements.
    pub(crate) dtype: DType,
    /// Extents over sizes.
    pub(crate) dims: Vec<IntExpr>,
    /// Who makes it.
    pub(crate) role: Role,
    /// Whether some task may write it.
    pub(crate) written: bool,
}

/// A launch-time list of integers.
#[derive(Clone, Debug)]
pub(crate) struct TableFact {
    /// As the user calls it.
    pub(crate) given: String,
    /// As the workload's module calls it.
    pub(crate) name: String,
    /// Whether it has elements of its own.
    pub(crate) inline: bool,
}

/// A size.
#[derive(Clone, Debug)]
pub(crate) struct ParamFact {
    /// As the user calls it.
    pub(crate) given: String,
    /// As the workload's module calls it.
    pub(crate) name: String,
    /// Whether it follows from others and cannot be set.
    pub(crate) derived: bool,
    /// Whether it has a value when it is not set.
    pub(crate) default: bool,
}

/// An array of a used file.
#[derive(Clone, Debug)]
pub(crate) struct LibraryArray {
    /// Its name.
    pub(crate) name: String,
    /// What it is, for people: `f32[rows, 32]`, `table`, `pages`.
    pub(crate) what: String,
    /// Whether its elements are real numbers.
    pub(crate) is_float: bool,
    /// Whether it holds keys or values in pages.
    pub(crate) is_cache: bool,
    /// Whether kernels that run load from it.
    pub(crate) read: bool,
    /// Whether kernels that run store to it.
    pub(crate) written: bool,
}

/// What kernels of a used file do with the caller's arrays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Taken {
    /// Arrays of real numbers in row-major order are used where they lie, and others in a copy.
    #[default]
    InPlace,
    /// All are used in a copy: the target has memory of its own, or another process runs the program.
    Copied,
}

/// What a used file takes.
#[derive(Clone, Debug, Default)]
pub(crate) struct LibraryFacts {
    /// How its arrays are taken.
    pub(crate) taken: Taken,
    /// Arrays.
    pub(crate) arrays: Vec<LibraryArray>,
    /// Names of parameters.
    pub(crate) params: Vec<String>,
}

impl LibraryFacts {
    /// The array of a name.
    pub(crate) fn array(&self, name: &str) -> Option<&LibraryArray> {
        self.arrays.iter().find(|array| array.name == name)
    }
}

/// What a program takes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signature {
    /// Tensors, in the module's order.
    pub(crate) tensors: Vec<TensorFact>,
    /// Tables, in the module's order.
    pub(crate) tables: Vec<TableFact>,
    /// Sizes, in the module's order.
    pub(crate) params: Vec<ParamFact>,
    /// What the used file takes; nothing without one.
    pub(crate) library: LibraryFacts,
}

impl Signature {
    /// What the workload of a trace takes; `written` has the module's names of tensors that tasks may write.
    pub(crate) fn new(trace: &Trace, written: &OrderedSet<String>, library: LibraryFacts) -> Signature {
        let module = &trace.workload;
        let slots: OrderedSet<usize> = module.slots.iter().map(|slot| slot.tensor.index()).collect();
        let tensors = module.tensors.iter().enumerate().map(|(t, tensor)| TensorFact {
            given: given(&trace.names.tensors, t, &tensor.name),
            name: tensor.name.clone(),
            dtype: tensor.dtype,
            dims: tensor.dims.clone(),
            role: match (slots.contains(&t), trace.temporaries.get(t)) {
                (true, _) => Role::Slot,
                (false, Some(true)) => Role::Temporary,
                (false, _) => Role::Argument,
            },
            written: written.contains(&tensor.name),
        });
        let tables = module.tables.iter().enumerate().map(|(t, table)| TableFact {
            given: given(&trace.names.tables, t, &table.name),
            name: table.name.clone(),
            inline: table.values.is_some(),
        });
        let params = module.params.iter().enumerate().map(|(p, param)| ParamFact {
            given: given(&trace.names.params, p, &param.name),
            name: param.name.clone(),
            derived: matches!(param.source, ParamSource::Derived(_)),
            default: matches!(param.source, ParamSource::Set(Some(_))),
        });
        Signature { tensors: tensors.collect(), tables: tables.collect(), params: params.collect(), library }
    }

    /// The names that a caller may give, in the order of tensors, tables, sizes.
    pub(crate) fn names(&self) -> Vec<&str> {
        let tensors = self.tensors.iter().filter(|t| t.role != Role::Temporary).map(|t| t.given.as_str());
        let params = self.params.iter().filter(|p| !p.derived).map(|p| p.given.as_str());
        let arrays = self.library.arrays.iter().map(|array| array.name.as_str());
        let library = arrays.chain(self.library.params.iter().map(String::as_str));
        let mut names: Vec<&str> =
            tensors.chain(self.tables.iter().map(|t| t.given.as_str())).chain(params).collect();
        names.extend(library);
        names.dedup();
        names
    }

    /// The extents of a tensor as the user reads them: `[seq, 512]`.
    pub(crate) fn extents(&self, tensor: &TensorFact) -> String {
        let dims: Vec<String> = tensor.dims.iter().map(|dim| self.extent(dim)).collect();
        format!("[{}]", dims.join(", "))
    }

    fn extent(&self, dim: &IntExpr) -> String {
        match &dim.kind {
            IntExprKind::Const(value) => value.to_string(),
            IntExprKind::Param(id) => self.params[id.index()].given.clone(),
            IntExprKind::Binary(op, a, b) => {
                let (a, b) = (self.extent(a), self.extent(b));
                match op {
                    BinOp::Add => format!("({a} + {b})"),
                    BinOp::Sub => format!("({a} - {b})"),
                    BinOp::Mul => format!("({a} * {b})"),
                    BinOp::Div => format!("({a} // {b})"),
                    BinOp::CeilDiv => format!("ceildiv({a}, {b})"),
                    _ => "…".to_owned(),
                }
            }
            _ => "…".to_owned(),
        }
    }

    /// Tensors as Python sees them: `name`, `dtype`, `dims` as text, `role`, `written`.
    pub(crate) fn tensors_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for tensor in &self.tensors {
            let entry = PyDict::new(py);
            entry.set_item("name", &tensor.given)?;
            entry.set_item("dtype", tensor.dtype.name())?;
            entry.set_item("dims", tensor.dims.iter().map(|d| self.extent(d)).collect::<Vec<_>>())?;
            let role = match tensor.role {
                Role::Argument => "argument",
                Role::Temporary => "temporary",
                Role::Slot => "slot",
            };
            entry.set_item("role", role)?;
            entry.set_item("written", tensor.written)?;
            list.append(entry)?;
        }
        Ok(list)
    }

    /// What a used file takes, as Python sees it: names with what each is.
    pub(crate) fn library_list(&self) -> Vec<(&str, &str)> {
        let arrays = self.library.arrays.iter().map(|array| (array.name.as_str(), array.what.as_str()));
        arrays.chain(self.library.params.iter().map(|name| (name.as_str(), "parameter"))).collect()
    }

    /// Tables as Python sees them: `name`, `inline`.
    pub(crate) fn tables_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for table in &self.tables {
            let entry = PyDict::new(py);
            entry.set_item("name", &table.given)?;
            entry.set_item("inline", table.inline)?;
            list.append(entry)?;
        }
        Ok(list)
    }

    /// Sizes as Python sees them: `name`, `derived`, `default`.
    pub(crate) fn params_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for param in &self.params {
            let entry = PyDict::new(py);
            entry.set_item("name", &param.given)?;
            entry.set_item("derived", param.derived)?;
            entry.set_item("default", param.default)?;
            list.append(entry)?;
        }
        Ok(list)
    }
}

fn given(names: &[String], index: usize, fallback: &str) -> String {
    names.get(index).map_or_else(|| fallback.to_owned(), Clone::clone)
}

/// The value of an extent where sizes have these values; none where it needs one that is not known, or has none.
pub(crate) fn value(expr: &IntExpr, module: &WorkloadModule, sizes: &[Option<i64>]) -> Option<i64> {
    match &expr.kind {
        IntExprKind::Const(value) => Some(*value),
        IntExprKind::Param(id) => match (sizes.get(id.index())?, &module.params.get(id.index())?.source) {
            (Some(value), _) => Some(*value),
            // Sources name earlier sizes only.
            (None, ParamSource::Set(Some(source)) | ParamSource::Derived(source)) => {
                value(source, module, sizes)
            }
            (None, ParamSource::Set(None)) => None,
        },
        IntExprKind::Unary(UnOp::Neg, a) => value(a, module, sizes)?.negated().ok(),
        IntExprKind::Binary(op, a, b) => {
            i64::binary(*op, value(a, module, sizes)?, value(b, module, sizes)?).ok()
        }
        IntExprKind::Chain(first, rest) => {
            rest.iter().try_fold(value(first, module, sizes)?, |sum, (op, b)| {
                i64::binary(*op, sum, value(b, module, sizes)?).ok()
            })
        }
        _ => None,
    }
}
