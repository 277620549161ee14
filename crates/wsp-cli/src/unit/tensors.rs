//! The tensors that whoever runs a unit provides: what is known of each, and who touches it.

use wsp_core::DType;
use wsp_core::tg::{Direction, ExprOp, GraphNo, Instr, KernelNo, Scalar, TensorNo};
use wsp_ir::tg::{ArgSignature, Namespace, RefValue, Signatures, TgModule};
use wsp_ordered::{OrderedMap, OrderedSet};

/// A tensor that is provided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitTensor {
    /// Its name.
    pub name: String,
    /// Type of its elements, if its declaration or a kernel says so.
    pub dtype: Option<DType>,
    /// Its shape, if its declaration or a kernel says so.
    pub shape: Option<Vec<u64>>,
    /// Whether a kernel, a copy or a condition may read it.
    pub is_read: bool,
    /// Whether a kernel or a copy may write it.
    pub is_written: bool,
    /// Whether anything uses it, also a reference.
    pub is_used: bool,
    /// Whether it belongs to a file of kernels, and not to the unit.
    pub is_resident: bool,
}

/// External tensors in the order of their declaration, then those that kernels keep resident, by name.
pub fn tensors(module: &TgModule, signatures: &Signatures) -> Vec<UnitTensor> {
    let mut uses = Uses::default();
    uses.collect(module, signatures);
    let residents: OrderedMap<&str, &ArgSignature> =
        uses.residents.iter().map(|arg| (arg.name.as_str(), *arg)).collect();
    let is_referenced = |tensor: TensorNo| {
        let mut values = module.references.iter().flat_map(|reference| &reference.bindings);
        values.any(|(_, value)| *value == RefValue::Tensor(tensor))
    };
    let mut all: Vec<UnitTensor> = module
        .externs
        .iter()
        .map(|tensor| {
            let of_kernel = uses.shapes.get(&tensor.tensor);
            let declared = (!tensor.shape.is_empty()).then(|| tensor.shape.clone());
            let name = module.name(Namespace::Tensor, GraphNo(0), tensor.tensor.0);
            let is_touched = uses.read.contains(&tensor.tensor) || uses.written.contains(&tensor.tensor);
            let is_used = is_touched || is_referenced(tensor.tensor) || residents.contains_key(name.as_str());
            UnitTensor {
                name,
                dtype: tensor.dtype.or_else(|| of_kernel.and_then(|(dtype, _)| *dtype)),
                shape: declared.or_else(|| of_kernel.and_then(|(_, shape)| shape.clone())),
                is_read: uses.read.contains(&tensor.tensor),
                is_written: uses.written.contains(&tensor.tensor),
                is_used,
                is_resident: false,
            }
        })
        .collect();
    for (name, arg) in residents {
        // A declaration of the unit says more than a kernel does.
        if !all.iter().any(|tensor| tensor.name == name) {
            all.push(UnitTensor {
                name: name.to_owned(),
                dtype: arg.dtype,
                shape: whole_shape(arg),
                is_read: arg.direction != Direction::Out,
                is_written: matches!(arg.direction, Direction::Out | Direction::InOut),
                is_used: true,
                is_resident: true,
            });
        }
    }
    all
}

/// What instructions say of tensors.
#[derive(Default)]
struct Uses<'a> {
    read: OrderedSet<TensorNo>,
    written: OrderedSet<TensorNo>,
    /// Of tensors that are bound from their first byte on.
    shapes: OrderedMap<TensorNo, (Option<DType>, Option<Vec<u64>>)>,
    residents: Vec<&'a ArgSignature>,
}

impl<'a> Uses<'a> {
    fn collect(&mut self, module: &'a TgModule, signatures: &'a Signatures) {
        let entries = entries(module);
        let mut graph = GraphNo(0);
        let used: OrderedSet<&str> = entries.values().copied().collect();
        self.residents = used.iter().filter_map(|e| signatures.get(e)).flat_map(|s| &s.resident).collect();
        for instr in &module.instrs {
            match instr {
                Instr::TgBegin { graph_id } => graph = *graph_id,
                Instr::McBind { kernel_id, arg_index, tensor_id, offset, size, direction } => {
                    let entry = entries.get(&(graph, *kernel_id));
                    let signature = entry.and_then(|entry| signatures.get(entry));
                    let arg = signature.and_then(|s| s.args.get(*arg_index as usize));
                    let whole = *offset == Scalar::Const(0) && *size == Scalar::Const(0);
                    for &tensor in module.tensors_of(tensor_id) {
                        self.bind(tensor, *direction, arg.filter(|_| whole), arg);
                    }
                }
                Instr::McCopy { src_tensor, dst_tensor, .. } => {
                    self.read.insert(*src_tensor);
                    self.written.insert(*dst_tensor);
                }
                _ => {}
            }
        }
        self.read.extend(module.exprs.iter().filter_map(|op| match op {
            ExprOp::Load(tensor, _) => Some(*tensor),
            _ => None,
        }));
    }

    /// `whole` is the argument, if all of the tensor is bound to it.
    fn bind(
        &mut self,
        tensor: TensorNo,
        said: Direction,
        whole: Option<&ArgSignature>,
        arg: Option<&ArgSignature>,
    ) {
        let direction =
            if said == Direction::Auto { arg.map_or(Direction::Auto, |arg| arg.direction) } else { said };
        if direction != Direction::Out {
            self.read.insert(tensor);
        }
        if direction != Direction::In {
            self.written.insert(tensor);
        }
        let Some(arg) = arg else { return };
        let known = self.shapes.entry(tensor).or_default();
        known.0 = known.0.or(arg.dtype);
        if known.1.is_none() {
            known.1 = whole.and_then(whole_shape);
        }
    }
}

/// The shape of an argument, if all of it is known.
fn whole_shape(arg: &ArgSignature) -> Option<Vec<u64>> {
    if arg.shape.is_empty() { None } else { arg.shape.iter().copied().collect() }
}

/// Entry symbols of kernels.
fn entries(module: &TgModule) -> OrderedMap<(GraphNo, KernelNo), &str> {
    let mut graph = GraphNo(0);
    let mut entries = OrderedMap::new();
    for instr in &module.instrs {
        match instr {
            Instr::TgBegin { graph_id } => graph = *graph_id,
            Instr::TgKernel { kernel_id, entry_symbol, .. } => {
                entries.insert((graph, *kernel_id), module.str(*entry_symbol));
            }
            _ => {}
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_diag::SourceMap;
    use wsp_ir::tg::KernelSignature;

    fn module(text: &str) -> TgModule {
        let (module, found) = wsp_isa::tg::text::parse("a.tg", text, &mut SourceMap::default());
        module.unwrap_or_else(|| panic!("{found:?}"))
    }

    fn arg(name: &str, direction: Direction, shape: &[Option<u64>]) -> ArgSignature {
        let dtype = Some(DType::F16);
        ArgSignature { dtype, shape: shape.to_vec(), ..ArgSignature::new(name, direction) }
    }

    #[test]
    fn what_a_declaration_leaves_open_a_kernel_says() {
        let module = module(
            "extern X\nextern Y: f32[8]\nextern Z\nextern F: i32[1]\n\
             TG_BEGIN(G)\nTG_KERNEL(K, k, 1, AIV, 0)\nMC_BIND(K, 0, X)\nMC_BIND(K, 1, Y)\nMC_BIND(K, 2, Z, 4)\n\
             CF_IF(F)\nCF_ENDIF\nTG_END(G)\n",
        );
        let mut signature = KernelSignature::new(
            "k",
            vec![
                arg("x", Direction::In, &[Some(4), Some(2)]),
                arg("y", Direction::Out, &[Some(9)]),
                arg("z", Direction::InOut, &[Some(3)]),
            ],
        );
        signature.resident.push(arg("w", Direction::In, &[Some(2), Some(2)]));
        let found = tensors(&module, &Signatures::from_iter([signature]));
        let names: Vec<&str> = found.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["X", "Y", "Z", "F", "w"]);
        assert_eq!((found[0].dtype, &found[0].shape), (Some(DType::F16), &Some(vec![4, 2])));
        assert_eq!((found[1].dtype, &found[1].shape), (Some(DType::F32), &Some(vec![8])));
        assert_eq!((found[2].dtype, &found[2].shape), (Some(DType::F16), &None), "bound from byte 4 on");
        let touched: Vec<(bool, bool)> = found.iter().map(|t| (t.is_read, t.is_written)).collect();
        assert_eq!(touched, [(true, false), (false, true), (true, true), (true, false), (true, false)]);
        assert!(found[4].is_resident);
    }

    #[test]
    fn a_kernel_that_nothing_is_known_of_reads_and_writes() {
        let module =
            module("extern X\nTG_BEGIN(G)\nTG_KERNEL(K, k, 1, AIV, 0)\nMC_BIND(K, 0, X)\nTG_END(G)\n");
        let found = tensors(&module, &Signatures::new());
        assert_eq!((found[0].is_read, found[0].is_written, &found[0].shape), (true, true, &None));
    }
}
