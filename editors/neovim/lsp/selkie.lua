-- The language server. `init_options` may also have `include`, a list of folders, and `defines`, a table of
-- constants.
return {
  cmd = { "selkie", "lsp" },
  filetypes = { "sbpf" },
  root_markers = { "Cargo.toml", ".git" },
  init_options = { arch = "v3" },
}
