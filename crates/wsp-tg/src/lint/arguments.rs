//! Bindings against signatures, and edges against what kernels do.

use super::{
    ARGUMENT, CONTRADICTION, Cx, MISALIGNED, READ_AS, REDUNDANT, TOO_SMALL, WRONG_EDGE, error, note, warning,
};
use std::collections::HashMap;
use wsp_core::DType;
use wsp_core::tg::{
    DependencyType, Direction, ExprOp, Instr, KernelNo, Scalar, ScalarType, TensorNo, TensorRef,
};
use wsp_core::words::counted;
use wsp_ir::tg::outline::{Affine, NumberMap, Variable};
use wsp_ir::tg::{ArgSignature, KernelSignature};

pub(super) fn check(cx: &mut Cx<'_>) {
    let module = cx.module;
    let mut kernels = NumberMap::new(module.instrs.len());
    let mut bound = vec![0u32; cx.outline.kernels.len()];
    let signatures: Vec<Option<&KernelSignature>> =
        (0..cx.outline.kernels.len() as u32).map(|kernel| cx.signatures.get(cx.entry_of(kernel))).collect();
    for (at, instr) in module.instrs.iter().enumerate() {
        let at = at as u32;
        match *instr {
            Instr::TgBegin { graph_id } => {
                if let Some(graph) = cx.outline.graph(graph_id) {
                    cx.outline.kernel_map(graph, &mut kernels);
                }
            }
            Instr::CfIf { condition } | Instr::CfWhile { condition, .. } | Instr::CfBreak { condition } => {
                loads(cx, at, condition);
            }
            Instr::CfLoop { count: scalar, .. } | Instr::TgInvoke { iteration: scalar, .. } => {
                loads(cx, at, scalar);
            }
            Instr::McBind { kernel_id, arg_index, ref tensor_id, size, offset, direction } => {
                let Some(kernel) = kernels.get(kernel_id.0) else { continue };
                bound[kernel as usize] += 1;
                let Some(signature) = signatures[kernel as usize] else { continue };
                match signature.args.get(arg_index as usize) {
                    Some(arg) => {
                        let binding = Binding { at, kernel, arg_index, direction };
                        bytes(cx, &binding, arg, tensor_id, (offset, size));
                        directions(cx, &binding, arg);
                        types(cx, &binding, arg, tensor_id);
                        shapes(cx, &binding, arg, tensor_id);
                        alignment(cx, &binding, arg, offset);
                    }
                    None => too_many(cx, at, kernel, arg_index, signature),
                }
            }
            _ => {}
        }
    }
    for (kernel, signature) in signatures.iter().enumerate() {
        if let Some(signature) = signature {
            missing(cx, kernel as u32, bound[kernel], signature);
        }
    }
    edges(cx);
}

/// A binding of an argument.
struct Binding {
    at: u32,
    kernel: u32,
    arg_index: u32,
    direction: Direction,
}

fn missing(cx: &mut Cx<'_>, kernel: u32, bound: u32, signature: &KernelSignature) {
    let def = cx.outline.kernels[kernel as usize];
    let name = cx.kernel_name(kernel);
    if let Some(arg) = signature.args.get(bound as usize) {
        let message = format!("argument {bound} of kernel `{name}` is not bound");
        let found =
            cx.on(error(ARGUMENT, message), def.at, &format!("`{}` takes `{}`", signature.name, arg.name));
        let found = found.note(format!("{} arguments, of which {bound} are bound", signature.args.len()));
        cx.report(found.help(format!("MC_BIND({name}, {bound}, TENSOR)")));
    }
    let Instr::TgKernel { workspace_size, .. } = cx.module.instrs[def.at as usize] else { return };
    if workspace_size < signature.workspace {
        let message = format!("kernel `{name}` has too little workspace");
        let found = cx.on(error(TOO_SMALL, message), def.at, &counted(workspace_size, "byte").to_string());
        let need = signature.workspace;
        cx.report(
            found
                .note(format!("`{}` needs {}", signature.name, counted(need, "byte")))
                .help(format!("give it {need}")),
        );
    }
}

fn too_many(cx: &mut Cx<'_>, at: u32, kernel: u32, arg: u32, signature: &KernelSignature) {
    let name = cx.kernel_name(kernel);
    let found = cx.on(error(ARGUMENT, format!("kernel `{name}` has no argument {arg}")), at, "");
    let names: Vec<&str> = signature.args.iter().map(|arg| arg.name.as_str()).collect();
    let found = found.note(format!("`{}` takes {}: {}", signature.name, names.len(), names.join(", ")));
    cx.report(found.help("remove the binding"));
}

/// Whether the bytes bound can hold what the kernel takes: in each round, or in one that is certain to come.
fn bytes(
    cx: &mut Cx<'_>,
    binding: &Binding,
    arg: &ArgSignature,
    tensor: &TensorRef,
    range: (Scalar, Scalar),
) {
    let Some(need) = arg.least_bytes() else { return };
    let block = cx.outline.kernels[binding.kernel as usize].block;
    let values = |scalar: Scalar| {
        let value = Affine::of(cx.module, scalar)?;
        let extremes = cx.outline.extremes(cx.module, block, &value)?;
        Some((extremes, cx.outline.takes_all(cx.module, block, &value)))
    };
    let (Some((offset, all_offsets)), Some((size, all_sizes))) = (values(range.0), values(range.1)) else {
        return;
    };
    let is_certain = all_offsets && all_sizes;
    for &no in cx.module.tensors_of(tensor) {
        let Some(def) = cx.outline.tensor(no) else { continue };
        let rest = |at: i128| def.bytes.map_or(i128::MAX, |bytes| i128::from(bytes).saturating_sub(at));
        // 0 bytes are the rest of the tensor.
        let fewest = if size.high == 0 { rest(offset.high) } else { size.high };
        let most = if size.low > 0 { size.high } else { rest(offset.low) };
        let have = if is_certain { most.min(fewest) } else { most };
        if have < i128::from(need) {
            let (name, what) = (cx.kernel_name(binding.kernel), &arg.name);
            let message =
                format!("argument {} of kernel `{name}` is bound to too few bytes", binding.arg_index);
            let have = counted(have.max(0) as u64, "byte").to_string();
            let found = cx.on(error(TOO_SMALL, message), binding.at, &have);
            let found = found.note(format!("`{what}` takes at least {need}: {}", shape(arg)));
            cx.report(found.help(format!("bind at least {}", counted(need, "byte"))));
            return;
        }
    }
}

/// Whether the first byte is one at which an element can begin.
fn alignment(cx: &mut Cx<'_>, binding: &Binding, arg: &ArgSignature, offset: Scalar) {
    let Some(size) = arg.dtype.map(|dtype| dtype.size() as i128).filter(|size| *size > 1) else { return };
    let Some(value) = Affine::of(cx.module, offset) else { return };
    let block = cx.outline.kernels[binding.kernel as usize].block;
    let mut first = value.constant.rem_euclid(size);
    for (variable, factor) in &value.terms {
        let Variable::Loop(iter) = *variable else { return };
        let counted = cx.outline.loop_of(cx.module, block, iter);
        let rounds = counted.and_then(|counted| cx.outline.count_of(cx.module, counted)).unwrap_or(1);
        // Round 1 is the first in which the variable counts.
        if first == 0 && rounds > 1 {
            first = factor.rem_euclid(size);
        } else if factor.rem_euclid(size) != 0 && rounds < 2 {
            return;
        }
    }
    if first == 0 {
        return;
    }
    let (name, what) = (cx.kernel_name(binding.kernel), &arg.name);
    let message = format!("argument {} of kernel `{name}` is bound at a misaligned byte", binding.arg_index);
    let label = match value.terms.is_empty() {
        true => format!("byte {}", value.constant),
        false => format!("{first} {} behind a multiple of {size}", if first == 1 { "byte" } else { "bytes" }),
    };
    let found = cx.on(warning(MISALIGNED, message), binding.at, &label);
    let dtype = arg.dtype.map_or("", |dtype| dtype.name());
    let found = found.note(format!("`{what}` takes elements of {}, `{dtype}`", counted(size as u64, "byte")));
    cx.report(found.help(format!("bind it at a multiple of {size}")));
}

/// Numbers that an instruction reads from memory: of another type than is declared, or at a constant byte at which none of them can begin.
fn loads(cx: &mut Cx<'_>, at: u32, scalar: Scalar) {
    let module = cx.module;
    for op in module.scalar(scalar) {
        if let ExprOp::Load(tensor, ty) = *op {
            read_as(cx, at, tensor, ty);
        }
    }
    for pair in module.scalar(scalar).windows(2) {
        let &[ExprOp::Const(byte), ExprOp::Load(tensor, ty)] = pair else { continue };
        let size = ty.size() as i64;
        if byte.rem_euclid(size) == 0 {
            continue;
        }
        let name = module.name(wsp_ir::tg::Namespace::Tensor, wsp_core::tg::GraphNo(0), tensor.0);
        let message = format!("a number of `{name}` is read at a misaligned byte");
        let found = cx.on(warning(MISALIGNED, message), at, &format!("byte {byte}"));
        let found = found.note(format!("a {ty:?} has {}", counted(size as u64, "byte")));
        cx.report(found.help(format!("read it at a multiple of {size}")));
    }
}

fn read_as(cx: &mut Cx<'_>, at: u32, tensor: TensorNo, ty: ScalarType) {
    let Some(declared) = cx.module.externs.iter().find(|declared| declared.tensor == tensor) else { return };
    let Some(dtype) = declared.dtype.filter(|dtype| ScalarType::of(*dtype) != Some(ty)) else { return };
    if (dtype, ty) == (DType::Bool, ScalarType::U8) {
        return;
    }
    let name = cx.module.name(wsp_ir::tg::Namespace::Tensor, wsp_core::tg::GraphNo(0), tensor.0);
    // No scalar holds these elements, and a larger one takes their neighbours in.
    let joins = ScalarType::of(dtype).is_none() && ty.size() as usize > dtype.size();
    let of = if dtype.is_float() || joins { error } else { warning };
    let message = format!("a number of `{name}` is read as another type");
    let label = format!("reads `{}`, and the elements are `{}`", ty.name(), dtype.name());
    let found = cx.on(of(READ_AS, message), at, &label).label(declared.span, "declared here");
    cx.report(match ScalarType::of(dtype) {
        Some(right) => found.help(format!("load({name}, BYTE, {})", right.name())),
        None if dtype.size() == 1 && !dtype.is_float() => found
            .note(format!("elements have 1 byte, and `{}` has {}", ty.name(), ty.size()))
            .help(format!("load({name}, BYTE, u8)")),
        None => found.help(format!(
            "let a kernel write an integer, and read that: scalars are {}",
            ScalarType::ALL.map(|(_, name)| name).join(", ")
        )),
    });
}

fn shape(arg: &ArgSignature) -> String {
    let extents: Vec<String> =
        arg.shape.iter().map(|extent| extent.map_or("?".to_owned(), |extent| extent.to_string())).collect();
    format!("{}[{}]", arg.dtype.map_or("", |dtype| dtype.name()), extents.join(", "))
}

fn directions(cx: &mut Cx<'_>, binding: &Binding, arg: &ArgSignature) {
    let misses = match (arg.direction, binding.direction) {
        (Direction::Auto, _) | (_, Direction::Auto | Direction::InOut) => false,
        (does, says) => does != says,
    };
    if misses {
        let (name, what) = (cx.kernel_name(binding.kernel), &arg.name);
        let message =
            format!("argument {} of kernel `{name}` is not {}", binding.arg_index, binding.direction.name());
        let found = cx.on(warning(CONTRADICTION, message), binding.at, "");
        let found = found.note(format!("the kernel's `{what}` is {}", arg.direction.name()));
        cx.report(found.help("leave the direction out: the kernel's signature gives it"));
    }
}

fn types(cx: &mut Cx<'_>, binding: &Binding, arg: &ArgSignature, tensor: &TensorRef) {
    let Some(wanted) = arg.dtype else { return };
    for &no in cx.module.tensors_of(tensor) {
        let Some(declared) = cx.module.externs.iter().find(|declared| declared.tensor == no) else {
            continue;
        };
        let Some(dtype) = declared.dtype.filter(|dtype| *dtype != wanted) else { continue };
        let (name, what) = (cx.kernel_name(binding.kernel), &arg.name);
        let message =
            format!("argument {} of kernel `{name}` is bound to elements of another type", binding.arg_index);
        let label = format!("{} bound to `{what}`, which takes {}", dtype.name(), wanted.name());
        let found = cx.on(error(CONTRADICTION, message), binding.at, &label);
        let found = found.label(declared.span, "declared here");
        let how = match arg.direction {
            Direction::In => "In",
            Direction::Out => "Out",
            Direction::InOut | Direction::Auto => "InOut",
        };
        let found = found.help(format!("declare it as {}, or bind another tensor", wanted.name()));
        cx.report(found.python(format!(
            "annotate the function's argument `{how}[{}]`; of a file's kernel, declare the tensor as {}",
            dtype.name(),
            wanted.name()
        )));
    }
}

/// Whether a declared tensor has rows of other extents than the kernel takes. The first extent follows from the bytes, which are compared elsewhere.
fn shapes(cx: &mut Cx<'_>, binding: &Binding, arg: &ArgSignature, tensor: &TensorRef) {
    for &no in cx.module.tensors_of(tensor) {
        let Some(declared) = cx.module.externs.iter().find(|declared| declared.tensor == no) else {
            continue;
        };
        let differs = |(have, want): (&u64, &Option<u64>)| want.is_some_and(|want| want != *have);
        let rows = || declared.shape.iter().zip(&arg.shape).skip(1);
        if declared.shape.len() != arg.shape.len() || !rows().any(differs) {
            continue;
        }
        let (name, what) = (cx.kernel_name(binding.kernel), &arg.name);
        let message =
            format!("argument {} of kernel `{name}` is bound to rows of another shape", binding.arg_index);
        let label = format!("{:?} bound to `{what}`, which takes {}", declared.shape, shape(arg));
        let found = cx.on(warning(CONTRADICTION, message), binding.at, &label);
        let found = found.label(declared.span, "declared here");
        cx.report(found.help("declare the shape that the kernel takes, or bind another tensor"));
    }
}

/// `DATA` edges from kernels that do not write the tensor, and `SOFT` edges beside others.
fn edges(cx: &mut Cx<'_>) {
    let module = cx.module;
    let mut kernels = NumberMap::new(module.instrs.len());
    let mut soft: Vec<(u32, (KernelNo, KernelNo))> = Vec::new();
    for (at, instr) in module.instrs.iter().enumerate() {
        let at = at as u32;
        match *instr {
            Instr::TgBegin { graph_id } => {
                if let Some(graph) = cx.outline.graph(graph_id) {
                    cx.outline.kernel_map(graph, &mut kernels);
                }
            }
            Instr::TgDepend { src_kernel, dst_kernel, dep_type, tensor_id } => {
                let (Some(src), Some(dst)) = (src_kernel.kernel(), dst_kernel.kernel()) else { continue };
                match dep_type {
                    DependencyType::Soft => soft.push((at, (src, dst))),
                    DependencyType::Data if tensor_id != TensorNo::NONE => {
                        if let Some(kernel) = kernels.get(src.0) {
                            writes(cx, at, kernel, tensor_id);
                        }
                    }
                    DependencyType::After | DependencyType::Barrier if tensor_id != TensorNo::NONE => {
                        let message = format!("the tensor of a {} edge says nothing", dep_type.name());
                        let found = cx.on(
                            note(REDUNDANT, message),
                            at,
                            "orders, and makes nothing visible by itself",
                        );
                        cx.report(found.help("leave it out, or make the edge a DATA edge"));
                    }
                    _ => {}
                }
            }
            Instr::TgEnd { .. } if !soft.is_empty() => soft_edges(cx, at, &std::mem::take(&mut soft)),
            _ => {}
        }
    }
}

/// `SOFT` edges of the graph that ends here, beside other edges of the same kernels.
fn soft_edges(cx: &mut Cx<'_>, end: u32, soft: &[(u32, (KernelNo, KernelNo))]) {
    let graph = cx.outline.graphs.partition_point(|graph| graph.at < end) - 1;
    let begin = cx.outline.graphs[graph].at;
    let mut hard: HashMap<(KernelNo, KernelNo), u32> = HashMap::new();
    for (at, instr) in (begin..end).zip(&cx.module.instrs[begin as usize..]) {
        if let Instr::TgDepend { src_kernel, dst_kernel, dep_type, .. } = *instr
            && let (Some(src), Some(dst)) = (src_kernel.kernel(), dst_kernel.kernel())
            && dep_type != DependencyType::Soft
        {
            hard.entry((src, dst)).or_insert(at);
        }
    }
    for (at, pair) in soft {
        if let Some(&other) = hard.get(pair) {
            let found = cx.on(note(REDUNDANT, "a SOFT edge beside another"), *at, "orders nothing");
            let found = cx.and(found, other, "this one joins the same kernels");
            cx.report(found.help("remove the SOFT edge"));
        }
    }
}

fn writes(cx: &mut Cx<'_>, at: u32, kernel: u32, tensor: TensorNo) {
    let Some(index) = cx.outline.tensor_index(tensor) else { return };
    let range = cx.accesses.of(index);
    let place = cx.outline.kernels[kernel as usize].at;
    let from = range.partition_point(|access| access.place < place);
    let mut own = range[from..].iter().take_while(|access| access.place == place);
    if own.any(|access| access.writes()) {
        return;
    }
    let (name, tensor) = (cx.kernel_name(kernel), cx.tensor_name(index));
    let binds = range[from..].first().filter(|access| access.place == place).copied();
    let message = format!("kernel `{name}` does not write `{tensor}`");
    let mut found = cx.on(warning(WRONG_EDGE, message), at, "carries nothing");
    if let Some(access) = binds {
        found = cx.and(found, access.at, "only read here");
    }
    cx.report(found.help("name the tensor that the second kernel needs, or order the two with AFTER"));
}
