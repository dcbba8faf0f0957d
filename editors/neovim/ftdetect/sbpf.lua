vim.filetype.add({ extension = { s = "sbpf" } })
