//! A method and a type per instruction, from the table of them.

use super::{IntoOperand, TgBuilder};
use wsp_core::for_each_tg_op;
use wsp_core::tg::*;

/// Sorts the operands of an instruction into those that must be given and the others, then defines its method.
macro_rules! method {
    ($head:tt [$($must:tt)*] [$($may:tt)*] $operand:ident: $ty:ty = $default:expr, $($rest:tt)*) => {
        method! { $head [$($must)*] [$($may)* { $operand $ty, $default }] $($rest)* }
    };
    ($head:tt [$($must:tt)*] [$($may:tt)*] $operand:ident: $ty:ty, $($rest:tt)*) => {
        method! { $head [$($must)* { $operand $ty }] [$($may)*] $($rest)* }
    };
    ({ $mnemonic:ident $name:ident $builder:ident $($doc:literal)* } [$({ $must:ident $must_ty:ty })*] [$({ $may:ident $may_ty:ty, $default:expr })*]) => {
        #[doc = concat!("A `", stringify!($mnemonic), "` that was added; sets what operands it has that need not be given.")]
        #[derive(Debug)]
        pub struct $name<'b> {
            #[allow(dead_code, reason = "some instructions have nothing to set")]
            builder: &'b mut TgBuilder,
            #[allow(dead_code, reason = "some instructions have nothing to set")]
            at: usize,
        }

        impl $name<'_> {
            $(
                #[doc = concat!("Sets `", stringify!($may), "`, which is `", stringify!($default), "` otherwise.")]
                pub fn $may(self, $may: impl IntoOperand<$may_ty>) -> Self {
                    let value = $may.into_operand(self.builder);
                    if let Some(Instr::$name { $may: operand, .. }) = self.builder.unit.instrs.get_mut(self.at) {
                        *operand = value;
                    }
                    self
                }
            )*
        }

        impl TgBuilder {
            $(#[doc = $doc])*
            pub fn $builder(&mut self, $($must: impl IntoOperand<$must_ty>),*) -> $name<'_> {
                let at = self.unit.instrs.len();
                $(let $must = $must.into_operand(self);)*
                self.push(Instr::$name { $($must,)* $($may: $default,)* });
                $name { builder: self, at }
            }
        }
    };
}

macro_rules! methods {
    ($($(#[doc = $doc:literal])* $code:literal $mnemonic:ident $name:ident $builder:ident $section:literal $scope:ident
        [$($support:ident)*] { $($operand:ident: $ty:ty $(= $default:expr)?),* };)*) => {
        $(method! { { $mnemonic $name $builder $($doc)* } [] [] $($operand: $ty $(= $default)?,)* })*
    };
}

for_each_tg_op!(methods);

impl TgKernel<'_> {
    /// Runs the kernel on the cores of a partition.
    pub fn in_partition(self, partition: impl IntoOperand<PartitionNo>) -> Self {
        self.partition(partition)
    }
}

impl TgLaunch<'_> {
    /// Runs kernels of the launch that have no partition on the cores of this one.
    pub fn in_partition(self, partition: impl IntoOperand<PartitionNo>) -> Self {
        self.partition(partition)
    }
}

impl McCopy<'_> {
    /// The copy as an end of a dependence.
    pub fn node(self) -> NodeNo {
        NodeNo(NodeNo::COPY | (self.builder.copies - 1))
    }
}
