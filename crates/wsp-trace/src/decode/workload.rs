//! The tables of a workload module.

use super::place::At;
use crate::wire::{Decoded, Fault, Fields, Json, codes, few};
use wsp_core::{AxisId, DType, ParamId, TableId, TensorId};
use wsp_ir::workload::{
    AccessMode, Axis, AxisKind, Channel, Kernel, KernelParam, Label, Param, ParamKind, ParamSource,
    Signature, Slot, Table, Tensor, Use, Var, Workload, WorkloadModule,
};

const PARAM_KINDS: &[(&str, ParamKind)] = &[
    ("scalar", ParamKind::Scalar),
    ("in", ParamKind::Tensor(AccessMode::In)),
    ("out", ParamKind::Tensor(AccessMode::Out)),
    ("inout", ParamKind::Tensor(AccessMode::InOut)),
];

/// Whether a tensor is a temporary.
const STORAGE: &[(&str, bool)] = &[("argument", false), ("temporary", true)];

/// An element type.
pub(super) fn dtype(json: &Json<'_>) -> Decoded<DType> {
    json.word(&DType::ALL.map(|dtype| (dtype.name(), dtype)))
}

/// The module, and which of its tensors are temporaries.
pub(super) fn module(json: &Json<'_>, at: At<'_>) -> Decoded<(WorkloadModule, Vec<bool>)> {
    at.form(json, |fields, at| {
        let uses = fields.list("uses", |json| at.used_file(json))?;
        let params = fields.list("params", |json| at.param(json))?;
        let tables = fields.list("tables", |json| at.table(json))?;
        let axes = fields.list("axes", |json| at.axis(json))?;
        let tensors = fields.list("tensors", |json| at.tensor(json))?;
        let slots = fields.list("slots", |json| at.slot(json))?;
        let kernels = fields.list("kernels", |json| at.kernel(json))?;
        let workloads = fields.list("workloads", |json| at.workload(json))?;
        let schedules = fields.list("schedules", |json| at.schedule(json))?;
        let (tensors, temporaries) = tensors.into_iter().unzip();
        let module = WorkloadModule {
            uses,
            params,
            tables,
            axes,
            tensors,
            slots,
            kernels,
            workloads,
            schedules,
            entry: None,
        };
        Ok((module, temporaries))
    })
}

impl At<'_> {
    fn used_file(self, json: &Json<'_>) -> Decoded<Use> {
        self.form(json, |fields, at| Ok(Use { path: fields.required("path", Json::string)?, span: at.span }))
    }

    fn param(self, json: &Json<'_>) -> Decoded<Param> {
        self.form(json, |fields, at| {
            let name = fields.name()?;
            let source = match fields.optional("value", |json| at.expr(json))? {
                Some(value) => ParamSource::Derived(value),
                None => ParamSource::Set(fields.optional("default", |json| at.expr(json))?),
            };
            Ok(Param { name, source, span: at.span })
        })
    }

    fn table(self, json: &Json<'_>) -> Decoded<Table> {
        self.form(json, |fields, at| {
            Ok(Table {
                name: fields.name()?,
                len: fields.optional("len", |json| at.expr(json))?,
                values: fields.optional("values", |json| crate::wire::items(json, Json::number))?,
                span: at.span,
            })
        })
    }

    fn axis(self, json: &Json<'_>) -> Decoded<Axis> {
        self.form(json, |fields, at| {
            let name = fields.name()?;
            let kind = fields.required("kind", |json| at.axis_kind(json))?;
            Ok(Axis { name, kind, span: at.span })
        })
    }

    fn axis_kind(self, json: &Json<'_>) -> Decoded<AxisKind> {
        self.form(json, |fields, at| {
            let axis = |json: &Json<'_>| json.number().map(AxisId);
            let table = |json: &Json<'_>| json.number().map(TableId);
            Ok(match fields.kind()? {
                "dense" => AxisKind::Dense {
                    start: fields.required("start", |json| at.expr(json))?,
                    end: fields.required("end", |json| at.expr(json))?,
                },
                "dense_dyn" => AxisKind::DenseDyn(ParamId(fields.required("param", Json::number)?)),
                "ragged" => AxisKind::Ragged {
                    outer: fields.required("outer", axis)?,
                    lengths: fields.required("lengths", table)?,
                },
                "sparse" => AxisKind::Sparse {
                    outer: fields.required("outer", axis)?,
                    indptr: fields.required("indptr", table)?,
                    indices: fields.required("indices", table)?,
                },
                other => {
                    let forms = ["dense", "dense_dyn", "ragged", "sparse"];
                    return Err(crate::wire::unknown_word(other, forms.into_iter()).in_field("k"));
                }
            })
        })
    }

    /// A tensor, and whether it is a temporary.
    fn tensor(self, json: &Json<'_>) -> Decoded<(Tensor, bool)> {
        self.form(json, |fields, at| {
            let name = fields.name()?;
            let dtype = fields.required("dtype", dtype)?;
            let dims = fields.list("dims", |json| at.expr(json))?;
            let temporary = fields.word("storage", STORAGE)?;
            Ok((Tensor { name, dtype, dims, span: at.span }, temporary))
        })
    }

    fn slot(self, json: &Json<'_>) -> Decoded<Slot> {
        self.form(json, |fields, at| {
            let tensor = TensorId(fields.required("tensor", Json::number)?);
            Ok(Slot { tensor, init: fields.required("init", |json| at.expr(json))?, span: at.span })
        })
    }

    fn kernel(self, json: &Json<'_>) -> Decoded<Kernel> {
        self.form(json, |fields, at| {
            let name = fields.name()?;
            let signature = if fields.flag("library")? {
                Signature::Library
            } else {
                if !fields.has("params") {
                    return Err(fields.missing("params"));
                }
                Signature::Declared(fields.short_list("params", kernel_param)?)
            };
            let place = fields.optional("unit", |json| json.word(Kernel::PLACES))?;
            let (unit, on_host) = place.unwrap_or_default();
            let cost = fields.optional("cost", |json| at.expr(json))?;
            Ok(Kernel { name, signature, unit, on_host, cost, span: at.span })
        })
    }

    fn workload(self, json: &Json<'_>) -> Decoded<Workload> {
        self.form(json, |fields, at| {
            let name = fields.name()?;
            let params = fields.required("params", Json::number)?;
            let vars = fields.list("vars", |json| at.named(json, |name, span| Var { name, span }))?;
            let labels = fields.list("labels", |json| at.named(json, |name, span| Label { name, span }))?;
            let channels = fields.list("channels", |json| at.channel(json))?;
            let body = fields.list("body", |json| at.node(json))?;
            if params as usize > vars.len() {
                let message = format!("{params} formal arguments, but {} variables", vars.len());
                return Err(Fault::new(codes::UNKNOWN_ID, message).in_field("params"));
            }
            few(params as usize, "formal arguments").map_err(|fault| fault.in_field("params"))?;
            Ok(Workload { name, params, vars, labels, channels, body, span: at.span })
        })
    }

    /// Something that has a name and nothing else.
    fn named<T>(self, json: &Json<'_>, make: impl FnOnce(String, wsp_diag::Span) -> T) -> Decoded<T> {
        self.form(json, |fields, at| Ok(make(fields.name()?, at.span)))
    }

    fn channel(self, json: &Json<'_>) -> Decoded<Channel> {
        self.form(json, |fields, at| {
            let name = fields.name()?;
            Ok(Channel::new(name, fields.required("depth", |json| at.expr(json))?, at.span))
        })
    }
}

fn kernel_param(json: &Json<'_>) -> Decoded<KernelParam> {
    let mut fields = Fields::of(json)?;
    let name = fields.name()?;
    let kind = fields.word("kind", PARAM_KINDS)?;
    fields.done()?;
    Ok(KernelParam { name, kind })
}
