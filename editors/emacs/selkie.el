;;; selkie.el --- sBPF assembly and Solana programs with Selkie  -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1") (eglot "1.9"))
;; Keywords: languages, tools

;;; Commentary:

;; A mode for sBPF assembly, with the language server `selkie lsp' by Eglot, and a configuration of dape
;; for the debug adapter `selkie dap'.  Put the file on the load path and write (require 'selkie).

;;; Code:

(require 'eglot)

(defgroup selkie nil
  "Selkie, a program engine for Solana."
  :group 'tools)

(defcustom selkie-command "selkie"
  "The command that runs Selkie."
  :type 'string)

(defcustom selkie-arch "v3"
  "The sBPF version that assembly is checked for."
  :type '(choice (const "v0") (const "v1") (const "v2") (const "v3") (const "v4")))

(defcustom selkie-include nil
  "Folders in which files that assembly includes are looked for."
  :type '(repeat directory))

(defvar sbpf-mode-syntax-table
  (let ((table (make-syntax-table)))
    ;; Comments are `; text', `# text', `// text' and `/* text */'.
    (modify-syntax-entry ?\; "<" table)
    (modify-syntax-entry ?# "<" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?/ ". 124" table)
    (modify-syntax-entry ?* ". 23b" table)
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?. "_" table)
    (modify-syntax-entry ?$ "_" table)
    table)
  "Syntax table of `sbpf-mode'.")

(defvar sbpf-mode-font-lock-keywords
  '(("^\\s-*\\(\\(?:\\sw\\|\\s_\\)+\\):" 1 font-lock-function-name-face)
    ("\\_<\\(?:[rw]\\(?:10\\|[0-9]\\)\\|fp\\)\\_>" . font-lock-variable-name-face)
    ("^\\s-*\\(\\.\\(?:\\sw\\|\\s_\\)+\\)" 1 font-lock-preprocessor-face)
    ("^\\(?:\\s-*\\(?:\\sw\\|\\s_\\)+:\\)?\\s-*\\([a-z][a-z0-9_]*\\)\\_>" 1 font-lock-keyword-face))
  "What `sbpf-mode' highlights.")

;;;###autoload
(define-derived-mode sbpf-mode prog-mode "sBPF"
  "Mode for sBPF assembly."
  (setq-local comment-start "; ")
  (setq-local comment-start-skip "\\(?:;\\|#\\|//+\\|/\\*\\)\\s-*")
  (setq-local tab-width 4)
  (setq-local indent-tabs-mode nil)
  (setq-local indent-line-function #'indent-relative-first-indent-point)
  (setq-local font-lock-defaults '(sbpf-mode-font-lock-keywords)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.s\\'" . sbpf-mode))

(defun selkie-server (&rest _)
  "Return how Eglot starts the language server."
  (list selkie-command "lsp"
        :initializationOptions
        (list :arch selkie-arch
              :include (vconcat (mapcar #'expand-file-name selkie-include)))))

(add-to-list 'eglot-server-programs '(sbpf-mode . selkie-server))
(add-hook 'sbpf-mode-hook #'eglot-ensure)

(defvar dape-configs)
(with-eval-after-load 'dape
  (add-to-list 'dape-configs
               `(selkie
                 modes (rust-mode rust-ts-mode c-mode c-ts-mode sbpf-mode)
                 command ,selkie-command
                 command-args ("dap")
                 command-cwd dape-command-cwd
                 :type "selkie"
                 :request "launch"
                 :cwd dape-cwd)))

(provide 'selkie)
;;; selkie.el ends here
