// Requests to the node that served this page, and what it notifies of.

/** In development Vite serves the pages, and passes on what is below this path. */
const PATH = import.meta.env.DEV ? "/rpc" : "/";
/** How long until a lost WebSocket is opened again. */
const RETRY_MILLISECONDS = 1000;

export class RpcError extends Error {
  constructor(
    message: string,
    readonly code: number,
    readonly data: unknown,
  ) {
    super(message);
  }
}

let next = 1;
let local: ((method: string, ...params: unknown[]) => Promise<unknown>) | undefined;

/** Lets an engine in the page answer instead of a node. */
export const answerLocally = (by: typeof local) => void (local = by);

/** Calls a method. Numbers beyond 2⁵³ become `bigint`, so that lamports stay exact. */
export async function rpc<T>(method: string, ...params: unknown[]): Promise<T> {
  if (local) return local(method, ...params) as Promise<T>;
  let response: Response;
  try {
    response = await fetch(PATH, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: exactly({ jsonrpc: "2.0", id: next++, method, params }),
    });
  } catch {
    throw new RpcError("The node does not answer. Is it still running?", 0, null);
  }
  const text = await response.text();
  if (!response.ok) throw new RpcError(text.trim() || `The node answered ${response.status}.`, response.status, null);
  const answer = parse(text) as { result?: T; error?: { message: string; code: number; data: unknown } };
  if (answer.error) throw new RpcError(answer.error.message, answer.error.code, answer.error.data);
  return answer.result as T;
}

/** Calls a method once for each list of parameters, in one request; what fails is null. */
export async function rpcEach<T>(method: string, all: unknown[][]): Promise<(T | null)[]> {
  if (all.length === 0) return [];
  const from = next;
  next += all.length;
  const body = all.map((params, index) => ({ jsonrpc: "2.0", id: from + index, method, params }));
  const response = await fetch(PATH, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new RpcError(text.trim() || `The node answered ${response.status}.`, response.status, null);
  const answers = new Map((parse(text) as { id: number; result?: T }[]).map((it) => [it.id, it.result ?? null]));
  return all.map((_, index) => answers.get(from + index) ?? null);
}

/** Characters that are not drawn, or that change the direction of what is beside them; the engine's `plain.rs` has the same. */
const UNSEEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Text of others as text: what one would not see is an escape. */
export const plain = (text: string) => text.replace(UNSEEN, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Parses JSON with exact integers, whose texts are plain unless they are wanted as they are. */
export function parse(text: string, asText = plain): unknown {
  type Context = { source?: string };
  const read = (_: string, value: unknown, context?: Context) => {
    if (typeof value === "string") return asText(value);
    const isLong = typeof value === "number" && !Number.isSafeInteger(value);
    return isLong && context?.source && /^-?\d+$/.test(context.source) ? BigInt(context.source) : value;
  };
  return JSON.parse(text, read as (key: string, value: unknown) => unknown);
}

/** Renders JSON with exact integers, for people. */
export const stringify = (value: unknown) => exactly(value, 2);

/** Renders JSON with exact integers. */
export function exactly(value: unknown, indent?: number): string {
  const marked = JSON.stringify(value, (_, it) => (typeof it === "bigint" ? `\u0001${it}\u0001` : it), indent);
  return (marked ?? "null").replace(/"\\u0001(-?\d+)\\u0001"/g, "$1");
}

type Listener = (result: any) => void;
interface Subscription {
  name: string;
  params: unknown[];
  listener: Listener;
  id?: number;
}

let socket: WebSocket | undefined;
const wanted = new Set<Subscription>();
const asked = new Map<number, Subscription>();
const watchers = new Set<(isOpen: boolean) => void>();

function connect() {
  if (socket) return;
  const address = new URL(PATH, location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  const opened = new WebSocket(address);
  socket = opened;
  opened.onopen = () => {
    for (const it of wanted) ask(it);
    for (const watch of watchers) watch(true);
  };
  opened.onmessage = (event) => {
    const message = parse(event.data) as any;
    const subscription = asked.get(message.id);
    if (subscription) {
      asked.delete(message.id);
      subscription.id = message.result;
      if (!wanted.has(subscription)) forget(subscription);
      return;
    }
    const { params } = message;
    if (!params) return;
    for (const it of wanted) if (it.id === params.subscription) it.listener(params.result);
  };
  opened.onclose = () => {
    socket = undefined;
    asked.clear();
    for (const it of wanted) it.id = undefined;
    for (const watch of watchers) watch(false);
    setTimeout(() => (wanted.size > 0 || watchers.size > 0) && connect(), RETRY_MILLISECONDS);
  };
}

function send(method: string, params: unknown[]): number {
  const id = next++;
  socket!.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  return id;
}

function ask(subscription: Subscription) {
  if (socket?.readyState === WebSocket.OPEN) asked.set(send(`${subscription.name}Subscribe`, subscription.params), subscription);
}

function forget(subscription: Subscription) {
  if (subscription.id !== undefined && socket?.readyState === WebSocket.OPEN) send(`${subscription.name}Unsubscribe`, [subscription.id]);
}

/** Subscribes until the returned function is called, across lost connections. */
export function subscribe(name: string, params: unknown[], listener: Listener): () => void {
  const subscription: Subscription = { name, params, listener };
  wanted.add(subscription);
  connect();
  ask(subscription);
  return () => {
    wanted.delete(subscription);
    forget(subscription);
  };
}

/** Watches whether the node can be reached. */
export function watchConnection(watch: (isOpen: boolean) => void): () => void {
  watchers.add(watch);
  connect();
  watch(socket?.readyState === WebSocket.OPEN);
  return () => void watchers.delete(watch);
}

const slotWatchers = new Set<(slot: number) => void>();
let slotSources: (() => void)[] | undefined;

/** Asks for the slot anew, as after something that moves it. On demand, that lets it catch up with the clock. */
export const askSlot = () =>
  void rpc<number>("getSlot", { commitment: "processed" }).then(
    (slot) => slotWatchers.forEach((it) => it(slot)),
    () => {},
  );

/**
 * Watches the slot. Where blocks are made on demand, it is that of the newest transaction: each question for the slot,
 * and a subscription to slots, would let the node make empty blocks.
 */
export function watchSlot(watch: (slot: number) => void): () => void {
  let last: number | undefined;
  const changed = (slot: number) => {
    if (slot === last) return;
    last = slot;
    watch(slot);
  };
  slotWatchers.add(changed);
  if (!slotSources) {
    const tell = (slot: number) => slotWatchers.forEach((it) => it(slot));
    const sources = [subscribe("logs", ["all", { commitment: "processed" }], (it) => tell(it.context.slot))];
    slotSources = sources;
    rpc<{ blocks?: string }>("selkie_nodeInfo").then(
      (info) => {
        if (info.blocks === "interval" && slotSources === sources) sources.push(subscribe("slot", [], (it) => tell(it.slot)));
      },
      () => {},
    );
  }
  askSlot();
  return () => {
    slotWatchers.delete(changed);
    if (slotWatchers.size > 0) return;
    slotSources?.forEach((end) => end());
    slotSources = undefined;
  };
}
