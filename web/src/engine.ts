// The engine in a worker: questions and answers as text, one after the other.

import { parse, RpcError } from "./rpc";

/** The engine, compressed, beside the page. */
const FILE = "assets/engine.wasm.gz";

interface Waiting {
  /** How texts of the answer are read. */
  asText?: (text: string) => string;
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

const waiting = new Map<number, Waiting>();
let worker: Worker | undefined;
let next = 1;

function start(): Worker {
  const started = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  started.onmessage = ({ data }: MessageEvent<{ id: number; text?: string; problem?: string }>) => {
    const asked = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.problem !== undefined) {
      asked?.reject(new RpcError(data.problem, 0, null));
      return;
    }
    const answer = parse(data.text!, asked?.asText) as { result?: unknown; error?: { message: string } };
    if (answer.error) asked?.reject(new RpcError(answer.error.message, 0, null));
    else asked?.resolve(answer.result);
  };
  started.onerror = () => {
    const error = new RpcError("The engine cannot be loaded.", 0, null);
    for (const it of waiting.values()) it.reject(error);
    waiting.clear();
    worker = undefined;
  };
  started.postMessage({ file: new URL(FILE, document.baseURI).href });
  return started;
}

/** Loads the engine before it is needed. */
export const startEngine = () => void (worker ??= start());

/** Asks the engine for the source as it formats it, in which every character stays. */
export const formatted = (source: string) => asked<string>("format", [source], (text) => text);

/** Asks the engine. */
export const engine = <T>(method: string, ...params: unknown[]) => asked<T>(method, params);

function asked<T>(method: string, params: unknown[], asText?: Waiting["asText"]): Promise<T> {
  worker ??= start();
  const id = next++;
  const answer = new Promise<unknown>((resolve, reject) => waiting.set(id, { resolve, reject, asText }));
  worker.postMessage({ id, text: JSON.stringify({ method, params }) });
  return answer as Promise<T>;
}
