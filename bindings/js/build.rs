//! Sets the linker's options for a native module of node.

fn main() {
    napi_build::setup();
}
