// Addresses of views, and how one gets from one to another.

import { useEffect, useState } from "preact/hooks";
import { isAddress, isSignature } from "./bytes";

export function go(path: string) {
  if (path !== location.pathname + location.search) history.pushState(null, "", path);
  dispatchEvent(new PopStateEvent("popstate"));
  scrollTo(0, 0);
}

/** Changes a parameter of the address, which stays the same view. */
export function setParam(name: string, value: string) {
  const params = new URLSearchParams(location.search);
  if (value) params.set(name, value);
  else params.delete(name);
  const query = params.toString();
  history.replaceState(null, "", location.pathname + (query ? `?${query}` : "") + location.hash);
}

export const param = (name: string) => new URLSearchParams(location.search).get(name) ?? "";

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
