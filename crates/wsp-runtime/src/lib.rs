//! wsp-runtime
