//! Timelines as columns, for the page.
