//! wsp-cpu
