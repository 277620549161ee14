//! Whole designs: cores, links and the transfers of the host are threads.

use crate::support::{design, floats, ints, nothing};
use crate::tools::Tools;
use crate::twin::{Twin, name, twin};
use std::fmt::Write as _;
use wsp_aie::design::Design;
use wsp_aie::device::Direction;
use wsp_aie::mlir::{Form, Type, Value, Version, print};
use wsp_aie::run::{Allocation, Arg, Machine};

/// A launch of one of a design's sequences, with its arrays and numbers.
pub(crate) struct Launch {
    /// The sequence, by number.
    pub(crate) sequence: usize,
    pub(crate) args: Vec<Arg>,
}

fn bytes_of(design: &Design, value: Value) -> u64 {
    design.module.ty(value).bytes().expect("a fixed size")
}

/// A program that runs a design: for each launch it reads the arrays, and writes them.
fn program(design: &Design, twin: &Twin, launches: &[Launch]) -> String {
    let mut text = "#include \"runtime.h\"\n".to_owned();
    for (i, fifo) in design.fifos.iter().enumerate() {
        assert!(fifo.producer.dims.is_empty() && fifo.repeat.is_none(), "`@{}` is plain", fifo.name);
        let (own, other) = (fifo.producer_depth(), fifo.consumer_depth(0));
        let depth = if fifo.is_shared() { own } else { own + other };
        let readers = fifo.consumers.len();
        let _ = writeln!(text, "static Fifo fifo{i}({}, {depth}, {readers}); // {}", fifo.bytes(), fifo.name);
    }
    for (i, buffer) in design.buffers.iter().enumerate() {
        let words = bytes_of(design, buffer.value) / 8 + 1;
        let _ = writeln!(text, "static uint64_t buffer{i}[{words}];");
        let Some(name) = &buffer.name else { continue };
        let _ = writeln!(
            text,
            "extern \"C\" void _mlir_ciface_word_{name}(int32_t at, int32_t value) {{ write_word(buffer{i}, at, value); }}"
        );
    }
    cores(design, twin, &mut text);
    links(design, &mut text);
    host(design, twin, &mut text);
    text += "int main(int, char **argv) {\n    FILE *in = std::fopen(argv[1], \"rb\");\n    FILE *out = std::fopen(argv[2], \"wb\");\n";
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
    let channels: Vec<usize> =
        (0..design.fifos.len()).filter(|i| design.fifos[*i].host_direction().is_some()).collect();
    channels.iter().for_each(|i| text += &format!("    start([] {{ channel{i}.run(); }});\n"));
    for launch in launches {
        let at = launch.sequence;
        let arrays = || {
            launch.args.iter().enumerate().filter_map(|(i, arg)| {
                if let Arg::Array(bytes) = arg { Some((i, bytes.len())) } else { None }
            })
        };
        arrays().for_each(|(i, bytes)| text += &format!("    take(in, array{at}_{i}, {bytes});\n"));
        let number = |arg: &Arg| if let Arg::Number(number) = arg { Some(number.to_string()) } else { None };
        let numbers: Vec<String> = launch.args.iter().filter_map(number).collect();
        let _ = writeln!(text, "    _mlir_ciface_sequence_{at}({});", numbers.join(", "));
        channels.iter().for_each(|i| text += &format!("    channel{i}.finish();\n"));
        arrays().for_each(|(i, bytes)| text += &format!("    give(out, array{at}_{i}, {bytes});\n"));
    }
    text + "    std::fclose(out);\n    std::_Exit(0);\n}\n"
}

/// Ends of cores, and their functions.
fn cores(design: &Design, twin: &Twin, text: &mut String) {
    for (at, ends) in twin.ends.iter().enumerate() {
        for (end, objects) in ends {
            let fifo = fifo_at(design, &end.0);
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
}

fn fifo_at(design: &Design, name: &str) -> usize {
    design.fifos.iter().position(|fifo| fifo.name == name).expect("a fifo")
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
        let at = |name: &String| fifo_at(design, name);
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

/// Channels and arrays of the host, and what sequences call.
fn host(design: &Design, twin: &Twin, text: &mut String) {
    for (i, fifo) in design.fifos.iter().enumerate() {
        let Some(direction) = fifo.host_direction() else { continue };
        let brings = direction == Direction::Mm2s;
        let element = fifo.object.element_bytes().expect("whole bytes");
        let reader = fifo.consumers.iter().position(|end| end.tile.row == 0);
        let reader = if brings { -1 } else { reader.expect("a consumer") as i64 };
        let _ = writeln!(text, "static Channel channel{i}{{{{fifo{i}, {reader}}}, {brings}, {element}}};");
        let _ =
            writeln!(text, "extern \"C\" void _mlir_ciface_wait_{}() {{ channel{i}.wait(); }}", fifo.name);
    }
    for (at, sequence) in design.sequences.iter().enumerate() {
        let mut numbers = Vec::new();
        for (i, value) in sequence.args.iter().enumerate() {
            match design.module.ty(*value).shaped() {
                Some(_) => {
                    let _ = writeln!(text, "static uint8_t array{at}_{i}[{}];", bytes_of(design, *value));
                }
                None => numbers.push("int32_t"),
            }
        }
        let _ = writeln!(text, "extern \"C\" void _mlir_ciface_sequence_{at}({});", numbers.join(", "));
    }
    let names: Vec<String> = (0..13).map(|i| format!("n{i}")).collect();
    let (takes, names) = (format!("int64_t {}", names.join(", int64_t ")), names.join(", "));
    for (at, array, name) in &twin.moves {
        let i = fifo_at(design, name);
        let _ = writeln!(
            text,
            "extern \"C\" void _mlir_ciface_move_{at}_{array}_{name}({takes}) {{ channel{i}.push(array{at}_{array}, {{{names}}}); }}"
        );
    }
}

/// What is left in the arguments of each launch: compiled, and interpreted.
pub(crate) fn both_ways(
    tools: &Tools,
    name: &str,
    design: &Design,
    mut launches: Vec<Launch>,
) -> [Vec<Vec<Arg>>; 2] {
    let twin = twin(design, "core");
    let object = tools.object(name, &twin.text);
    let of_array = |arg: &Arg| if let Arg::Array(bytes) = arg { bytes.clone() } else { Vec::new() };
    let given: Vec<u8> = launches.iter().flat_map(|of| &of.args).flat_map(of_array).collect();
    let made = tools.output(name, &program(design, &twin, &launches), &[object], &given);
    let mut rest = made.as_slice();
    let mut compiled = Vec::new();
    let mut machine = Machine::new(design, Allocation::Declared).expect("it can be run");
    for launch in &mut launches {
        let mut args = launch.args.clone();
        for arg in &mut args {
            if let Arg::Array(bytes) = arg {
                let (own, behind) = rest.split_at(bytes.len());
                (*bytes, rest) = (own.to_vec(), behind);
            }
        }
        compiled.push(args);
        let sequence = &design.sequences[launch.sequence].name;
        machine
            .launch(Some(sequence), &mut launch.args, &mut nothing)
            .unwrap_or_else(|fault| panic!("{name}: {:?}", fault.diagnostic()));
    }
    assert!(rest.is_empty(), "{name}: the program wrote {} bytes more", rest.len());
    [compiled, launches.into_iter().map(|of| of.args).collect()]
}

#[test]
fn designs_leave_what_the_interpreter_leaves() {
    let Some(tools) = Tools::find("designs") else { return };
    let halves = vec![floats((0..256).map(|i| i as f32)), floats(vec![0.0; 256])];
    let designs = [
        ("scale", include_str!("../it/designs/scale.mlir"), vec![ints(0..1024), ints(vec![0; 1024])]),
        ("halves", include_str!("../it/designs/halves.mlir"), halves),
    ];
    for (name, source, args) in designs {
        // Once more from what is printed.
        let design = design(&print(&design(source).module(), Form::Mixed, Version::V2026_03));
        let [compiled, interpreted] = both_ways(&tools, name, &design, vec![Launch { sequence: 0, args }]);
        assert!(compiled == interpreted, "{name}: the arrays differ");
    }
}
