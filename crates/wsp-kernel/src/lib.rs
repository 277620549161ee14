//! wsp-kernel
