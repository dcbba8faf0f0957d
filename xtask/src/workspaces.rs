//! The workspaces of the repository, each with the folders of its sources.

/// A workspace: what one `Cargo.lock` covers.
pub(crate) struct Row {
    /// Its folder, from the root of the repository.
    pub(crate) folder: &'static str,
    /// Whether it measures, fuzzes or tries clients, most of them with others' crates: the daily checks do not
    /// compile it, `cargo xtask nightly lint-tools` lints it.
    pub(crate) is_tool: bool,
    /// Its parts, each with the folders of its sources: `cargo xtask figures` counts by part.
    pub(crate) parts: &'static [(&'static str, &'static [&'static str])],
}

/// All workspaces; the product's is the first. Those of examples, of tests and of the same sources beside another
/// release (`next`) are none of them.
#[rustfmt::skip]
pub(crate) const WORKSPACES: &[Row] = &[
    Row {
        folder: "",
        is_tool: false,
        parts: &[
            ("product", &["crates/", "xtask/"]),
            ("bench-svm", &["bench-svm/"]),
            ("bindings-python", &["bindings/python/"]),
            ("bindings-wasm", &["bindings/wasm/"]),
        ],
    },
    Row {
        folder: "bench",
        is_tool: true,
        parts: &[("bench", &["bench/"]), ("oracle", &["oracle/"])],
    },
    Row { folder: "bench-node", is_tool: true, parts: &[("bench-node", &["bench-node/"])] },
    // Its sources count as those of `bench-svm`, which builds and loads it.
    Row { folder: "bench-svm/peer", is_tool: true, parts: &[] },
    Row {
        folder: "compat",
        is_tool: false,
        parts: &[("bindings-js", &["bindings/js/"]), ("compat", &["compat/"])],
    },
    Row { folder: "fuzz", is_tool: true, parts: &[("fuzz", &["fuzz/"])] },
    Row { folder: "oracle-bank", is_tool: false, parts: &[("oracle-bank", &["oracle-bank/"])] },
    Row { folder: "oracle-svm", is_tool: false, parts: &[("oracle-svm", &["oracle-svm/"])] },
    // It is a test, whose figures do not count.
    Row { folder: "tests/clients/rust", is_tool: true, parts: &[] },
];
