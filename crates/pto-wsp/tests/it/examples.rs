//! The examples run: one for each of the five documents, and one for pipelines.

use pto_wsp::{ChannelUse, GraphOptions, RunOptions};

#[path = "../../examples/backends.rs"]
mod backends;
#[path = "../../examples/concurrency.rs"]
mod concurrency;
#[path = "../../examples/generation.rs"]
mod generation;
#[path = "../../examples/pipelines.rs"]
mod pipelines;
#[path = "../../examples/plan_execute.rs"]
mod plan_execute;
#[path = "../../examples/task_graph.rs"]
mod task_graph;

macro_rules! run {
    ($($example:ident)*) => {$(
        #[test]
        fn $example() {
            self::$example::main().unwrap_or_else(|error| panic!("{error}"));
        }
    )*};
}

run!(backends concurrency generation pipelines plan_execute task_graph);

#[test]
fn pipelines_of_builders_have_the_tasks_of_their_files() {
    let cases = pipelines::cases().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(cases.len(), 3);
    for case in cases {
        let [built, written] = [case.built(), case.written()].map(|program| {
            let program = program.unwrap_or_else(|error| panic!("{error}"));
            let listing = program.graph(&case.args(), &GraphOptions::default());
            let simulated = program.simulate(&case.args(), &RunOptions::default());
            let run = RunOptions { trace: true, ..RunOptions::default() };
            let outcome = program.execute(case.args(), run).unwrap_or_else(|error| panic!("{error}"));
            case.check(&outcome);
            (
                listing.unwrap_or_else(|error| panic!("{error}")),
                simulated.unwrap_or_else(|error| panic!("{error}")),
                outcome,
            )
        });
        assert_eq!((&built.0.tasks, &built.0.edges), (&written.0.tasks, &written.0.edges));
        assert!(!built.0.tasks.is_empty());
        let figures = |of: &[ChannelUse]| {
            of.iter().map(|channel| (channel.ends.clone(), channel.figures)).collect::<Vec<_>>()
        };
        assert_eq!(figures(&built.1.channels), figures(&written.1.channels));
        let tokens = |of: &[ChannelUse]| of.iter().map(|channel| channel.figures.tokens).collect::<Vec<_>>();
        assert_eq!(tokens(&built.2.workload.channels), tokens(&built.1.channels));
        assert!(built.2.workload.channels.iter().all(|channel| channel.figures.fullest > 0));
    }
}
