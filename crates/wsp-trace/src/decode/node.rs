//! Statements of workloads.

use super::place::At;
use crate::wire::{Decoded, Fields, Json, items, unknown_word};
use wsp_core::{AxisId, ChannelId, KernelId, LabelId, TensorId, VarId, WorkloadId};
use wsp_ir::workload::{
    Access, Arg, ArgValue, Arm, Block, DimRange, Iteration, Node, NodeKind, Process, Task,
};

/// The forms of a statement.
pub(super) const FORMS: &[&str] = &[
    "task",
    "parallel_for",
    "for_each",
    "select",
    "cond",
    "while",
    "combine",
    "sequential",
    "call",
    "pipeline",
    "send",
    "consume",
    "close",
];

fn var(json: &Json<'_>) -> Decoded<VarId> {
    json.number().map(VarId)
}

fn label(json: &Json<'_>) -> Decoded<LabelId> {
    json.number().map(LabelId)
}

fn axis(json: &Json<'_>) -> Decoded<AxisId> {
    json.number().map(AxisId)
}

impl At<'_> {
    /// A statement.
    pub(super) fn node(self, json: &Json<'_>) -> Decoded<Node> {
        self.form(json, |fields, at| {
            let kind = match fields.kind()? {
                "task" => NodeKind::Task(at.task(fields)?),
                "parallel_for" => {
                    let (var, over, body) = at.counted(fields)?;
                    NodeKind::ParallelFor { var, over, body }
                }
                "for_each" => {
                    let (var, over, body) = at.counted(fields)?;
                    NodeKind::ForEach { var, over, body }
                }
                "select" => NodeKind::Select {
                    var: fields.required("var", var)?,
                    position: fields.optional("position", var)?,
                    axis: fields.required("axis", axis)?,
                    row: fields.required("row", |json| at.expr(json))?,
                    body: at.body(fields, "body")?,
                },
                "cond" => NodeKind::Cond {
                    condition: fields.required("condition", |json| at.expr(json))?,
                    then: at.body(fields, "then")?,
                    otherwise: at.body(fields, "otherwise")?,
                },
                "while" => NodeKind::While {
                    condition: fields.required("condition", |json| at.expr(json))?,
                    max: fields.optional("max", |json| at.expr(json))?,
                    body: at.body(fields, "body")?,
                },
                "combine" => NodeKind::Combine(at.blocks(fields)?),
                "sequential" => NodeKind::Sequential(at.blocks(fields)?),
                "call" => NodeKind::Call {
                    workload: WorkloadId(fields.required("workload", Json::number)?),
                    args: fields.list("args", |json| at.expr(json))?,
                },
                "pipeline" => {
                    NodeKind::Pipeline { processes: fields.list("processes", |json| at.process(json))? }
                }
                "send" => {
                    let Arm { channel, var, body, .. } = at.arm(fields)?;
                    NodeKind::Send { channel, var, body }
                }
                "consume" => NodeKind::Consume {
                    arms: fields.list("arms", |json| at.form(json, |fields, at| at.arm(fields)))?,
                    all: fields.flag("all")?,
                },
                "close" => NodeKind::Close { channel: ChannelId(fields.required("channel", Json::number)?) },
                other => return Err(unknown_word(other, FORMS.iter().copied()).in_field("k")),
            };
            Ok(Node { kind, span: at.span })
        })
    }

    /// The statements of a field.
    fn body<'a>(self, fields: &mut Fields<'a>, name: &'static str) -> Decoded<Block> {
        fields.list(name, |json| self.node(json))
    }

    fn blocks(self, fields: &mut Fields<'_>) -> Decoded<Vec<Block>> {
        fields.list("blocks", |json| items(json, |json| self.node(json)))
    }

    /// What both kinds of loops have.
    fn counted(self, fields: &mut Fields<'_>) -> Decoded<(VarId, Iteration, Block)> {
        let var = fields.required("var", var)?;
        let over = fields.required("over", |json| self.iteration(json))?;
        Ok((var, over, self.body(fields, "body")?))
    }

    fn iteration(self, json: &Json<'_>) -> Decoded<Iteration> {
        self.form(json, |fields, at| {
            Ok(match fields.kind()? {
                "axis" => Iteration::Axis(fields.required("id", axis)?),
                "ragged" => Iteration::Ragged {
                    axis: fields.required("id", axis)?,
                    outer: fields.required("outer", |json| at.expr(json))?,
                },
                "range" => Iteration::Range {
                    lo: fields.required("lo", |json| at.expr(json))?,
                    hi: fields.required("hi", |json| at.expr(json))?,
                    step: fields.optional("step", |json| at.expr(json))?,
                },
                other => {
                    return Err(unknown_word(other, ["axis", "ragged", "range"].into_iter()).in_field("k"));
                }
            })
        })
    }

    fn process(self, json: &Json<'_>) -> Decoded<Process> {
        self.form(json, |fields, at| {
            let name = fields.name()?;
            Ok(Process { name, body: at.body(fields, "body")?, span: at.span })
        })
    }

    /// A send, or an arm of a consume.
    fn arm(self, fields: &mut Fields<'_>) -> Decoded<Arm> {
        let channel = ChannelId(fields.required("channel", Json::number)?);
        let var = fields.required("var", var)?;
        Ok(Arm { channel, var, body: self.body(fields, "body")?, span: self.span })
    }

    fn task(self, fields: &mut Fields<'_>) -> Decoded<Task> {
        Ok(Task {
            kernel: KernelId(fields.required("kernel", Json::number)?),
            label: fields.optional("label", label)?,
            args: fields.list("args", |json| self.arg(json))?,
            after: fields.list("after", label)?,
        })
    }

    fn arg(self, json: &Json<'_>) -> Decoded<Arg> {
        self.form(json, |fields, at| {
            let name = fields.optional("name", Json::name)?;
            let value = if fields.has("scalar") {
                ArgValue::Scalar(fields.required("scalar", |json| at.expr(json))?)
            } else {
                ArgValue::Access(Access {
                    tensor: TensorId(fields.required("tensor", Json::number)?),
                    ranges: fields.list("ranges", |json| at.range(json))?,
                    span: at.span,
                })
            };
            Ok(Arg { name, value })
        })
    }

    fn range(self, json: &Json<'_>) -> Decoded<DimRange> {
        self.form(json, |fields, at| {
            let expr = |json| at.expr(json);
            Ok(match fields.kind()? {
                "whole" => DimRange::Whole,
                "index" => DimRange::Index(fields.required("i", expr)?),
                "range" => {
                    DimRange::Range { lo: fields.required("lo", expr)?, hi: fields.required("hi", expr)? }
                }
                "sized" => {
                    DimRange::Sized { lo: fields.required("lo", expr)?, len: fields.required("len", expr)? }
                }
                other => {
                    let forms = ["whole", "index", "range", "sized"];
                    return Err(unknown_word(other, forms.into_iter()).in_field("k"));
                }
            })
        })
    }
}
