//! Whole designs: cores, links and the transfers of the host are threads.

use crate::support::{design, floats, ints, run};
use crate::tools::Tools;
use crate::twin::{Twin, name, twin};
use std::fmt::Write as _;
use wsp_aie::design::{Design, Length, Move, Step, steps};
use wsp_aie::device::Direction;
use wsp_aie::mlir::{Form, Type, Version, print};
use wsp_aie::run::{Allocation, Arg};

/// A program that runs a design: it reads the arrays, and writes them.
fn program(design: &Design, twin: &Twin) -> String {
    let mut text = "#include \"runtime.h\"\n".to_owned();
    for (i, fifo) in design.fifos.iter().enumerate() {
        assert!(fifo.producer.dims.is_empty() && fifo.repeat.is_none(), "`@{}` is plain", fifo.name);
        let (own, other) = (fifo.producer_depth(), fifo.consumer_depth(0));
        let depth = if fifo.is_shared() { own } else { own + other };
        let readers = fifo.consumers.len();
        let _ = writeln!(text, "static Fifo fifo{i}({}, {depth}, {readers}); // {}", fifo.bytes(), fifo.name);
    }
    let fifo_at = |name: &str| design.fifos.iter().position(|fifo| fifo.name == name).expect("a fifo");
    // Ends of cores, and their functions.
    for (at, ends) in twin.ends.iter().enumerate() {
        for (end, objects) in ends {
            let fifo = fifo_at(&end.0);
            let tile = design.cores[at].tile;
            let reader = design.fifos[fifo].consumers.iter().position(|end| end.tile == tile);
            let reader = if end.1 { -1 } else { reader.expect("a consumer") as i64 };
            let variable = name("end", at, "of", end);
            let _ = writeln!(text, "static End {variable}{{fifo{fifo}, {reader}}};");
            for word in ["acquire", "release"] {
                let function = name("core", at, word, end);
                let _ = writeln!(
                    text,
                    "extern \"C\" void _mlir_ciface_{function}(int32_t n) {{ {variable}.{word}(n); }}"
                );
            }
            if !objects.is_empty() {
                let (rank, sizes) = sizes(&design.fifos[fifo].object);
                let function = name("core", at, "object", end);
                let _ = writeln!(
                    text,
                    "extern \"C\" void _mlir_ciface_{function}(Ref<{rank}> *to, int32_t i) {{ *to = ref<{rank}>({variable}.object(i), {sizes}); }}"
                );
            }
        }
        let takes: Vec<String> = twin.buffers[at]
            .iter()
            .map(|i| format!("Ref<{}> *", sizes(design.module.ty(design.buffers[*i].value)).0))
            .collect();
        let _ = writeln!(text, "extern \"C\" void _mlir_ciface_core_{at}({});", takes.join(", "));
    }
    links(design, &mut text);
    text += "int main(int, char **argv) {\n    FILE *in = std::fopen(argv[1], \"rb\");\n";
    let [sequence] = design.sequences.as_slice() else { panic!("one sequence") };
    for (i, value) in sequence.args.iter().enumerate() {
        let bytes = design.module.ty(*value).bytes().expect("a fixed size");
        let _ = writeln!(text, "    static uint8_t array{i}[{bytes}];\n    take(in, array{i}, {bytes});");
    }
    for (i, buffer) in design.buffers.iter().enumerate() {
        let bytes = design.module.ty(buffer.value).bytes().expect("a fixed size");
        let _ = writeln!(text, "    static uint64_t buffer{i}[{}];", bytes / 8 + 1);
    }
    for (at, buffers) in twin.buffers.iter().enumerate() {
        let mut refs = Vec::new();
        for i in buffers {
            let (rank, sizes) = sizes(design.module.ty(design.buffers[*i].value));
            let _ = writeln!(text, "    static auto ref{at}_{i} = ref<{rank}>(buffer{i}, {sizes});");
            refs.push(format!("&ref{at}_{i}"));
        }
        let _ = writeln!(text, "    start([] {{ _mlir_ciface_core_{at}({}); }});", refs.join(", "));
    }
    (0..design.links.len()).for_each(|i| text += &format!("    start(link{i});\n"));
    host(design, &mut text);
    text += "    FILE *out = std::fopen(argv[2], \"wb\");\n";
    for (i, value) in sequence.args.iter().enumerate() {
        let _ = writeln!(
            text,
            "    give(out, array{i}, {});",
            design.module.ty(*value).bytes().expect("a fixed size")
        );
    }
    text + "    std::fclose(out);\n    std::_Exit(0);\n}\n"
}

/// The number of dimensions and their extents.
pub(crate) fn sizes(ty: &Type) -> (usize, String) {
    let shape = &ty.shaped().expect("a memory").shape;
    let sizes: Vec<String> = shape.iter().map(|n| n.expect("fixed").to_string()).collect();
    (sizes.len(), format!("{{{}}}", sizes.join(", ")))
}

/// Threads of the tiles that fifos go on from.
fn links(design: &Design, text: &mut String) {
    for (i, link) in design.links.iter().enumerate() {
        let at = |name: &String| design.fifos.iter().position(|fifo| fifo.name == *name).expect("a fifo");
        let (ins, outs): (Vec<usize>, Vec<usize>) =
            (link.ins.iter().map(at).collect(), link.outs.iter().map(at).collect());
        let _ = writeln!(text, "static void link{i}() {{");
        let tile = |fifo: usize| design.fifos[outs[0]].producer.tile == design.fifos[fifo].producer.tile;
        for (which, fifo) in ins.iter().enumerate() {
            let here = design.fifos[outs[0]].producer.tile;
            let reader =
                design.fifos[*fifo].consumers.iter().position(|end| end.tile == here).expect("a consumer");
            let _ = writeln!(text, "    static End in{which}{{fifo{fifo}, {reader}}};");
        }
        for (which, fifo) in outs.iter().enumerate() {
            assert!(tile(*fifo), "all go on from one tile");
            let _ = writeln!(text, "    static End out{which}{{fifo{fifo}, -1}};");
        }
        let element = design.fifos[ins[0]].object.element_bytes().expect("whole bytes") as i64;
        *text += "    for (;;) {\n";
        (0..ins.len()).for_each(|which| *text += &format!("        in{which}.acquire(1);\n"));
        (0..outs.len()).for_each(|which| *text += &format!("        out{which}.acquire(1);\n"));
        for which in 0..ins.len().max(outs.len()) {
            let (from, to) = (if ins.len() > 1 { which } else { 0 }, if outs.len() > 1 { which } else { 0 });
            let part = design.fifos[if ins.len() > 1 { ins[which] } else { outs[to] }].bytes();
            let past = |all: &[i64]| all.get(which).copied().unwrap_or(0) * element;
            let _ = writeln!(
                text,
                "        std::memcpy((uint8_t *)out{to}.object(0) + {}, (uint8_t *)in{from}.object(0) + {}, {part});",
                past(&link.join),
                past(&link.distribute)
            );
        }
        (0..ins.len()).for_each(|which| *text += &format!("        in{which}.release(1);\n"));
        (0..outs.len()).for_each(|which| *text += &format!("        out{which}.release(1);\n"));
        *text += "    }\n}\n";
    }
}

/// The transfers of the sequence.
fn host(design: &Design, text: &mut String) {
    let sequence = &design.sequences[0];
    for (i, fifo) in design.fifos.iter().enumerate() {
        let Some(direction) = fifo.host_direction() else { continue };
        let brings = direction == Direction::Mm2s;
        let element = fifo.object.element_bytes().expect("whole bytes");
        let reader = if brings { -1 } else { 0 };
        let _ = writeln!(
            text,
            "    static Channel channel{i}{{{{fifo{i}, {reader}}}, {brings}, {element}, {{}}}};"
        );
        let _ = writeln!(text, "    start([] {{ channel{i}.run(); }});");
    }
    let fixed = |length: &Length| if let Length::Fixed(n) = length { *n } else { panic!("a fixed length") };
    let four = |all: &[Length], fill: i64| {
        let mut numbers = vec![fill; 4 - all.len()];
        numbers.extend(all.iter().map(fixed));
        numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
    };
    let at = |name: &str| design.fifos.iter().position(|fifo| fifo.name == *name).expect("a fifo");
    let mut used = Vec::new();
    for step in steps(sequence).expect("a sequence") {
        match step {
            Step::Move(Move { array, offset, sizes, strides, symbol, .. }) => {
                let channel = at(&symbol.expect("a fifo"));
                let array = sequence.argument(array).expect("an array");
                let _ = writeln!(
                    text,
                    "    channel{channel}.push({{array{array}, {}, {{{}}}, {{{}}}}});",
                    fixed(&offset),
                    four(&sizes, 1),
                    four(&strides, 0)
                );
                used.push(channel);
            }
            Step::Wait(symbol, _) => *text += &format!("    channel{}.wait();\n", at(&symbol)),
            Step::Compute(_) => {}
            other => panic!("{other:?}"),
        }
    }
    used.iter().for_each(|channel| *text += &format!("    channel{channel}.wait();\n"));
}

/// Compiled, a design leaves in its arrays what the interpreter leaves there.
fn agrees(tools: &Tools, name: &str, source: &str, args: Vec<Arg>) {
    // Once more from what is printed.
    let design = design(&print(&design(source).module(), Form::Mixed, Version::V2026_03));
    let twin = twin(&design, "core");
    let object = tools.object(name, &twin.text);
    let bytes = |args: &[Arg]| -> Vec<u8> {
        let bytes = args
            .iter()
            .map(|arg| if let Arg::Array(bytes) = arg { bytes.clone() } else { panic!("an array") });
        bytes.flatten().collect()
    };
    let made = tools.output(name, &program(&design, &twin), &[object], &bytes(&args));
    let mut args = args;
    run(&design, Allocation::Declared, &mut args).unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
    assert!(made == bytes(&args), "{name}: the arrays differ");
}

#[test]
fn designs_leave_what_the_interpreter_leaves() {
    let Some(tools) = Tools::find("designs") else { return };
    agrees(
        &tools,
        "scale",
        include_str!("../it/designs/scale.mlir"),
        vec![ints(0..1024), ints(vec![0; 1024])],
    );
    let halves = vec![floats((0..256).map(|i| i as f32)), floats(vec![0.0; 256])];
    agrees(&tools, "halves", include_str!("../it/designs/halves.mlir"), halves);
}
