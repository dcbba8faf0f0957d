// Runs the engine: `bindings/wasm`, whose exports are in its file `abi.rs`.

interface Exports {
  memory: WebAssembly.Memory;
  selkie_room(bytes: number): number;
  selkie_answer(): number;
  selkie_text(): number;
}

let file = "";
let loaded: Promise<WebAssembly.Module> | undefined;
let running: Exports | undefined;

async function load(): Promise<WebAssembly.Module> {
  const response = await fetch(file);
  if (!response.ok) throw new Error(`The engine is missing: ${file} gave ${response.status}. \`cargo xtask site\` builds it.`);
  let bytes = await response.arrayBuffer();
  // Some servers say that the file is compressed, and then the browser has expanded it.
  const [first, second] = new Uint8Array(bytes);
  if (first === 0x1f && second === 0x8b) {
    const expanded = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    bytes = await new Response(expanded).arrayBuffer();
  }
  return WebAssembly.compile(bytes);
}

/** Libraries import functions of pages that nothing here calls. */
function absent(module: WebAssembly.Module): WebAssembly.Imports {
  const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
  for (const it of WebAssembly.Module.imports(module)) {
    (imports[it.module] ??= {})[it.name] = () => {
      throw new Error(`${it.name} is not there`);
    };
  }
  return imports;
}

async function answer(question: string): Promise<string> {
  const module = await (loaded ??= load());
  running ??= (await WebAssembly.instantiate(module, absent(module))).exports as unknown as Exports;
  const bytes = new TextEncoder().encode(question);
  const { memory, selkie_room, selkie_answer, selkie_text } = running;
  // Each call may move the memory: the buffer is taken after it.
  const at = selkie_room(bytes.length);
  new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  const length = selkie_answer();
  return new TextDecoder().decode(new Uint8Array(memory.buffer, selkie_text(), length));
}

let last: Promise<void> = Promise.resolve();

onmessage = ({ data }: MessageEvent<{ file?: string; id: number; text: string }>) => {
  if (data.file) {
    file = data.file;
    return;
  }
  last = last.then(async () => {
    try {
      postMessage({ id: data.id, text: await answer(data.text) });
    } catch (error) {
      // The next question begins anew.
      running = undefined;
      const why = error instanceof WebAssembly.RuntimeError ? `The engine has stopped (${error.message}): please report what you ran.` : (error as Error).message;
      postMessage({ id: data.id, problem: why });
    }
  });
};
