vim.bo.commentstring = "; %s"
vim.bo.shiftwidth = 4
vim.bo.expandtab = true
