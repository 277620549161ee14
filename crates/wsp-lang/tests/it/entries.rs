//! Kernels with parameters become entries: their parameters, residents, block numbers and single elements.

use wsp_core::DType;
use wsp_diag::{SourceMap, render};
use wsp_ir::{Elem, KernelParam, Module, ScalarTy, StmtKind, Storage, text, verify};

#[track_caller]
fn compile(program: &str) -> Module {
    let mut sources = SourceMap::default();
    let (module, findings) = wsp_lang::compile("test.pto", program, &mut sources);
    let shown: String = findings.iter().map(|d| render(d, &sources, false)).collect();
    assert!(findings.is_empty(), "{shown}");
    let module = module.expect("there is a module when nothing is wrong");
    let broken: String = verify(&module).iter().map(|d| render(d, &sources, false)).collect();
    assert!(broken.is_empty(), "the verifier refuses the module\n{broken}");
    module
}

const SCALE: &str = "
PTO_PARAM(uint32_t, DIM, 8)
PTO_SHAPE(x, rows, DIM) PTO_SHAPE(y, rows, DIM) PTO_SHAPE(scratch, slots, DIM) PTO_SHAPE(count, 2)
PTO_RESIDENT(weight, half, DIM) PTO_RESIDENT(bias, half, DIM) PTO_RESIDENT(unused, half, DIM)
void add_bias(VecTile<float, 1, DIM>& t) {
    VecTile<half, 1, DIM> b;
    TLOAD(b, bias, {});
    TADD(t, t, b);
}
PTO_KERNEL_IMPL(scale, Tensor<half> x, Workspace<float> scratch, Tensor<float> y, Tensor<int32_t> count) {
    for (uint32_t r = get_block_idx(); r < rows; r += get_block_num()) {
        VecTile<half, 1, DIM> w;
        VecTile<half, 1, DIM> t;
        VecTile<float, 1, DIM> u;
        TLOAD(w, weight, {});
        TLOAD(t, x, {r});
        TMUL(u, t, w);
        add_bias(u);
        TSTORE(scratch, u, {get_block_idx()});
        TSTORE(y, u, {r});
    }
    PTO_STORE_SCALAR(count, count[0] + 1, {1});
}
PTO_KERNEL_IMPL(clear, Tensor<float> y) { PTO_STORE_SCALAR(y, 0.0f, {0, 0}); }
";

#[test]
fn an_entry_has_its_parameters_in_order_and_the_residents_that_it_uses() {
    let module = compile(SCALE);
    let [scale, clear] = &module.kernel_entries[..] else { panic!("two entries") };
    assert_eq!((module.entry_name(scale), module.entry_name(clear)), ("scale", "clear"));
    let named = |name: &str| module.tensor_named(name).expect("the tensor exists");
    assert_eq!(
        scale.params,
        [
            KernelParam::Argument(named("x")),
            KernelParam::Workspace(named("scratch")),
            KernelParam::Argument(named("y")),
            KernelParam::Argument(named("count")),
        ]
    );
    assert_eq!(scale.arguments().collect::<Vec<_>>(), ["x", "y", "count"].map(named));
    assert_eq!(scale.workspace(), Some(named("scratch")));
    assert_eq!(scale.residents, ["weight", "bias"].map(named));
    assert_eq!((clear.workspace(), &clear.residents[..]), (None, &[][..]));
}

#[test]
fn parameters_and_residents_have_their_type_and_are_bound_at_launch() {
    let module = compile(SCALE);
    for (name, dtype) in [("x", DType::F16), ("y", DType::F32), ("count", DType::I32), ("weight", DType::F16)]
    {
        let tensor = &module.tensors[module.tensor_named(name).expect("it exists").index()];
        assert_eq!((tensor.elem, &tensor.storage), (Elem::Fixed(dtype), &Storage::Launch), "{name}");
    }
}

#[test]
fn single_integers_are_stored_as_what_they_are() {
    let module = compile(SCALE);
    let scale = &module.functions[module.function_named("scale").expect("it exists").index()];
    let stored = scale.body.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::StoreScalar { value, .. } => Some(value.ty),
        _ => None,
    });
    assert_eq!(stored, Some(ScalarTy::I32));
}

#[test]
fn an_entry_reads_back_from_its_text() {
    let module = compile(SCALE);
    let printed = text::print(&module);
    assert!(printed.contains("kernel_entries: ["), "{printed}");
    let back = text::parse(&printed).expect("it is the text of a module");
    assert_eq!(text::print(&back), printed);
    assert!(verify(&back).is_empty());
}

#[test]
fn a_file_without_entries_says_nothing_of_them() {
    let module = compile("PTO_KERNEL_IMPL(k) { }");
    assert!(!text::print(&module).contains("kernel_entries"));
}

/// A module of [`SCALE`] after a change, and the code that the verifier reports.
fn broken(change: impl FnOnce(&mut Module)) -> Vec<u16> {
    let mut module = compile(SCALE);
    change(&mut module);
    verify(&module).iter().map(|d| d.code.0).collect()
}

#[test]
fn the_verifier_refuses_entries_that_are_none() {
    assert!(broken(|m| m.structs[0].fields.clear()).contains(&330));
    assert_eq!(broken(|m| m.kernel_entries.truncate(1)), [330, 331]);
    let again = |m: &mut Module| {
        let copy = m.kernel_entries[1].clone();
        m.kernel_entries.push(copy);
    };
    assert_eq!(broken(again), [330]);
}

#[test]
fn the_verifier_refuses_tensors_that_an_entry_is_not_given() {
    assert_eq!(broken(|m| m.kernel_entries[0].residents.clear()), [331, 331]);
    let twice = |m: &mut Module| {
        let first = m.kernel_entries[0].params[0];
        m.kernel_entries[0].params.push(first);
    };
    assert_eq!(broken(twice), [331]);
    assert_eq!(broken(|m| m.tensors[0].storage = Storage::Temporary), [331]);
}
