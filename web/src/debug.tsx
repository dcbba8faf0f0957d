// The debugger: any step of a transaction, forward and backward.

import { useRef, useState } from "preact/hooks";
import { Code, Source } from "./code";
import { count, counted, learnName, nameOf } from "./format";
import { Memory, regionAt, type Spot } from "./memory";
import { param, setParam } from "./router";
import { ask, type CallOf, type FrameOf, type Here, type Run, type Subject, subjectOf, type VariableOf } from "./steps";
import { Timeline } from "./timeline";
import { Address, Failure, Loaded, Signature, Status, useKeys, useLoad } from "./ui";
import { ROW_PIXELS, Virtual } from "./virtual";

const UNITS = [
  ["own", "own line"],
  ["line", "line"],
  ["instruction", "instruction"],
] as const;

interface Everything {
  run: Run;
  here: Here;
}

export function DebugView({ signature }: { signature: string }) {
  const subject = useRef(subjectOf(signature)).current;
  return (
    <>
      <header class="page">
        <h1>
          Steps{" "}
          {subject.isSimulated ? <span class="faint">of a simulated transaction</span> : <Signature of={signature} full />}
        </h1>
      </header>
      <Steps subject={subject} />
    </>
  );
}

export function Steps({ subject }: { subject: Subject }) {
  const everything = useLoad(async (): Promise<Everything> => {
    const run = await ask<Run | null>(subject, "run");
    if (!run) throw new Error("The node does not have this transaction: it has not landed, or is older than the history that is kept.");
    for (const it of run.programs) if (it.name !== it.address) learnName(it.address, it.name);
    const step = param("step");
    const here = await ask<Here>(subject, "step", { step: step ? Number(step) : (run.cause ?? run.first) });
    return { run, here };
  }, subject.name);
  return (
    <Loaded of={everything} lines={14}>
      {({ run, here }) => (run.steps === 0 ? <NoSteps run={run} /> : <Stepper subject={subject} run={run} first={here} />)}
    </Loaded>
  );
}

const NoSteps = ({ run }: { run: Run }) => (
  <p class="notice">
    The programs of this transaction are parts of the runtime, which have no instructions: {run.result}.
  </p>
);

function Stepper({ subject, run, first }: { subject: Subject; run: Run; first: Here }) {
  const [here, setHere] = useState(first);
  const [since, setSince] = useState<number | undefined>(first.step > 0 ? first.step - 1 : undefined);
  const [by, setBy] = useState<string>(run.programs.some((it) => it.hasLines) ? "own" : "instruction");
  const [problem, setProblem] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const [spot, setSpot] = useState<Spot>({ vaddr: Number(first.registers?.[10] ?? 0) - 64, round: 0 });
  const [place, setPlace] = useState("");
  const [frame, setFrame] = useState(first.selected ?? 0);
  const [moves, setMoves] = useState(0);
  const calls = useLoad(() => ask<{ calls: CallOf[]; units: number; limit: number }>(subject, "calls"), subject.name);
  const stepInput = useRef<HTMLInputElement>(null);
  /** What is typed for the step, which parts of the view that arrive meanwhile leave as it is. */
  const [typed, setTyped] = useState<string>();
  const busy = useRef(false);
  /** For rows that are not drawn again with every step. */
  const current = useRef(here);
  current.current = here;

  /** Asks for another step. One question at a time: keys that are held down do not pile up. */
  const move = async (question: string, params: object) => {
    if (busy.current) return;
    busy.current = true;
    const slow = setTimeout(() => setBusy(true), 120);
    try {
      const next = await ask<Here>(subject, question, params);
      setProblem(undefined);
      const { step } = current.current;
      setSince((it) => (step === next.step ? it : step));
      setHere(next);
      setFrame(next.selected ?? 0);
      setMoves((it) => it + 1);
      setParam("step", String(next.step));
    } catch (error) {
      setProblem(error as Error);
    }
    clearTimeout(slow);
    busy.current = false;
    setBusy(false);
  };
  const go = (to: string, back = false) => move("go", { step: here.step, to, by, back });
  const goTo = (step: number) => move("step", { step: Math.max(0, Math.min(run.steps, step)) });
  const find = (back: boolean, text = place) => text.trim() && move("go", { step: current.current.step, to: "place", place: text.trim(), back });
  const choose = (index: number) => {
    setFrame(index);
    ask<Here>(subject, "step", { step: here.step, frame: index }).then((it) => setHere({ ...it, selected: here.selected }), setProblem);
  };
  const look = (vaddr: number) => setSpot((it) => ({ vaddr, round: it.round + 1 }));
  const cycle = () => setBy(UNITS[(UNITS.findIndex(([it]) => it === by) + 1) % UNITS.length][0]);
  useKeys({
    s: () => go("in"),
    S: () => go("in", true),
    n: () => go("over"),
    N: () => go("over", true),
    o: () => go("out"),
    O: () => go("out", true),
    c: () => go("syscall"),
    C: () => go("syscall", true),
    "!": () => run.failure !== null && go("failure"),
    u: cycle,
    g: () => stepInput.current?.select(),
  });
  const shown = here.frames?.[frame];
  const hasSource = shown?.file && shown.line;
  const program = shown ? run.programs[shown.program] : undefined;
  const used = calls.value && here.unitsLeft !== undefined ? calls.value.limit - here.unitsLeft : undefined;
  return (
    <div class="debugger">
      <div class="controls-row" role="toolbar" aria-label="Steps">
        <label class="by">
          by{" "}
          <select value={by} onChange={(event) => setBy((event.target as HTMLSelectElement).value)} aria-label="Step by">
            {UNITS.map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
        {(
          [
            ["Step", "in", "s"],
            ["Over", "over", "n"],
            ["Out", "out", "o"],
            ["Syscall", "syscall", "c"],
          ] as const
        ).map(([name, to, key]) => (
          <span class="pair" key={to}>
            <button onClick={() => go(to, true)} aria-label={`${name}, back`} title={`${name}, back (${key.toUpperCase()})`} disabled={here.step === 0}>
              ‹
            </button>
            <button onClick={() => go(to)} title={`${name} (${key})`} disabled={here.isEnd}>
              {name}
            </button>
          </span>
        ))}
        {run.failure !== null && (
          <button class="danger" onClick={() => go("failure")} title="To the failure (!)">
            To the failure
          </button>
        )}
        <form
          class="place"
          onSubmit={(event) => {
            event.preventDefault();
            find(false);
          }}
        >
          <input
            aria-label="Place: file:line, function or *slot"
            placeholder="lib.rs:48, function, *slot"
            value={place}
            spellcheck={false}
            onInput={(event) => setPlace((event.target as HTMLInputElement).value)}
          />
          <button type="button" aria-label="Find the place before" onClick={() => find(true)}>
            ‹
          </button>
          <button>Find</button>
        </form>
      </div>
      {problem && <Failure error={problem} />}
      <div class="where" aria-live="polite">
        <label>
          step{" "}
          <input
            ref={stepInput}
            class="number step"
            inputMode="numeric"
            aria-label="Step"
            value={typed ?? here.step}
            onInput={(event) => setTyped((event.target as HTMLInputElement).value)}
            onBlur={() => setTyped(undefined)}
            onChange={(event) => {
              setTyped(undefined);
              void goTo(Number((event.target as HTMLInputElement).value.replace(/\D/g, "")));
            }}
          />
        </label>
        <span class="number">of {count(run.steps)}</span>
        {here.unitsLeft !== undefined && <span class="number">{count(here.unitsLeft)} compute units left</span>}
        {isBusy && <span class="faint">running…</span>}
        {here.stop && <span class="why">{here.stop}</span>}
        {shown && (
          <span class="mono wrap">
            {shown.name}
            {shown.place ? ` at ${shown.place}` : ` at slot ${shown.pc}`}
          </span>
        )}
        {here.isEnd && (
          <>
            <Status isOk={!run.invocations.some((it) => it.caller === null && it.error)} text="End" />
            <span>{run.result}</span>
          </>
        )}
      </div>
      {calls.value && (
        <Timeline calls={calls.value.calls} units={calls.value.units} steps={run.steps} step={here.step} used={used} go={goTo} />
      )}
      {here.isEnd ? null : (
        <div class={hasSource ? "panes" : "panes no-source"}>
          {hasSource && (
            <section class="pane source-pane" aria-label="Source and instructions">
              <h2 class="mono">{shown.place}</h2>
              <Source subject={subject} frame={shown} when={moves} run={(text) => find(false, text)} />
            </section>
          )}
          <section class="pane" aria-label="Instructions">
            <h2>
              <span class="mono">{program?.name}</span>
              {!hasSource && (
                <span class="faint">
                  {program?.hasLines ? "no line is known of this instruction" : "no debug information on this machine"}
                </span>
              )}
            </h2>
            {shown && program && (
              <Code subject={subject} program={shown.program} of={program} pc={shown.pc} when={moves} run={(pc) => find(false, `*${pc}`)} />
            )}
          </section>
          <section class="pane side" aria-label="State">
            <Registers here={here} look={look} />
            <Stack frames={here.frames ?? []} run={run} selected={frame} choose={choose} />
            <Variables subject={subject} here={here} frame={frame} look={look} />
          </section>
        </div>
      )}
      {!here.isEnd && (
        <section aria-labelledby="memory">
          <header class="section">
            <h2 id="memory">Memory</h2>
            <div class="aside">Changed bytes are marked. Choose a byte to ask who wrote it.</div>
          </header>
          <Memory subject={subject} here={here} since={since} spot={spot} look={look} go={goTo} />
        </section>
      )}
      <Events run={run} step={here.step} go={goTo} />
      <Differences run={run} />
    </div>
  );
}

function Registers({ here, look }: { here: Here; look: (vaddr: number) => void }) {
  return (
    <>
      <h2>Registers</h2>
      <dl class="registers mono">
        {here.registers?.map((value, index) => {
          const old = here.before?.[index];
          const isChanged = old !== undefined && old !== value;
          const isAddress = regionAt(here.regions ?? [], Number(value)) !== undefined;
          return (
            <div key={index} class={isChanged ? "changed" : ""} title={isChanged ? `was ${old}` : undefined}>
              <dt>r{index}</dt>
              <dd>
                {isAddress ? (
                  <button class="link" onClick={() => look(Number(value))} title="Show this memory">
                    {value}
                  </button>
                ) : (
                  value
                )}
                {!isAddress && value.length < 12 && value.length > 3 && <i> {count(Number(value))}</i>}
              </dd>
            </div>
          );
        })}
      </dl>
    </>
  );
}

function Stack(props: { frames: FrameOf[]; run: Run; selected: number; choose: (index: number) => void }) {
  let last: number | undefined;
  return (
    <>
      <h2>Calls</h2>
      <ol class="stack">
        {props.frames.map((it, index) => {
          const isOther = it.invocation !== last;
          last = it.invocation;
          const invocation = props.run.invocations[it.invocation];
          return (
            <>
              {isOther && invocation && (
                <li key={`program ${it.invocation}`} class="program">
                  <Address of={invocation.program} mark plain /> <span class="faint">instruction {invocation.instruction + 1}</span>
                </li>
              )}
              <li key={index}>
                <button class={`link ${it.isOwn ? "own" : ""}`} aria-pressed={index === props.selected} onClick={() => props.choose(index)}>
                  <span class="mono">{it.name}</span>
                  <span class="faint mono">{it.place ?? `slot ${it.pc}`}</span>
                </button>
              </li>
            </>
          );
        })}
      </ol>
    </>
  );
}

function Variables({ subject, here, frame, look }: { subject: Subject; here: Here; frame: number; look: (vaddr: number) => void }) {
  const all = here.variables ?? [];
  if (all.length === 0) return null;
  return (
    <>
      <h2>Arguments and variables</h2>
      <ul class="variables mono">
        {all.map((it, index) => (
          <Variable key={`${index} ${it.name}`} it={it} path={[index]} subject={subject} here={here} frame={frame} look={look} />
        ))}
      </ul>
    </>
  );
}

function Variable(props: { it: VariableOf; path: number[]; subject: Subject; here: Here; frame: number; look: (vaddr: number) => void }) {
  const { it, path, here, frame } = props;
  const [isOpen, setOpen] = useState(false);
  const parts = useLoad(
    async () => (isOpen ? (await ask<{ parts: VariableOf[] }>(props.subject, "variable", { step: here.step, frame, path })).parts : []),
    `${isOpen} ${here.step} ${frame} ${path}`,
  );
  return (
    <li>
      <div>
        {it.parts > 0 ? (
          <button class="twist" aria-expanded={isOpen} aria-label={`Parts of ${it.name}`} onClick={() => setOpen(!isOpen)}>
            <svg viewBox="0 0 12 12" aria-hidden="true">
              <path d="M4 2.5 8 6 4 9.5" />
            </svg>
          </button>
        ) : (
          <span class="twist" />
        )}
        <b class={it.isParameter ? "parameter" : ""}>{it.name}</b>
        <span class="value-text">{it.text}</span>
        <i title={it.type}>{it.type}</i>
        {it.address && (
          <button class="link address-of" title={`Show ${it.address}`} aria-label={`Show the memory of ${it.name}`} onClick={() => props.look(Number(it.address))}>
            @
          </button>
        )}
      </div>
      {isOpen && path.length < 24 && (
        <ul>
          {(parts.value ?? []).map((part, index) => (
            <Variable key={index} {...props} it={part} path={[...path, index]} />
          ))}
        </ul>
      )}
    </li>
  );
}

/** What was logged, changed and failed, with the steps at which that was. */
function Events({ run, step, go }: { run: Run; step: number; go: (step: number) => void }) {
  const [wanted, setWanted] = useState("");
  const shown = run.events.filter((it) => it.text.toLowerCase().includes(wanted.toLowerCase()));
  if (run.events.length === 0) return null;
  const after = shown.findIndex((it) => it.step >= step);
  return (
    <section aria-labelledby="events">
      <header class="section">
        <h2 id="events">Log</h2>
        <div class="aside">
          <input type="search" aria-label="Search the log" placeholder="Search" value={wanted} onInput={(event) => setWanted((event.target as HTMLInputElement).value)} />
        </div>
      </header>
      <div style={{ height: `${Math.min(12, shown.length + 1) * ROW_PIXELS}px` }} class="events">
        <Virtual
          label="Log"
          rows={shown.length}
          at={after < 0 ? shown.length - 1 : after}
          when={step}
          row={(index) => {
            const it = shown[index];
            return (
              <div key={index} class={`event-row of-${it.kind} ${it.step < step ? "" : "ahead"}`}>
                <button tabIndex={-1} class="number" onClick={() => go(it.step)} title="Go to this step">
                  {count(it.step)}
                </button>
                <span class="mono">{it.kind === "log" ? it.text.replace(/\b[1-9A-HJ-NP-Za-km-z]{32,44}\b/g, (key) => nameOf(key) ?? key) : `${it.kind}: ${it.text}`}</span>
              </div>
            );
          }}
        />
      </div>
      <p class="faint after">
        {counted(run.events.length, "line")}; those after the present step are faint.
      </p>
    </section>
  );
}

function Differences({ run }: { run: Run }) {
  if (run.differences.length === 0) return null;
  return (
    <p class="notice">
      The run is not as it was recorded: {run.differences.slice(0, 4).join("; ")}
    </p>
  );
}
