// Light or dark: the system's choice, or the one that was made here.

export function toggleTheme() {
  const root = document.documentElement;
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const shown = root.dataset.theme ?? (isDark ? "dark" : "light");
  root.dataset.theme = shown === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("theme", root.dataset.theme);
  } catch {
    // The choice lasts until the page is closed.
  }
}

try {
  const kept = localStorage.getItem("theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
} catch {
  // The system's choice holds.
}
