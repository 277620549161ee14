//! What to write instead, in Python: the compiler's help speaks of workload files and of the command line.

use wsp_ir::diag::Diagnostic;

/// Phrases of help with what stands for them in Python; of phrases that begin alike the longer stands first.
const PHRASES: &[(&str, &str)] = &[
    ("`schedule { task_graph(deps = hybrid); }`", "`.task_graph(deps=Deps.hybrid())`"),
    ("`task_graph(deps = hybrid)`", "`.task_graph(deps=Deps.hybrid())`"),
    ("`task_graph(deps = overlap)`", "`.task_graph(deps=Deps.infer_bytes_overlap())`"),
    ("`task_window(n, stall)`", "`.task_graph(window=TaskWindow(n))`"),
    ("`start = immediate`", "`.task_graph(start=StartPolicy.immediate())`"),
    ("`trace = measured`", "`.task_graph(trace=TracePolicy.measured())`"),
    ("`dispatch(affinity(axis))`", "`.dispatch(DispatchPolicy.affinity(lambda t: t.axis))`"),
    ("`dispatch(static_partition([…]))`", "`.dispatch(DispatchPolicy.static_partition([…]))`"),
    ("`dispatch(policy)`", "`.dispatch(policy)`"),
    ("`dispatch(affinity(key));`", "`.dispatch(DispatchPolicy.affinity(key))`"),
    ("`task_graph(ready = priority);`", "`.task_graph(ready=ReadyPolicy.priority())`"),
    ("`streams(4);`", "`.streams(4)`"),
    ("`batch_deps(", "`.batch_deps("),
    ("`streams(", "`.streams("),
    ("`pipeline_depth(", "`.pipeline_depth("),
    (
        "`round_robin`, `affinity` or `hash`",
        "`DispatchPolicy.round_robin()`, `.affinity(key)` or `.hash(key)`",
    ),
    (");`", ")`"),
    ("add `after`", "add `after=[…]`"),
    ("`parallel for`", "`for … in P(…)`"),
    ("`for` or `while`", "`P.seq` or `P.loop`"),
    ("a larger `max`", "a larger `max_rounds`"),
    ("use `wsp run`, which", "use `execute`, which"),
    ("give arrays with `--inputs FILE.npz`, or have them made up: `--generate`", "give it by name"),
    ("`Program::plan`", "`program.plan(arrays)`"),
    ("`Program::workspace_query`", "`program.workspace_query(arrays)`"),
    ("`Plan::advance`", "`plan.advance(lengths)`"),
    ("this program's `plan`", "`plan` of this program"),
    ("`--threads N`", "`num_threads=N`"),
    ("`--threads`", "`num_threads`"),
    ("`--expand host`", "`expand=\"host\"`"),
    ("`--expand bytecode`", "`expand=\"bytecode\"`"),
    ("`--aicpus`", "`num_aicpus`"),
    ("`--aicpus ", "`num_aicpus="),
    ("`--set ", "`"),
    ("`--input ", "`"),
    ("=FILE.npy`", "=…`"),
];

/// What to write where the compiler says nothing of it, by code.
const HELP: &[(u16, &str)] = &[
    (400, "write `target=\"cpu_sim\"`"),
    (600, "compute with smaller numbers, or with floats"),
    (601, "see to it that the divisor is not 0, for instance with `pto.max(n, 1)`"),
    (604, "keep the index inside the view: `x.shape` has its extents"),
    (610, "keep what is loaded and stored inside the view: `x.shape` has its extents"),
    (806, "give smaller sizes"),
    (807, "give smaller sizes"),
    (810, "give smaller sizes, or compute in another order"),
    (811, "see to it that the divisor is not 0, for instance with `P.max(n, 1)`"),
    (812, "keep the index inside the table: `table.size` is the number of its elements"),
    (813, "keep the box inside the tensor: a shorter loop, a smaller tile, or a larger tensor"),
    (855, "give smaller sizes, or tiles instead of whole temporaries"),
];

/// The finding with help for those who write Python.
pub(crate) fn in_python(mut diagnostic: Diagnostic) -> Diagnostic {
    let known = HELP.iter().find(|(code, _)| *code == diagnostic.code.0);
    if let Some((_, help)) = known.filter(|_| diagnostic.help.is_empty()) {
        diagnostic.help.push((*help).to_owned());
    }
    for help in &mut diagnostic.help {
        for (phrase, python) in PHRASES {
            if help.contains(phrase) {
                *help = help.replace(phrase, python);
            }
        }
    }
    diagnostic
}
