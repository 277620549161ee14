//! A kernel with one task, as a tile program and as the plain run of `cpu_sim`. The two share the scalar functions of `wsp-ir`
//! (`plain()`), and no other code that computes.

use wsp_core::DType;
use wsp_cpu::{LaunchOptions, Program};
use wsp_diag::{Diagnostic, SourceMap, render_all};
use wsp_ir::{Function, Verified, into_verified};
use wsp_kernel::Mode;
use wsp_plan::{Array, Arrays, CompileOptions, lower};
use wsp_tile::interp::{TensorData, World, run};
use wsp_tile::{Known, Memories, Ordered, PingPong, TileProgram, check, legalise, order, place, specialise};

/// Extents of `x` and `y`.
pub(crate) const ROWS: usize = 64;
pub(crate) const COLS: usize = 32;

/// A kernel `k` over `x` and `y`, both `f32[64, 32]`, whose descriptor `desc` has the words `a`, `b`, `c` and `d`.
pub(crate) struct Kernel {
    text: String,
    module: Verified,
    program: Program,
}

/// Diagnostics as text.
pub(crate) fn told(found: &[Diagnostic]) -> String {
    render_all(found, &SourceMap::default(), false)
}

/// The value of element `at` of `x`: whole numbers from -5 to 5, so that sums are exact.
pub(crate) fn element(at: usize) -> f32 {
    ((at * 7 + at / 32 * 3) % 11) as f32 - 5.0
}

impl Kernel {
    pub(crate) fn new(body: &str) -> Kernel {
        Kernel::with("", body)
    }

    /// With declarations before the kernel.
    pub(crate) fn with(before: &str, body: &str) -> Kernel {
        let text = format!(
            "PTO_SHAPE(lens, 4)
             PTO_SHAPE(x, {ROWS}, {COLS})
             PTO_SHAPE(y, {ROWS}, {COLS})
             PTO_SPACE(Space) {{ PTO_AXIS(i, 0, 1) }}
             struct D {{ uint32_t a, b, c, d; }};
             {before}
             PTO_KERNEL_IMPL(k) {{ auto desc = PTO_GET_DESCRIPTOR<D>(); {body} }}
             PTO_DESCRIPTOR_GEN(Space) {{ PTO_SCHEDULED_FOR(i) {{
                 PTO_EMIT_DESCRIPTOR(D{{ .a = lens[0], .b = lens[1], .c = lens[2], .d = lens[3] }});
             }} }}
             void go(uint32_t* lens, Tensor<float> x, Tensor<float> y) {{
                 PTO_LAUNCH(Space, {{ .lens = lens, .x = x, .y = y }});
             }}"
        );
        Kernel::of_text(text)
    }

    /// The kernel `k` of a whole text.
    pub(crate) fn of_text(text: String) -> Kernel {
        let (module, found) = wsp_lang::compile("kernel.pto", &text, &mut SourceMap::default());
        let module = module.unwrap_or_else(|| panic!("{text}\n{}", told(&found)));
        let plan = lower(&module, &CompileOptions::default());
        let program = Program::new(plan.unwrap_or_else(|found| panic!("{text}\n{}", told(&found))));
        let module = into_verified(module).unwrap_or_else(|found| panic!("{}", told(&found)));
        Kernel { text, module, program }
    }

    pub(crate) fn module(&self) -> &Verified {
        &self.module
    }

    pub(crate) fn specialised(&self) -> Result<Function, Vec<Diagnostic>> {
        let kernel = self.module.function_named("k").unwrap();
        specialise(&self.module, kernel, self.known())
    }

    /// Nothing of a launch is known but the element types.
    pub(crate) fn known(&self) -> Known<'static> {
        Known { params: &[], elems: &[Some(DType::U32), Some(DType::F32), Some(DType::F32)] }
    }

    pub(crate) fn legal(&self, memories: &Memories) -> Result<TileProgram, Vec<Diagnostic>> {
        legalise(&self.module, &self.specialised()?, self.known(), memories)
    }

    /// The program with addresses and order.
    pub(crate) fn ordered(
        &self,
        memories: &Memories,
        ping_pong: PingPong,
    ) -> Result<Ordered, Vec<Diagnostic>> {
        order(&place(self.legal(memories)?, memories, ping_pong)?.program, memories)
    }

    /// The ordered program, which the checker finds right.
    pub(crate) fn right(&self, memories: &Memories, ping_pong: PingPong) -> TileProgram {
        let made = self.ordered(memories, ping_pong);
        let program = made.unwrap_or_else(|found| panic!("{}\n{}", self.text, told(&found))).program;
        let found = check(&program, memories);
        assert!(found.is_empty(), "{}\n{}\n{}", self.text, program.display(memories), told(&found));
        program
    }

    /// What a task with this descriptor begins with.
    pub(crate) fn world(&self, words: [u32; 4]) -> World {
        let data = |value: fn(usize) -> f32| TensorData {
            dtype: DType::F32,
            dims: vec![ROWS, COLS],
            values: (0..ROWS * COLS).map(value).collect(),
        };
        let tensors = self.module.tensors.iter().map(|tensor| match tensor.name.as_str() {
            "x" => Some(data(element)),
            "y" => Some(data(|_| 0.0)),
            _ => None,
        });
        World { descriptor: words.to_vec(), tensors: tensors.collect(), ..World::default() }
    }

    /// What a run of the tile program leaves in `y`.
    pub(crate) fn interpreted(
        &self,
        program: &TileProgram,
        memories: &Memories,
        words: [u32; 4],
    ) -> Result<Vec<f32>, Diagnostic> {
        let mut world = self.world(words);
        run(program, memories, &mut world)?;
        let y = self.module.tensor_named("y").unwrap();
        Ok(world.tensors[y.index()].take().unwrap().values)
    }

    /// What a plain run of the kernel leaves in `y`.
    pub(crate) fn plain(&self, words: [u32; 4]) -> Vec<f32> {
        let lens = Array::of(&[4], &words).unwrap();
        let values: Vec<f32> = (0..ROWS * COLS).map(element).collect();
        let x = Array::of(&[ROWS as u64, COLS as u64], &values).unwrap();
        let arrays = Arrays::from([("lens".to_owned(), lens), ("x".to_owned(), x)]);
        self.plain_of(&arrays, |_| {})
    }

    /// What a plain run with arrays and options of its own leaves in `y`.
    pub(crate) fn plain_of(&self, arrays: &Arrays, own: impl FnOnce(&mut LaunchOptions)) -> Vec<f32> {
        let mut options =
            LaunchOptions { threads: 1, sequential: true, mode: Mode::Plain, ..LaunchOptions::default() };
        own(&mut options);
        let done = self.program.execute(arrays, &options);
        let done = done.unwrap_or_else(|found| panic!("{}\n{}", self.text, told(&found)));
        done.outputs["y"].as_slice::<f32>().unwrap().to_vec()
    }

    /// Both runs leave the same bits.
    pub(crate) fn agrees(&self, program: &TileProgram, memories: &Memories, words: [u32; 4]) {
        let have = self.interpreted(program, memories, words);
        let have = have.unwrap_or_else(|fault| {
            panic!("{}\n{}\n{words:?} {}", self.text, program.display(memories), told(&[fault]))
        });
        let want = self.plain(words);
        // The sign of a 0 is not said.
        let same = |a: f32, b: f32| a == b || (a.is_nan() && b.is_nan());
        let differ = have.iter().zip(&want).position(|(a, b)| !same(*a, *b));
        if let Some(at) = differ {
            let (row, col) = (at / COLS, at % COLS);
            panic!(
                "{}\n{}\n{words:?}: y[{row}, {col}] is {} and should be {}",
                self.text,
                program.display(memories),
                have[at],
                want[at]
            );
        }
    }
}
