-- Starts the language server for assembly, and adds the debugger to nvim-dap if that is installed.
vim.lsp.enable("selkie")

vim.api.nvim_create_autocmd("LspAttach", {
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == "selkie" then
      -- Compute units after labels.
      vim.lsp.inlay_hint.enable(true, { bufnr = event.buf })
    end
  end,
})

local found, dap = pcall(require, "dap")
if found then
  dap.adapters.selkie = { type = "executable", command = "selkie", args = { "dap" } }
  local newest = {
    type = "selkie",
    request = "launch",
    name = "Selkie: the newest failure of a test",
    cwd = "${fileDirname}",
  }
  local replay = {
    type = "selkie",
    request = "launch",
    name = "Selkie: a replay",
    replay = function()
      return vim.fn.input("Replay: ", vim.fn.getcwd() .. "/", "file")
    end,
    cwd = "${fileDirname}",
    stopOnEntry = true,
  }
  for _, filetype in ipairs({ "rust", "c", "sbpf" }) do
    local list = dap.configurations[filetype] or {}
    vim.list_extend(list, { newest, replay })
    dap.configurations[filetype] = list
  end
end
