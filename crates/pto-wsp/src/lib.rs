//! pto-wsp
