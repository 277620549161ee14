//! What `OnDeviceGenerator` gives and refuses.

use pto_wsp::{OnDeviceGenerator, Source, WorkloadBytecode};

const ROWS: &str = "
    param batch = 4; axis b = dense(batch); tensor x: f32[batch];
    kernel k(out x); workload main { parallel for i in b { k(x[i]); } }
    schedule turns { dispatch(round_robin); }
    schedule halves { dispatch(static_partition([0..2, 2..4])); }
    schedule mixed { dispatch(hash(b)); }";

fn generator(schedule: &str) -> OnDeviceGenerator {
    OnDeviceGenerator::new(Source::text("rows.wsp", ROWS).schedule(schedule)).expect("it compiles")
}

#[test]
fn a_schedule_is_in_the_program_or_in_the_configurations() {
    let turns = generator("turns").compile();
    assert_eq!(generator("halves").compile(), turns);
    assert!(generator("mixed").compile().as_bytes().len() > turns.as_bytes().len());
    let again = WorkloadBytecode::from_bytes(turns.as_bytes()).unwrap();
    assert_eq!((again.header().num_kernels, again.header().num_axes), (1, 1));
    let cut = WorkloadBytecode::from_bytes(&turns.as_bytes()[..40]).unwrap_err().to_string();
    assert!(cut.contains("is no valid program"), "{cut}");
    let halves = generator("halves").compile_dispatch(3).unwrap();
    let ranges: Vec<u8> = halves.iter().flat_map(|config| [config.params[0], config.params[4]]).collect();
    assert_eq!(ranges, [0, 2, 2, 4, 4, 4]);
    assert!(generator("mixed").compile_dispatch(2).unwrap().iter().all(|config| config.policy_type == 0));
}

#[test]
fn what_aicpus_cannot_generate_is_refused() {
    for (n, part) in [(0, "0 AICPUs"), (1025, "1025 AICPUs"), (1, "2 ranges")] {
        let fault = generator("halves").compile_dispatch(n).unwrap_err().to_string();
        assert!(fault.contains(part), "{fault}");
    }
    let unit = OnDeviceGenerator::new(Source::text("a.tg", "TG_BEGIN(A)\nTG_END(A)\n"));
    assert!(unit.unwrap_err().to_string().contains("is not generated on AICPUs"));
    let absent = OnDeviceGenerator::new(Source::text("rows.wsp", ROWS).schedule("thirds"));
    assert!(absent.unwrap_err().to_string().contains("thirds"));
}
