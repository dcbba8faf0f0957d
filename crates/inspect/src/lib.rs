//! Looking into programs: listing, control-flow graph, symbols and source lines.
