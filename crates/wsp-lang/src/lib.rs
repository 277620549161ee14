//! wsp-lang
