// Addresses of views, and how one gets from one to another.

import { useEffect, useState } from "preact/hooks";
import { isAddress, isSignature } from "./bytes";

export function go(path: string) {
  writeParams();
  if (path !== location.pathname + location.search) history.pushState(null, "", path);
  dispatchEvent(new PopStateEvent("popstate"));
  scrollTo(0, 0);
}

/** Browsers let a page change its address a hundred times in half a minute, and load its icon anew each time. */
const ADDRESS_MILLISECONDS = 300;
let changed: { params: URLSearchParams; path: string } | undefined;
let changing: ReturnType<typeof setTimeout> | undefined;
let written = -ADDRESS_MILLISECONDS;

const params = () => (changed?.path === location.pathname ? changed.params : new URLSearchParams(location.search));

/** Changes a parameter of the address, which stays the same view. Of changes in quick succession, the last one is awaited. */
export function setParam(name: string, value: string) {
  const all = params();
  if (value) all.set(name, value);
  else all.delete(name);
  changed = { params: all, path: location.pathname };
  clearTimeout(changing);
  const wait = written + ADDRESS_MILLISECONDS - performance.now();
  if (wait <= 0) writeParams();
  else changing = setTimeout(writeParams, ADDRESS_MILLISECONDS);
}

// A page that one goes back to has an address of its own.
addEventListener("popstate", () => void (changed = undefined));

/** The address of this view, as one would share it. */
export function address(): string {
  writeParams();
  return location.href;
}

function writeParams() {
  clearTimeout(changing);
  if (!changed) return;
  const query = changed.params.toString();
  const isHere = changed.path === location.pathname;
  changed = undefined;
  if (!isHere) return;
  written = performance.now();
  history.replaceState(null, "", location.pathname + (query ? `?${query}` : "") + location.hash);
}

export const param = (name: string) => params().get(name) ?? "";

export function usePath(): string {
  const [path, set] = useState(location.pathname + location.search);
  useEffect(() => {
    const update = () => set(location.pathname + location.search);
    addEventListener("popstate", update);
    return () => removeEventListener("popstate", update);
  }, []);
  return path;
}

/** Whether there are views of accounts. */
export const views = { ofAccounts: true };

/** Links within the pages, without loading them again. */
export function followLinks(event: MouseEvent) {
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element).closest?.("a");
  if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
  if (link.pathname === location.pathname && link.hash) return;
  event.preventDefault();
  go(link.pathname + link.search);
}

/** Where what was typed or pasted is shown; nothing if it is neither a signature, an address nor a slot. */
export function placeOf(text: string): string | undefined {
  const wanted = text.trim();
  if (/^\d{1,15}$/.test(wanted)) return `/block/${wanted}`;
  if (isAddress(wanted)) return `/address/${wanted}`;
  if (isSignature(wanted)) return `/tx/${wanted}`;
  return undefined;
}
