//! Costs of tasks on machine models: numbers computed by hand, larger for larger sizes, and what cannot be told.

use crate::workload_support::{bound, module as workload, schedule};
use wsp_core::{DType, ParamId, TensorId};
use wsp_diag::{Code, Diagnostic, FileId, SourceMap};
use wsp_ir::Module;
use wsp_ir::workload::WorkloadModule;
use wsp_plan::cost::{Known, Work, of_kernel, of_kernel_with_work, of_task};
use wsp_plan::target::model::{self, Model, NAMES, Rates, named};
use wsp_plan::workload::{Bindings, TaskRecord, TaskSink, expand};

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

fn softmax() -> Module {
    compiled(include_str!("../../../../examples/row_softmax.pto"))
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

/// The rows of a product of any shape, and a norm of 16 rows.
const SHAPES: &str = "
PTO_PARAM(uint32_t, M, 16)
PTO_PARAM(uint32_t, K, 16)
PTO_PARAM(uint32_t, N, 16)
PTO_SHAPE(a, m, k)
PTO_SHAPE(b, k, n)
PTO_SHAPE(c, m, n)
PTO_SHAPE(x, rows, cols)
PTO_SHAPE(gamma, one, cols)
PTO_SHAPE(y, rows, cols)
struct Block { uint32_t row; };
struct Rows { uint32_t row; };
PTO_KERNEL_IMPL(multiply) {
    auto desc = PTO_GET_DESCRIPTOR<Block>();
    LeftTile<half, M, K> l;
    RightTile<half, K, N> r;
    AccTile<float, M, N> z;
    TLOAD(l, a, {desc.row, 0});
    TLOAD(r, b, {0, 0});
    TMATMUL(z, l, r);
    TSTORE(c, z, {desc.row, 0});
}
PTO_KERNEL_IMPL(norm) {
    auto desc = PTO_GET_DESCRIPTOR<Rows>();
    VecTile<float, 16, N> t;
    VecTile<float, 16, N> squares;
    VecTile<float, 1, N> factors;
    VecTile<float, 16, 1> sums;
    TLOAD(t, x, {desc.row, 0});
    TLOAD(factors, gamma, {0, 0});
    TMUL(squares, t, t);
    TROWSUM(sums, squares);
    TMULS(sums, sums, 0.5f);
    TADDS(sums, sums, 0.001f);
    TSQRT(sums, sums);
    TROWEXPANDDIV(t, t, sums);
    TCOLEXPANDMUL(t, t, factors);
    TSTORE(y, t, {desc.row, 0});
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
    let model = named("ascend_910b").expect("it is there");
    let module = softmax();
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
    let model = named("ascend_910b").expect("it is there");
    let module = compiled(PRODUCT);
    let function = module.function_named("product").expect("it is there");
    for (n, theirs) in [(64, 583.0), (128, 2552.0)] {
        let given =
            Given { module: &module, params: &[("N", n), ("n", n)], fields: &[0], dtype: Some(DType::F16) };
        let ours = of_kernel(model, &module, function, &given).expect("it is known") as f64;
        println!("{n}: {ours}, theirs {theirs}");
        assert!((ours / theirs - 1.0).abs() < 0.01, "{n}: {ours}, theirs {theirs}");
    }
    // 5 + 2 · 209.1 + (1 + 32.0) + (1 + 64.0) + (6 + 64) + 403.3: tensors of single precision.
    assert_eq!(cost(model, &module, "product", &[("n", 64)], &[0]), Ok(995));
    // Rates that fit a device: 30643 bytes and more at the speed of large transfers.
    let fitted = Model { rates: Rates::Fitted, ..model.clone() };
    let given = Given { module: &module, params: &[("n", 64)], fields: &[0], dtype: Some(DType::F16) };
    let ours = of_kernel(&fitted, &module, function, &given).expect("it is known") as f64;
    println!("fitted: {ours}, theirs 2851");
    assert!((ours / 2851.0 - 1.0).abs() < 0.01, "{ours}, theirs 2851");
}

/// What PTO-ISA's cost model says of the products of decode attention and of norms, and how far this model may be from it.
#[test]
fn kernels_cost_about_what_the_cost_model_of_pto_isa_says() {
    let model = named("ascend_910b").expect("it is there");
    let module = compiled(SHAPES);
    for (kernel, [m, k, n], dtype, theirs, within) in [
        ("multiply", [16, 128, 64], DType::F16, 500.0, 0.01),
        ("multiply", [16, 64, 128], DType::F16, 517.0, 0.01),
        ("norm", [16, 1, 128], DType::F32, 647.0, 0.01),
        ("norm", [16, 1, 512], DType::F32, 2239.0, 0.08),
        ("norm", [16, 1, 896], DType::F32, 4066.0, 0.14),
    ] {
        let params = [
            ("M", m),
            ("K", k),
            ("N", n),
            ("m", m),
            ("k", k),
            ("n", n),
            ("rows", 16),
            ("one", 1),
            ("cols", n),
        ];
        let given = Given { module: &module, params: &params, fields: &[0], dtype: Some(dtype) };
        let function = module.function_named(kernel).expect("it is there");
        let ours = of_kernel(model, &module, function, &given).expect("it is known") as f64;
        println!("{kernel} {m} {k} {n}: {ours}, theirs {theirs}");
        assert!((ours / theirs - 1.0).abs() < within, "{kernel} {m} {k} {n}: {ours}, theirs {theirs}");
    }
}

/// Five cycles of the kernel; a pass compares, counts on and stores.
#[test]
fn scalars_cost_a_cycle_for_each_operator() {
    let model = named("ascend_910b").expect("it is there");
    let module = compiled(LOOP);
    assert_eq!(cost(model, &module, "fill", &[("n", 100)], &[10, 20]), Ok(5 + 10 * 3));
    assert_eq!(cost(model, &module, "fill", &[("n", 100)], &[20, 10]), Ok(5));
}

#[test]
fn kernels_of_examples_cost_something_on_every_model_and_more_where_there_is_more() {
    let softmax = softmax();
    let product = compiled(PRODUCT);
    let scalars = compiled(LOOP);
    let models = [named("cpu"), named("ascend_910b"), named("ascend_910c"), named("ascend_950")];
    assert_eq!(models.len(), NAMES.len());
    for model in models.map(|model| model.expect("it is there")) {
        for rates in [Rates::Flat, Rates::Fitted] {
            let name = &model.name;
            let model = Model { rates, ..model.clone() };
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
        let model = named(name).expect("it is there");
        for class in wsp_ir::CostClass::ALL {
            let is_transfer = class == wsp_ir::CostClass::Transfer;
            assert_eq!(model.operation(class).is_none(), is_transfer, "{name}: {}", class.word());
        }
    }
}

#[test]
fn what_is_not_known_counts_as_much_as_it_can() {
    let model = named("ascend_910c").expect("it is there");
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
    let softmax = softmax();
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
    let model = named("ascend_910b").expect("it is there");
    let module = compiled(LOOP);
    let endless =
        refused(cost(model, &module, "fill", &[], &[0]), 1746, "how often a loop runs is not known");
    assert_eq!(endless.help, ["or write `kernel NAME cost CYCLES;` in the workload that runs it"]);
    assert_eq!(endless.notes, ["of kernel `fill`, on machine model `ascend_910b`"]);
    refused(cost(model, &module, "fill", &[], &[0, 1 << 24]), 1746, "a task of more than 1048576 statements");
    let softmax = softmax();
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
    let softmax = softmax();
    for (from, to) in [("value = 1.85e+09", "value = 1e300"), ("value = 1.083406e+11", "value = 1e-300")] {
        assert!(text.contains(from), "{from}");
        let model = Model::read(&text.replacen(from, to, 1), FileId(0)).expect("it is a model");
        let found = cost(&model, &softmax, "softmax_rows", &[("cols", 8)], &[0]).expect_err("it is refused");
        assert_eq!(found.code, Code(1747), "{found:?}");
    }
    let module = compiled(PRODUCT);
    let sizes = [("N", i128::from(u32::MAX)), ("n", i128::from(u32::MAX))];
    let cpu = named("cpu").expect("it is there");
    assert_eq!(cost(cpu, &module, "product", &sizes, &[0]).expect_err("it is refused").code, Code(1747));
}

/// Costs of all tasks of a workload.
struct Costs<'a> {
    workload: &'a WorkloadModule,
    bindings: &'a Bindings,
    body: Option<(&'a Module, wsp_core::FuncId)>,
    found: Vec<u64>,
}

impl TaskSink for Costs<'_> {
    type Error = Diagnostic;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), Diagnostic> {
        let model = named("ascend_910b").expect("it is there");
        let fields: Vec<u32> = task.scalars.iter().map(|n| *n as u32).collect();
        let module = self.body.map(|(module, _)| module);
        let none = Module::default();
        let module = module.unwrap_or(&none);
        let given = Given { module, params: &[], fields: &fields, dtype: Some(DType::F32) };
        self.found.push(of_task(model, (self.workload, self.bindings), task, self.body, &given)?);
        Ok(())
    }

    fn slot(&mut self, _slot: wsp_core::SlotId) -> Result<i64, Diagnostic> {
        Ok(0)
    }
}

#[test]
fn a_cost_that_is_said_counts_before_operations_and_a_kernel_without_either_is_refused() {
    let costs = |text: &str, body: Option<&Module>| {
        let workload = workload(text);
        let bindings = bound(&workload, &[]);
        let body = body.map(|module| (module, module.function_named("fill").expect("it is there")));
        let mut sink = Costs { workload: &workload, bindings: &bindings, body, found: Vec::new() };
        let ended = expand(&workload, &bindings, &schedule(&workload), &mut sink);
        ended.map(|_| sink.found).map_err(|fault| format!("{fault:?}"))
    };
    let text = |cost: &str| {
        format!("kernel fill(a, b){cost};\nworkload main {{\n for i in 0..3 {{ fill(i, 2 * i); }}\n}}\n")
    };
    let body = compiled(LOOP);
    assert_eq!(costs(&text(" cost 7 + a"), Some(&body)), Ok(vec![7, 8, 9]));
    assert_eq!(costs(&text(""), Some(&body)), Ok(vec![5, 8, 11]));
    assert_eq!(costs(&text(" cost 7 + a"), None), Ok(vec![7, 8, 9]));
    let refused = costs(&text(""), None).expect_err("it is refused");
    assert!(refused.contains("kernel `fill` has no cost, and no operations to tell it from"), "{refused}");
    assert!(refused.contains("write `cost CYCLES` behind the parameters of `fill`"), "{refused}");
    let negative = costs(&text(" cost 1 - a"), Some(&body)).expect_err("it is refused");
    assert!(negative.contains("the cost of a task of kernel `fill` is -1"), "{negative}");
}

/// A kernel with `BODY` after a value that only its data tell, and `HELPER` before it.
const OPEN: &str = "
PTO_SHAPE(x, rows, cols)
PTO_SHAPE(y, rows, cols)
struct Rows { uint32_t first; };
HELPER
PTO_KERNEL_IMPL(open) {
    auto desc = PTO_GET_DESCRIPTOR<Rows>();
    VecTile<float, 16, 64> t;
    VecTile<float, 1, 64> one;
    TLOAD(t, x, {desc.first});
    TLOAD(one, x, {desc.first});
    float m = TROWMAX(one);
    BODY
    TSTORE(y, t, {desc.first});
}
";

fn open(helper: &str, body: &str) -> Result<u64, Diagnostic> {
    let module = compiled(&OPEN.replace("HELPER", helper).replace("BODY", body));
    let model = named("ascend_910b").expect("it is there");
    cost(model, &module, "open", &[("rows", 16), ("cols", 64)], &[0])
}

#[test]
fn what_a_function_gives_that_may_have_returned_before_is_not_known() {
    let helper = |rest: &str| format!("uint32_t pick(float v) {{ if (v > 0.5f) {{ return 8; }} {rest} }}");
    let body = "uint32_t n = pick(m); for (uint32_t i = 0; i < n; ++i) { TEXP(t, t); }";
    for rest in ["return 1;", "else { return 1; }"] {
        refused(open(&helper(rest), body), 1746, "how often a loop runs is not known");
    }
    // The same on both ways is known.
    assert!(open(&helper("else { return 8; }"), body).is_ok_and(|cycles| cycles > 8 * 87));
}

#[test]
fn of_a_way_that_returns_and_one_that_leaves_a_loop_the_latter_goes_on_in_either_order() {
    let many = |branches: &str| {
        let helper = format!(
            "uint32_t many(float v) {{
                uint32_t s = 0;
                for (uint32_t i = 0; i < 1; ++i) {{ {branches} }}
                for (uint32_t j = 0; j < 100; ++j) {{ s = s + j * j; }}
                return s;
            }}"
        );
        open(&helper, "uint32_t n = many(m); if (n > 3) { TEXP(t, t); }").expect("it is known")
    };
    let first = many("if (v > 0.5f) { return 1; } else { break; }");
    let second = many("if (v <= 0.5f) { break; } else { return 1; }");
    assert_eq!(first, second);
    assert!(first > 400, "{first}");
}

#[test]
fn work_counts_operations_and_bytes_of_tensors_on_every_machine() {
    let module = compiled(PRODUCT);
    let function = module.function_named("product").expect("it is there");
    for name in NAMES {
        let model = named(name).expect("it is there");
        let known = Given { module: &module, params: &[("n", 64)], fields: &[0], dtype: Some(DType::F32) };
        let (cycles, work) = of_kernel_with_work(model, &module, function, &known).expect("it is known");
        assert_eq!(Ok(cycles), of_kernel(model, &module, function, &known));
        // Two operands are loaded and a result is stored; each element of it is a sum of 64 products.
        assert_eq!(work, Work { operations: 2 * 64 * 64 * 64, bytes: 3 * 64 * 64 * 4 }, "{name}");
    }
    let mut all = Vec::new();
    Work { operations: 2, bytes: 3 }.add_to(&mut all, 1);
    Work { operations: 5, bytes: 7 }.add_to(&mut all, 1);
    assert_eq!(all, [None, Some(Work { operations: 7, bytes: 10 })]);
}
