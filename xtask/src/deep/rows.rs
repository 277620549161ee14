//! The table of randomised tests and drivers that have a large version.
//!
//! A test of a row reads its number of cases from the environment variable `WSP_CASES`, has a small default for the test
//! command, and prints the number that it ran. Give `cargo` the package, the test target and a filter; they are built with the profile
//! `deep`.

/// One row.
pub(super) struct Row {
    /// The heading of the step.
    pub(super) name: &'static str,
    /// Arguments of `cargo test`: package, target, filter.
    pub(super) cargo: &'static [&'static str],
    /// The value of `WSP_CASES`; none where the test's own number is the large one.
    pub(super) cases: Option<u32>,
}

/// Every row.
pub(super) const ROWS: &[Row] = &[
    Row {
        name: "edited texts of designs for AIE arrays",
        cargo: &["--package", "wsp-aie", "--test", "it", "edited_texts"],
        cases: Some(1_000_000),
    },
    Row {
        name: "places of programs on AIE arrays beside drawn ones",
        cargo: &["--package", "wsp-aie", "--test", "it", "as_well_as_the_best_that_is_drawn"],
        cases: Some(1_000_000),
    },
    Row {
        name: "places on AIE arrays beside all that there are",
        cargo: &["--package", "wsp-aie", "--test", "it", "the_least_of_all_and_is_proven"],
        cases: Some(200),
    },
    Row {
        name: "graphs that fit on AIE arrays are placed",
        cargo: &["--package", "wsp-aie", "--test", "it", "that_an_arrangement_is_known_for"],
        cases: Some(10_000),
    },
    Row {
        name: "streams that fit on AIE arrays are routed",
        cargo: &["--package", "wsp-aie", "--test", "it", "streams_that_ways_are_known_for"],
        cases: Some(10_000),
    },
    Row {
        name: "changed bytes of traces",
        cargo: &["--package", "wsp-report", "--test", "it", "whatever_bytes_are_changed"],
        cases: Some(1_000_000),
    },
    Row {
        name: "dependences and order of random programs",
        cargo: &["--package", "wsp-runtime", "--test", "it", "oracle::"],
        cases: Some(20_000),
    },
    Row {
        name: "random task graphs on any number of threads, and in virtual time",
        cargo: &["--package", "wsp-runtime", "--test", "it", "tg_random::"],
        cases: Some(10_000),
    },
    Row {
        name: "the order of one worker and of virtual time, with gates, on random programs",
        cargo: &["--package", "wsp-runtime", "--test", "it", "one_simulated_worker"],
        cases: Some(10_000),
    },
    Row {
        name: "functions of one tile on all patterns of f32",
        cargo: &["--package", "wsp-kernel", "--lib", "functions_of_one_tile"],
        // All 2^32: one more than a `u32` holds.
        cases: Some(u32::MAX),
    },
    Row {
        name: "kernels of all instruction sets, with the assertions of wsp-simd",
        cargo: &["--package", "wsp-kernel", "--package", "wsp-simd", "--lib", "--tests"],
        cases: None,
    },
    Row {
        name: "parser and reader of traces, optimised",
        cargo: &["--package", "wsp-lang", "--package", "wsp-trace", "--lib", "--tests"],
        cases: None,
    },
    Row {
        name: "AICPUs against a sequential run",
        cargo: &["--package", "wsp-runtime", "--lib", "aicpu::tests::oracle"],
        cases: Some(30_000),
    },
    Row {
        name: "random tile programs, and each without one event",
        cargo: &["--package", "wsp-tile", "--test", "it", "random::"],
        cases: Some(10_000),
    },
    Row {
        name: "random kernels for Ascend cores, each without one event",
        cargo: &["--package", "wsp-ascend", "--test", "kernels", "random::"],
        // Platforms have no random numbers, which some of the kernels draw: 200 are left.
        cases: Some(206),
    },
    Row {
        name: "pipelines as emitted processes",
        cargo: &["--package", "wsp-ascend", "--test", "workloads", "random_pipelines_take"],
        cases: Some(300),
    },
    Row {
        name: "examples as packages for Ascend, on simulated cores",
        cargo: &["--package", "wsp-cli", "--test", "it", "programs_of_every_form_run_as_packages"],
        cases: Some(24),
    },
    Row {
        name: "loops, bytecode and tables of packages for Ascend under many seeds",
        cargo: &["--package", "wsp-cli", "--test", "it", "computes_the_same_bits"],
        cases: Some(50),
    },
    Row {
        name: "programs of every kind as packages for a2, a3 and a5, in each expansion and under many seeds",
        cargo: &["--package", "wsp-cli", "--test", "it", "packages_of_every_platform"],
        cases: Some(50),
    },
    Row {
        name: "packages for Ascend on threads, under thread and address sanitizers",
        cargo: &["--package", "wsp-cli", "--test", "it", "sanitizers_are_silent_over_packages"],
        cases: Some(1000),
    },
    Row {
        name: "files of packages for Ascend with random edits",
        cargo: &["--package", "wsp-cli", "--test", "it", "a_package_that_was_edited_anywhere"],
        cases: Some(100_000),
    },
    Row {
        name: "code of generators in packages for Ascend with random edits",
        cargo: &["--package", "wsp-cli", "--test", "it", "code_of_generators_that_was_edited"],
        cases: Some(100_000),
    },
    Row {
        name: "two packages for Ascend in one process",
        cargo: &["--package", "wsp-cli", "--test", "it", "two_packages_in_one_process"],
        cases: Some(1000),
    },
    Row {
        name: "the executor on threads and changed graphs, under thread and address sanitizers",
        cargo: &["--package", "wsp-ascend", "--test", "executor", "sanitizers_are_silent"],
        cases: Some(100_000),
    },
    Row {
        name: "pages of caches in kernels for Ascend cores",
        cargo: &["--package", "wsp-ascend", "--test", "kernels", "paged::loads_and_stores"],
        cases: Some(768),
    },
    Row {
        name: "random kernels with layouts on a simulated grid",
        cargo: &["--package", "wsp-plan", "--test", "it", "random_kernels_that_are_accepted"],
        cases: Some(100_000),
    },
    Row {
        name: "machine models with random changes",
        cargo: &["--package", "wsp-plan", "--test", "it", "models_with_random_changes"],
        cases: Some(1_000_000),
    },
    Row {
        name: "random .pto generators",
        cargo: &["--package", "wsp-cpu", "--test", "it", "generators::"],
        cases: Some(100_000),
    },
    Row {
        name: "random programs and their expanders in C++",
        cargo: &["--package", "wsp-ascend", "--test", "expander", "random_programs_expand"],
        cases: Some(200),
    },
    Row {
        name: "random integer expressions in every evaluator",
        cargo: &["--package", "wsp-ascend", "--test", "integers", "every_evaluator"],
        cases: Some(100_000),
    },
    Row {
        name: "random workloads under random schedules, on threads and in virtual time",
        cargo: &["--package", "wsp-cpu", "--test", "it", "random_workloads_on_threads_and_in_virtual_time"],
        cases: Some(100_000),
    },
    Row {
        name: "tasks and faults of random programs, walked and interpreted",
        cargo: &["--package", "wsp-plan", "--test", "it", "random_programs_give_what_a_walk_gives"],
        cases: Some(100_000),
    },
    Row {
        name: "workloads of programs in bytes, of random workloads and written at random",
        cargo: &["--package", "wsp-plan", "--test", "it", "ptow_workload::"],
        cases: Some(20_000),
    },
    Row {
        name: "random workloads under random schedules, on AICPUs",
        cargo: &["--package", "wsp-cpu", "--test", "it", "random_workloads_on_aicpus"],
        cases: Some(100_000),
    },
    Row {
        name: "random task graphs resumed after any record",
        cargo: &["--package", "wsp-cpu", "--test", "it", "random_units_resumed_after_any_record"],
        cases: Some(10_000),
    },
    Row {
        name: "random units in virtual time, in the order of one worker",
        cargo: &["--package", "wsp-cpu", "--test", "it", "random_units_run_in_virtual_time"],
        cases: Some(10_000),
    },
    Row {
        name: "random task graphs killed at random moments and resumed",
        cargo: &["--package", "wsp-cli", "--test", "it", "isa_kill::random_units_that_are_killed"],
        cases: Some(10_000),
    },
    Row {
        name: "races of launches on random hosts",
        cargo: &["--package", "wsp-tg", "--test", "it", "tg_launches::races_of_random_hosts"],
        cases: Some(100_000),
    },
    Row {
        name: "waits and signals in rounds of random task graphs",
        cargo: &["--package", "wsp-tg", "--test", "it", "tg_launch_rounds::waits_and_signals"],
        cases: Some(20_000),
    },
    Row {
        name: "waits in loops of random task graphs before what they signal",
        cargo: &["--package", "wsp-tg", "--test", "it", "tg_launch_rounds::waits_in_rounds"],
        cases: Some(20_000),
    },
    Row {
        name: "random launches that wait for each other in turn",
        cargo: &["--package", "wsp-cpu", "--test", "it", "tg::turns::launches_wait"],
        cases: Some(20_000),
    },
    Row {
        name: "devices that wait for each other's notifications",
        cargo: &["--package", "wsp-tg", "--test", "it", "tg_notices::waits_of_devices"],
        cases: Some(20_000),
    },
    Row {
        name: "devices that use the same bytes and wait for each other's notifications",
        cargo: &["--package", "wsp-tg", "--test", "it", "tg_notices::bytes_of_devices"],
        cases: Some(20_000),
    },
    Row {
        name: "arms of random task graphs that exclude each other",
        cargo: &["--package", "wsp-tg", "--test", "it", "tg_exclusive::arms_that_exclude"],
        cases: Some(20_000),
    },
    Row {
        name: "random units in the checker of task graphs",
        cargo: &["--package", "wsp-tg", "--test", "it", "tg_any_unit::"],
        cases: Some(20_000),
    },
    Row {
        name: "races of random task graphs whose bytes are known when they run",
        cargo: &["--package", "wsp-cpu", "--test", "it", "tg::open::races_of_random_graphs"],
        cases: Some(20_000),
    },
    Row {
        name: "races of random launches whose bytes are known when they run",
        cargo: &["--package", "wsp-cpu", "--test", "it", "tg::launches::races_of_random_launches"],
        cases: Some(20_000),
    },
    Row {
        name: "random loops of task graphs, unrolled and not",
        cargo: &["--package", "wsp-cpu", "--test", "it", "tg::loops::random_loops"],
        cases: Some(10_000),
    },
    Row {
        name: "pipelines that end or deadlock as data say",
        cargo: &["--package", "wsp-plan", "--test", "it", "what_data_decide"],
        cases: Some(1000),
    },
    Row {
        name: "random pipelines on the host and as bytecode on AICPUs",
        cargo: &["--package", "wsp-plan", "--test", "it", "made_up_pipelines_agree"],
        cases: Some(10_000),
    },
    Row {
        name: "random copies of processes, written out and as bytecode",
        cargo: &["--package", "wsp-plan", "--test", "it", "copies_of_processes"],
        cases: Some(10_000),
    },
    Row {
        name: "mutations of example kernels",
        cargo: &["--package", "wsp-cli", "--test", "it", "real_numbers::mutations::mutated_kernels"],
        cases: Some(600),
    },
    Row {
        name: "the command line with all assertions",
        cargo: &["--package", "wsp-cli", "--test", "it", ""],
        cases: None,
    },
    Row {
        name: "examples without the feature `native`",
        cargo: &["--package", "wsp-cli", "--no-default-features", "--test", "it", "examples"],
        cases: None,
    },
];
