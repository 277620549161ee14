//! Which kernels run.

use super::kernels::Kernels;

/// How tile operations are computed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Mode {
    /// Loops over single elements, every load a copy: the oracle of [`Mode::Fast`].
    Plain,
    /// The best instruction set of this machine, operands read in place.
    #[default]
    Fast,
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
}

impl Level {
    /// The best level of this machine.
    pub fn detect() -> Level {
        [Level::Avx512, Level::Avx2].into_iter().find(|level| level.is_available()).unwrap_or(Level::Portable)
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
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// The level's kernels; those of [`Level::Portable`] where this machine lacks the level.
    pub(crate) fn kernels(self) -> &'static Kernels {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if self.is_available() => &super::avx512::KERNELS,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 if self.is_available() => &super::avx2::KERNELS,
            _ => &super::portable::KERNELS,
        }
    }
}

impl Mode {
    /// The mode's kernels on this machine.
    pub(crate) fn kernels(self) -> &'static Kernels {
        match self {
            Mode::Plain => &super::plain::KERNELS,
            Mode::Fast => Level::detect().kernels(),
        }
    }
}
