//! Which kernels run.

use crate::kernels::Kernels;

/// How tile operations are computed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Mode {
    /// Loops over single elements, every load a copy: the oracle of [`Mode::Fast`].
    Plain,
    /// The best instruction set of this machine, operands read in place.
    #[default]
    Fast,
    /// As [`Mode::Fast`] with this instruction set, or with what every CPU has where this machine lacks it.
    At(Level),
}

impl Mode {
    /// What computes tile operations on this machine: results are the same where this is.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Plain => "plain",
            Mode::Fast => Level::detect().name(),
            Mode::At(level) if level.is_available() => level.name(),
            Mode::At(_) => Level::Portable.name(),
        }
    }
}

/// An instruction set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// What every CPU of the architecture has, vectorised by the compiler.
    Portable,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
    /// x86-64 with AVX-512 F, BW, VL and DQ.
    Avx512,
    /// As [`Level::Avx512`], with the dot products of bfloat16 of AVX512_BF16.
    Avx512Bf16,
    /// AArch64 with NEON.
    Neon,
}

impl Level {
    /// Every level, the best one of each architecture last.
    pub const ALL: [Level; 5] = [Level::Portable, Level::Avx2, Level::Avx512, Level::Avx512Bf16, Level::Neon];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
            Level::Avx512Bf16 => "avx512_bf16",
            Level::Neon => "neon",
        }
    }

    /// The best level of this machine.
    pub fn detect() -> Level {
        Level::ALL.into_iter().rev().find(|level| level.is_available()).unwrap_or(Level::Portable)
    }

    /// Whether this machine has it.
    pub fn is_available(self) -> bool {
        match self {
            Level::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => {
                Level::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx512Bf16 => Level::Avx512.is_available() && is_x86_feature_detected!("avx512bf16"),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => true,
            _ => false,
        }
    }

    /// The level's kernels; those of [`Level::Portable`] where this machine lacks the level.
    #[doc(hidden)]
    pub fn kernels(self) -> &'static Kernels {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512Bf16 if self.is_available() => &crate::avx512_bf16::KERNELS,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if self.is_available() => &crate::avx512::KERNELS,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 if self.is_available() => &crate::avx2::KERNELS,
            #[cfg(target_arch = "aarch64")]
            Level::Neon => &crate::neon::KERNELS,
            _ => &crate::portable::KERNELS,
        }
    }
}

impl Mode {
    /// Whether loads may leave tiles in the memory of arrays.
    #[doc(hidden)]
    pub fn reads_in_place(self) -> bool {
        self != Mode::Plain
    }

    /// The mode with this name: `auto`, `plain`, or that of a level.
    pub fn from_name(name: &str) -> Option<Mode> {
        match name {
            "auto" => Some(Mode::Fast),
            "plain" => Some(Mode::Plain),
            _ => Level::ALL.into_iter().find(|level| level.name() == name).map(Mode::At),
        }
    }

    /// Whether this machine can run it as asked.
    pub fn is_available(self) -> bool {
        match self {
            Mode::Plain | Mode::Fast => true,
            Mode::At(level) => level.is_available(),
        }
    }

    /// The mode's kernels on this machine.
    #[doc(hidden)]
    pub fn kernels(self) -> &'static Kernels {
        match self {
            Mode::Plain => &crate::plain::KERNELS,
            Mode::Fast => Level::detect().kernels(),
            Mode::At(level) => level.kernels(),
        }
    }
}
