//! `wsp sim` of task graphs: blocks take what the model has for the operations of their kernels, on the cores of the machine.

use crate::command::{Folder, printed, run};
use serde_json::Value;

const KERNELS: &str = "
PTO_SHAPE(x, m, 64)
PTO_SHAPE(y, m, 64)
PTO_KERNEL_IMPL(double_entry, Tensor<float> x, Tensor<float> y) {
    VecTile<float, 16, 64> t;
    TLOAD(t, x, {get_block_idx() * 16});
    TADD(t, t, t);
    TSTORE(y, t, {get_block_idx() * 16});
}
";

/// 96 blocks on vector cores, and then as many again.
const UNIT: &str = "
use \"k.pto\"
extern X: f32[1536, 64]
extern Y: f32[1536, 64]
TG_BEGIN(G)
TG_KERNEL(A, double_entry, 96, AIV, 0)
MC_BIND(A, 0, X)
MC_BIND(A, 1, Y)
TG_KERNEL(B, double_entry, 96, AIV, 0)
TG_DEPEND(A, B, DATA, Y)
MC_BIND(B, 0, Y)
MC_BIND(B, 1, X)
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
";

/// What a block takes on a 910B: 5 cycles of the kernel, 4096 bytes from HBM and back, 23 cycles and 64 elements a cycle for the sum.
fn block() -> u64 {
    let transfer = 4096.0 * 1.85e9 * (1.0 / 1.083406e11 + 1.0 / 2.023574e11);
    (5.0 + transfer + 23.0 + 1024.0 / 64.0_f64).ceil() as u64
}

fn files(unit: &str) -> Folder {
    Folder::with(&[("k.pto", KERNELS), ("u.tg", unit)])
}

#[test]
fn blocks_take_what_their_operations_do_on_as_many_cores_as_there_are() {
    let folder = files(UNIT);
    let (file, trace) =
        (folder.path("u.tg").display().to_string(), folder.path("t.json").display().to_string());
    let args = ["sim", &file, "--model", "ascend_910b", "--trace", &trace, "--json"];
    let text = printed(&args);
    let report: Value = serde_json::from_str(&text).expect("it is JSON");
    // Two rounds of 48 vector cores, twice.
    assert_eq!(report["makespan_cycles"], 4 * block(), "{report}");
    let busy: Vec<u64> =
        report["busy_cycles"].as_array().unwrap().iter().map(|cycles| cycles.as_u64().unwrap()).collect();
    assert_eq!(busy, [vec![0; 24], vec![4 * block(); 48]].concat());
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(&trace).unwrap()).unwrap();
    let of = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
    let units: Vec<u64> = of.map(|event| event["tid"].as_u64().unwrap()).collect();
    assert_eq!(units.len(), 192);
    assert!(units.iter().all(|unit| (24..72).contains(unit)), "{units:?}");
    // Half as many cores, twice the time; and it is the same every time.
    let model = printed(&["targets", "--model", "ascend_910b", "--toml"]);
    std::fs::write(
        folder.path("half.toml"),
        model.replacen("count = { value = 48", "count = { value = 24", 1),
    )
    .unwrap();
    let half = folder.path("half.toml").display().to_string();
    let report: Value =
        serde_json::from_str(&printed(&["sim", &file, "--model", &half, "--json"])).expect("it is JSON");
    assert_eq!(report["makespan_cycles"], 8 * block(), "{report}");
    assert_eq!(printed(&args), text);
}

#[test]
fn what_a_model_has_no_figures_for_is_refused_with_its_place() {
    let folder = files(UNIT);
    let model = printed(&["targets", "--model", "ascend_910b", "--toml"]);
    let (before, rest) = model.split_once("[[operation]]\nclass = \"elementwise\"").expect("it has the row");
    let without = format!("{before}{}", &rest[rest.find("[[operation]]").unwrap()..]);
    std::fs::write(folder.path("m.toml"), without).unwrap();
    let (file, model) =
        (folder.path("u.tg").display().to_string(), folder.path("m.toml").display().to_string());
    let (code, out, err) = run(&["sim", &file, "--model", &model]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(err.contains("error[WSP1746]") && err.contains("k.pto:7:"), "{err}");
    let (code, _, err) = run(&["sim", &file, "--model", "ascend_910b", "--aicpus", "2"]);
    assert!(code == 1 && err.contains("`--aicpus` has no meaning for a task graph"), "{err}");
}
