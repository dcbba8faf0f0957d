//! Runs conformance vectors against Selkie.
