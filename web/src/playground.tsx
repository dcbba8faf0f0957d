// The playground: assembly is typed, assembled, run and stepped through, all in the page.

import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { FunctionPicker, Listing } from "./account";
import { base64, fromBase64, hex } from "./bytes";
import { Log } from "./calls";
import { Steps } from "./debug";
import { type Diagnostic, Diagnostics, Editor, LINE_PIXELS, type LineOf, type Place } from "./editor";
import { engine, formatted, startEngine } from "./engine";
import { EXAMPLES } from "./examples";
import { count, counted, learnName } from "./format";
import { InstructionForm } from "./playform";
import { inputFile, instructionOf, packed, type Play, PROGRAM_ID, unpacked, VERSIONS } from "./playstate";
import { address, param, setParam, views } from "./router";
import { answerLocally } from "./rpc";
import type { Subject } from "./steps";
import { toggleTheme } from "./theme";
import { Balances, Diffs } from "./transaction";
import type { Diff, Disassembled } from "./types";
import { Copy, Failure, Hex, Loaded, Section, Status, useKeys, useLoad } from "./ui";
import "./style.css";
import "./playground.css";

/** How long one has to stop typing for the program to be run. */
const PAUSE_MILLISECONDS = 120;
/** The instructions of one page of a listing. */
const PAGE = 500;
const FILE_BYTES_MAX = 10 << 20;

interface Stored {
  lamports: string;
  owner: string;
  data: string;
}

interface Ran {
  name: string;
  diagnostics: Diagnostic[];
  program: { bytes: number; slots?: number } | null;
  run?: {
    changes: { key: string; before: Stored | null; after: Stored | null; fields: Diff["fields"] }[];
    error: string | null;
    explained: { errorName: string | null; explanations: string[]; place: string[] };
    instructions: number;
    limit: number;
    lines: LineOf[];
    logs: string[];
    returned: string;
    trap: { message: string; instruction: string; notes: string[]; place: string } | null;
    units: number;
  };
}

/** A file that was dropped on the page. */
interface Opened {
  name: string;
  elf: string;
}

function App({ first, isUnread }: { first: Play; isUnread: boolean }) {
  const [play, setPlay] = useState(first);
  const [opened, open] = useState<Opened>();
  const [ran, setRan] = useState<Ran>();
  const [problem, setProblem] = useState<Error>();
  const [isStepping, setStepping] = useState(param("step") !== "");
  const text = useRef<HTMLTextAreaElement>(null);
  const round = useRef(0);
  const change = (next: Play) => {
    setPlay(next);
    // The step is one of the run before.
    setParam("step", "");
  };
  useEffect(() => {
    const own = ++round.current;
    const timer = setTimeout(async () => {
      try {
        const program = opened ? { elf: opened.elf } : { source: play.source, version: play.version };
        const next = await engine<Ran>("run", { ...program, ...instructionOf(play), name: opened?.name.replace(/\.so$/, "") ?? "program" });
        const state = opened ? "" : await packed(play);
        if (own !== round.current) return;
        history.replaceState(null, "", `${location.pathname}${location.search}${state && `#${state}`}`);
        setRan(next);
        setProblem(undefined);
      } catch (error) {
        if (own === round.current) setProblem(error as Error);
      }
    }, own === 1 ? 0 : PAUSE_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [play, opened]);
  const take = async (file: File | undefined) => {
    if (!file) return;
    if (file.size > FILE_BYTES_MAX) return setProblem(new Error(`${file.name} has ${counted(file.size, "byte")}: a program has ten million at most.`));
    if (/\.(s|asm)$/i.test(file.name)) {
      open(undefined);
      return change({ ...play, source: await file.text() });
    }
    open({ name: file.name, elf: base64(new Uint8Array(await file.arrayBuffer())) });
  };
  const go = (place: Place) => {
    const it = text.current;
    if (!it) return;
    it.focus();
    it.setSelectionRange(place.start, place.end);
    it.closest(".editor")!.scrollTop = (place.line - 4) * LINE_PIXELS;
  };
  const fix = (place: Place, by: string) => change({ ...play, source: play.source.slice(0, place.start) + by + play.source.slice(place.end) });
  const format = () => formatted(play.source).then((source) => change({ ...play, source }), setProblem);
  const choose = (name: string) => {
    const found = EXAMPLES.find((it) => it.name === name);
    if (!found) return;
    open(undefined);
    setStepping(false);
    change(found.play);
  };
  useKeys({ t: toggleTheme });
  const subject = useSubject(ran);
  return (
    <div
      class="playground"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void take(event.dataTransfer?.files[0]);
      }}
    >
      <header class="top">
        <span class="brand">
          <img src="./assets/icon.svg" alt="" width="24" height="24" />
          <b>Selkie</b>
        </span>
        <Tools play={play} change={change} choose={choose} format={format} take={take} isFile={!!opened} ran={ran} />
      </header>
      <main id="main" tabIndex={-1}>
        <h1 class="visually-hidden">Playground</h1>
        {isUnread && <p class="notice bad">The address holds no program that can be read: this is an example instead.</p>}
        <div class="bench">
          <section class="bench-program" aria-label="Program">
            {opened ? (
              <OpenedFile it={opened} close={() => open(undefined)} />
            ) : (
              <>
                <Editor source={play.source} change={(source) => change({ ...play, source })} diagnostics={ran?.diagnostics ?? []} lines={ran?.run?.lines ?? []} text={text} />
                <Diagnostics all={ran?.diagnostics ?? []} go={go} fix={fix} />
              </>
            )}
          </section>
          <section class="bench-input" aria-label="Instruction">
            <InstructionForm play={play} change={change} />
          </section>
          <section class="bench-result" aria-label="Result">
            {problem ? <Failure error={problem} /> : <Result ran={ran} isStepping={isStepping} step={() => setStepping(!isStepping)} />}
          </section>
        </div>
        {isStepping && subject && !problem && (
          <section aria-label="Steps">
            <Steps key={subject.name} subject={subject} />
          </section>
        )}
      </main>
    </div>
  );
}

const useSubject = (ran?: Ran): Subject | undefined => ran?.run && { name: ran.name, at: () => "", isSimulated: true };

function Tools(props: {
  play: Play;
  change: (play: Play) => void;
  choose: (name: string) => void;
  format: () => void;
  take: (file: File | undefined) => void;
  isFile: boolean;
  ran?: Ran;
}) {
  const { play } = props;
  const [said, say] = useState("");
  const copy = async (what: string, text: () => string) => {
    try {
      await navigator.clipboard.writeText(text());
      say(`${what} copied`);
    } catch (error) {
      say((error as Error).message);
    }
    setTimeout(() => say(""), 1600);
  };
  const save = async () => {
    const bytes = fromBase64(await engine<string>("elf", { source: play.source, version: play.version }))!;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes as BlobPart]));
    link.download = "program.so";
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <div class="play-tools" role="toolbar" aria-label="Program">
      <select aria-label="Examples" value="" onChange={(event) => props.choose((event.target as HTMLSelectElement).value)}>
        <option value="">Examples</option>
        {EXAMPLES.map((it) => (
          <option key={it.name} value={it.name}>
            {it.name}: {it.about}
          </option>
        ))}
      </select>
      <label class="button">
        Open a file
        <input class="visually-hidden" type="file" accept=".so,.s,.asm" onChange={(event) => props.take((event.target as HTMLInputElement).files?.[0])} />
      </label>
      {!props.isFile && (
        <>
          <label>
            <span class="visually-hidden">sBPF version</span>
            <select aria-label="sBPF version" value={play.version} onChange={(event) => props.change({ ...play, version: (event.target as HTMLSelectElement).value })}>
              {VERSIONS.map((it) => (
                <option key={it}>{it}</option>
              ))}
            </select>
          </label>
          <button onClick={props.format}>Format</button>
          <button onClick={save} disabled={!props.ran?.run}>
            Save .so
          </button>
          <button onClick={() => copy("Address", address)}>Share</button>
        </>
      )}
      <button onClick={() => copy("Instruction", () => inputFile(play))} title="The file for `selkie run --input`">
        Copy input.json
      </button>
      <span class="faint" role="status">
        {said}
      </span>
      <button class="icon theme" onClick={toggleTheme} aria-label="Light or dark" title="Light or dark (t)">
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <circle cx="8" cy="8" r="5.5" />
          <path d="M8 2.5a5.5 5.5 0 0 1 0 11z" class="fill" />
        </svg>
      </button>
    </div>
  );
}

function OpenedFile({ it, close }: { it: Opened; close: () => void }) {
  const [from, setFrom] = useState(0);
  const code = useLoad(() => engine<Disassembled>("disassemble", { elf: it.elf, from, count: PAGE }), `${it.name} ${it.elf.length} ${from}`);
  return (
    <>
      <header class="section">
        <h2>
          {it.name}
          {code.value && (
            <span class="faint">
              {" "}
              {code.value.version}, {counted(code.value.bytes, "byte")}
            </span>
          )}
        </h2>
        <div class="aside">
          {code.value && <FunctionPicker about={code.value} pick={setFrom} />} <button onClick={close}>Back to the source</button>
        </div>
      </header>
      <Loaded of={code} lines={12}>
        {(shown) => <Listing code={shown} from={from} go={setFrom} />}
      </Loaded>
    </>
  );
}

function Result({ ran, isStepping, step }: { ran?: Ran; isStepping: boolean; step: () => void }) {
  if (!ran) return <p class="faint">The engine is being loaded…</p>;
  const { run, program } = ran;
  if (!run) {
    const errors = ran.diagnostics.filter((it) => it.isError).length;
    return <p class="why">{counted(errors, "error")}: there is no program yet.</p>;
  }
  const { explained, trap } = run;
  const returned = fromBase64(run.returned) ?? new Uint8Array();
  const stored = (side: "before" | "after") => run.changes.map((it) => BigInt(it[side]?.lamports ?? 0));
  return (
    <>
      <p class="verdict">
        <Status isOk={!run.error} />
        <b class="number units-used">{counted(run.units, "compute unit")}</b>
        <span class="faint number">
          of {count(run.limit)}; {counted(run.instructions, "instruction")}
          {program?.slots !== undefined && `; ${counted(program.slots, "slot")}, ${counted(program.bytes, "byte")}`}
        </span>
        <button class={isStepping ? "" : run.error ? "danger" : "main"} aria-expanded={isStepping} onClick={step} disabled={run.instructions === 0}>
          {isStepping ? "Close the steps" : "Step through"}
        </button>
      </p>
      {run.error && (
        <div class="failure">
          <h2>
            {trap?.message ?? run.error}
            {explained.errorName && <span> {explained.errorName}</span>}
          </h2>
          {explained.place.length > 0 && (
            <p class="mono">
              {explained.place[0]}
              {trap && `: ${trap.instruction}`}
            </p>
          )}
          {[...explained.explanations, ...(trap?.notes ?? [])].map((it) => (
            <p key={it}>{it}</p>
          ))}
        </div>
      )}
      <Log lines={run.logs} />
      {returned.length > 0 && (
        <Section title="Return data" aside={<Copy text={hex(returned)} label="return data" />}>
          <Hex bytes={returned} />
        </Section>
      )}
      <Balances keys={run.changes.map((it) => it.key)} before={stored("before")} after={stored("after")} />
      <Diffs diffs={run.changes.map(diffOf).filter((it) => it !== undefined)} />
    </>
  );
}

/** A word that has changed is shown whole, since it is probably a number. */
const WORD = 8;
const RANGE_BYTES_MAX = 32;
const RANGES_MAX = 64;

/** The difference of an account's data as the node tells it; nothing if only lamports have changed. */
function diffOf({ key, before, after, fields }: NonNullable<Ran["run"]>["changes"][number]): Diff | undefined {
  const [old, now] = [before, after].map((it) => fromBase64(it?.data ?? "") ?? new Uint8Array());
  const owners = [before, after].map((it) => it?.owner ?? "");
  const ranges: Diff["ranges"] = [];
  const longest = Math.max(old.length, now.length);
  const differs = (at: number) => at < longest && hex(old.subarray(at, at + WORD)) !== hex(now.subarray(at, at + WORD));
  let at = 0;
  for (; at < longest && ranges.length < RANGES_MAX; ) {
    if (!differs(at)) {
      at += WORD;
      continue;
    }
    // A run of words that is no address is a row for each.
    const end = differs(at + WORD) && differs(at + 2 * WORD) ? at + RANGE_BYTES_MAX : at + WORD;
    ranges.push({ offset: at, before: hex(old.subarray(at, end)), after: hex(now.subarray(at, end)) });
    at = end;
  }
  if (ranges.length === 0 && owners[0] === owners[1]) return undefined;
  return {
    account: key,
    bytesBefore: old.length,
    bytesAfter: now.length,
    ownerBefore: owners[0],
    ownerAfter: owners[1],
    isTruncated: at < longest,
    ranges,
    fields,
  };
}

async function main() {
  views.ofAccounts = false;
  answerLocally(engine);
  startEngine();
  learnName(PROGRAM_ID, "program");
  const state = location.hash.slice(1);
  const read = state ? await unpacked(state) : undefined;
  render(<App first={read ?? EXAMPLES[0].play} isUnread={!!state && !read} />, document.getElementById("app")!);
}

void main();
