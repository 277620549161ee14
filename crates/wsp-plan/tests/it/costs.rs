//! Costs of tasks on machine models: numbers computed by hand, larger for larger sizes, and what cannot be told.

use wsp_core::{DType, ParamId, TensorId};
use wsp_diag::{Code, Diagnostic, FileId, SourceMap};
use wsp_ir::Module;
use wsp_plan::cost::{Known, of_kernel};
use wsp_plan::target::model::{self, Model, NAMES, Rates};

/// Values of parameters by name, fields of the descriptor, and one element type for all tensors.
struct Given<'a> {
    module: &'a Module,
    params: &'a [(&'a str, i128)],
    fields: &'a [u32],
    dtype: Option<DType>,
}

impl Known for Given<'_> {
    fn param(&self, param: ParamId) -> Option<i128> {
        let name = &self.module.params[param.index()].name;
        self.params.iter().find(|(of, _)| of == name).map(|(_, value)| *value)
    }

    fn field(&self, field: u32) -> Option<u32> {
        self.fields.get(field as usize).copied()
    }

    fn dtype(&self, _tensor: TensorId) -> Option<DType> {
        self.dtype
    }
}

fn compiled(text: &str) -> Module {
    let (module, found) = wsp_lang::compile("test.pto", text, &mut SourceMap::default());
    module.unwrap_or_else(|| panic!("{found:?}"))
}

fn cost(
    model: &Model,
    module: &Module,
    kernel: &str,
    params: &[(&str, i128)],
    fields: &[u32],
) -> Result<u64, Diagnostic> {
    let function = module.function_named(kernel).expect("the kernel is there");
    of_kernel(model, module, function, &Given { module, params, fields, dtype: Some(DType::F32) })
}

fn example(path: &str) -> Module {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/");
    compiled(&std::fs::read_to_string(format!("{root}{path}")).expect("the example is there"))
}

const PRODUCT: &str = "
PTO_PARAM(uint32_t, N, 64)
PTO_SHAPE(a, n, n)
PTO_SHAPE(b, n, n)
PTO_SHAPE(c, n, n)
struct Block { uint32_t row; };
PTO_KERNEL_IMPL(product) {
    auto desc = PTO_GET_DESCRIPTOR<Block>();
    LeftTile<half, N, N> x;
    RightTile<half, N, N> y;
    AccTile<float, N, N> z;
    TLOAD(x, a, {desc.row, 0});
    TLOAD(y, b, {0, 0});
    TMATMUL(z, x, y);
    TSTORE(c, z, {desc.row, 0});
}
";

const LOOP: &str = "
PTO_SHAPE(x, n)
struct Part { uint32_t first; uint32_t end; };
PTO_KERNEL_IMPL(fill) {
    auto desc = PTO_GET_DESCRIPTOR<Part>();
    for (uint32_t i = desc.first; i < desc.end; ++i) {
        PTO_STORE_SCALAR(x, 1.0f, {i});
    }
}
";

/// Five cycles of the kernel; a load of 4096 bytes at 100.9 GiB/s and a store at 188.46 GiB/s, at 1.85 GHz: 69.9 and 37.5;
/// 1024 elements: two reductions of 23 + 32, a difference of 23 + 16, a function and a quotient of 23 + 64.
#[test]
fn a_softmax_of_16_rows_costs_what_its_operations_do() {
    let model = model::named("ascend_910b").expect("it is there");
    let module = example("row_softmax.pto");
    let cycles = cost(model, &module, "softmax_rows", &[("rows", 100), ("cols", 64)], &[0]);
    let transfers = 4096.0 * 1.85e9 / (1u64 << 30) as f64 * (1.0 / 100.9 + 1.0 / 188.46);
    assert_eq!(cycles, Ok((5.0 + transfers + 2.0 * 55.0 + 39.0 + 2.0 * 87.0_f64).ceil() as u64));
    assert_eq!(cycles, Ok(436));
    // Of the last tile four rows are left: 256 elements.
    let last = cost(model, &module, "softmax_rows", &[("rows", 100), ("cols", 64)], &[96]);
    assert_eq!(last, Ok((5.0 + transfers / 4.0 + 2.0 * 31.0 + 27.0 + 2.0 * 39.0_f64).ceil() as u64));
}

/// PTO-ISA's cost model says 583 and 2552 cycles of products of 64³ and 128³, with results of half precision.
#[test]
fn products_cost_what_the_cost_model_of_pto_isa_says() {
    let model = model::named("ascend_910b").expect("it is there");
    let module = compiled(PRODUCT);
    let function = module.function_named("product").expect("it is there");
    for (n, theirs) in [(64, 583.0), (128, 2552.0)] {
        let given =
            Given { module: &module, params: &[("N", n), ("n", n)], fields: &[0], dtype: Some(DType::F16) };
        let ours = of_kernel(model, &module, function, &given).expect("it is known") as f64;
        assert!((ours / theirs - 1.0).abs() < 0.01, "{n}: {ours}, theirs {theirs}");
    }
    // 5 + 2 · 209.1 + (1 + 32.0) + (1 + 64.0) + (6 + 64) + 403.3: tensors of single precision.
    assert_eq!(cost(model, &module, "product", &[("n", 64)], &[0]), Ok(995));
    // Rates that fit a device: 30643 bytes and more at the speed of large transfers.
    let fitted = Model { rates: Rates::Fitted, ..model.clone() };
    let given = Given { module: &module, params: &[("n", 64)], fields: &[0], dtype: Some(DType::F16) };
    let ours = of_kernel(&fitted, &module, function, &given).expect("it is known") as f64;
    assert!((ours / 2851.0 - 1.0).abs() < 0.01, "{ours}, theirs 2851");
}

/// Five cycles of the kernel; a pass compares, counts on and stores.
#[test]
fn scalars_cost_a_cycle_for_each_operator() {
    let model = model::named("ascend_910b").expect("it is there");
    let module = compiled(LOOP);
    assert_eq!(cost(model, &module, "fill", &[("n", 100)], &[10, 20]), Ok(5 + 10 * 3));
    assert_eq!(cost(model, &module, "fill", &[("n", 100)], &[20, 10]), Ok(5));
}

#[test]
fn kernels_of_examples_cost_something_on_every_model_and_more_where_there_is_more() {
    let softmax = example("row_softmax.pto");
    let product = compiled(PRODUCT);
    let scalars = compiled(LOOP);
    for name in NAMES {
        for rates in [Rates::Flat, Rates::Fitted] {
            let model = Model { rates, ..model::named(name).expect("it is there").clone() };
            let mut before = [0; 4];
            for n in (1..200).chain([1 << 10, 1 << 16, 1 << 20]) {
                let now = [
                    cost(&model, &softmax, "softmax_rows", &[("rows", n), ("cols", 64)], &[0]),
                    cost(&model, &softmax, "softmax_rows", &[("rows", 16), ("cols", n)], &[0]),
                    cost(&model, &product, "product", &[("N", n), ("n", n)], &[0]),
                    cost(&model, &scalars, "fill", &[("n", n)], &[0, (n as u32).min(1 << 16)]),
                ];
                let now = now.map(|cycles| cycles.expect("it is known"));
                assert!(
                    now.iter().zip(before).all(|(now, before)| *now >= before),
                    "{name}, {n}: {now:?}, {before:?}"
                );
                before = now;
            }
        }
    }
}

#[test]
fn every_class_of_operations_is_costed_by_every_model() {
    for name in NAMES {
        let model = model::named(name).expect("it is there");
        for class in wsp_ir::CostClass::ALL {
            let is_transfer = class == wsp_ir::CostClass::Transfer;
            assert_eq!(model.operation(class).is_none(), is_transfer, "{name}: {}", class.word());
        }
    }
}

#[test]
fn what_is_not_known_counts_as_much_as_it_can() {
    let model = model::named("ascend_910c").expect("it is there");
    let module = compiled(
        &LOOP.replace("i < desc.end; ++i) {", "i < desc.end; ++i) { if (desc.first > 3) { continue; }"),
    );
    let function = module.function_named("fill").expect("it is there");
    let known = of_kernel(
        model,
        &module,
        function,
        &Given { module: &module, params: &[], fields: &[3, 13], dtype: None },
    );
    assert_eq!(known, Ok(5 + 10 * 4));
    let module = compiled(&LOOP.replace(
        "uint32_t i = desc.first; i < desc.end; ++i) {",
        "uint32_t i = 0; i < 10; ++i) { if (desc.first > 3) { continue; }",
    ));
    let function = module.function_named("fill").expect("it is there");
    assert_eq!(of_kernel(model, &module, function, &()), Ok(5 + 10 * 4));
    // A tile of which nothing is said is full.
    let softmax = example("row_softmax.pto");
    let full = cost(model, &softmax, "softmax_rows", &[("rows", 16), ("cols", 64)], &[0]);
    assert_eq!(cost(model, &softmax, "softmax_rows", &[("cols", 64)], &[]), full);
}

fn refused(found: Result<u64, Diagnostic>, code: u16, message: &str) -> Diagnostic {
    let fault = found.expect_err("it is refused");
    assert_eq!((fault.code, fault.message.as_str()), (Code(code), message));
    assert!(fault.primary.is_some(), "{fault:?}");
    fault
}

#[test]
fn what_cannot_be_told_is_refused_with_what_to_type() {
    let model = model::named("ascend_910b").expect("it is there");
    let module = compiled(LOOP);
    let endless =
        refused(cost(model, &module, "fill", &[], &[0]), 1746, "how often a loop runs is not known");
    assert_eq!(endless.help, ["or write `kernel NAME cost CYCLES;` in the workload that runs it"]);
    assert_eq!(endless.notes, ["of kernel `fill`, on machine model `ascend_910b`"]);
    refused(cost(model, &module, "fill", &[], &[0, 1 << 24]), 1746, "a task of more than 1048576 statements");
    let softmax = example("row_softmax.pto");
    refused(cost(model, &softmax, "softmax_rows", &[], &[0]), 1746, "the capacity of `t` is not known");
    let doubles = compiled(&PRODUCT.replace("half", "double"));
    let fault = refused(
        cost(model, &doubles, "product", &[("n", 8)], &[0]),
        1746,
        "the model does not say what `products` of elements of 8 bytes costs",
    );
    assert_eq!(fault.help[0], "give its `[[operation]]` of `products` a `rate_8`");
    let function = softmax.function_named("softmax_rows").expect("it is there");
    let given = Given { module: &softmax, params: &[("cols", 8)], fields: &[0], dtype: None };
    refused(of_kernel(model, &softmax, function, &given), 1746, "the element type of `x` is not known");
    let without = Model { operations: Vec::new(), ..model.clone() };
    refused(
        cost(&without, &module, "fill", &[], &[0, 1]),
        1746,
        "the model does not say what `scalars` costs",
    );
    let without = Model { paths: Vec::new(), ..model.clone() };
    refused(
        cost(&without, &softmax, "softmax_rows", &[("cols", 8)], &[0]),
        1746,
        "the model has no way from `hbm` to `ub`",
    );
}

#[test]
fn a_cost_of_2_to_the_62_cycles_is_refused() {
    let text = model::text("ascend_910b").expect("it is there");
    let softmax = example("row_softmax.pto");
    for (from, to) in [("value = 1.85e+09", "value = 1e300"), ("value = 1.083406e+11", "value = 1e-300")] {
        assert!(text.contains(from), "{from}");
        let model = Model::read(&text.replacen(from, to, 1), FileId(0)).expect("it is a model");
        let found = cost(&model, &softmax, "softmax_rows", &[("cols", 8)], &[0]).expect_err("it is refused");
        assert_eq!(found.code, Code(1747), "{found:?}");
    }
    let module = compiled(PRODUCT);
    let sizes = [("N", i128::from(u32::MAX)), ("n", i128::from(u32::MAX))];
    let cpu = model::named("cpu").expect("it is there");
    assert_eq!(cost(cpu, &module, "product", &sizes, &[0]).expect_err("it is refused").code, Code(1747));
}
