// What was recorded and opened without a node: a list, and each transaction with why it failed.

import { useState } from "preact/hooks";
import { Log } from "./calls";
import { count, counted, learnName } from "./format";
import { go } from "./router";
import { rpc } from "./rpc";
import { Source } from "./transaction";
import type { Explained } from "./types";
import { Address, Copy, Facts, Json, Loaded, Section, Status, useLoad } from "./ui";

export interface Recorded {
  transaction: number;
  suite: string;
  test: string;
  number: number | null;
  result: string;
  compute_units: number | null;
  fails_test: boolean;
  file: string;
}

const SHOWN = 500;
const failed = (it: Recorded) => it.result !== "" && it.result !== "Ok";
const nameOf = (it: Recorded) => `${it.test || it.file}${it.number === null ? "" : ` #${it.number}`}`;

export function Replays({ all }: { all: Recorded[] }) {
  const [wanted, setWanted] = useState("");
  const [onlyFailed, setOnlyFailed] = useState(false);
  const text = wanted.toLowerCase();
  const fits = (it: Recorded) => (!onlyFailed || failed(it) || it.fails_test) && `${it.suite} ${it.test} ${it.result} ${it.file}`.toLowerCase().includes(text);
  const found = all.filter(fits);
  return (
    <>
      <header class="page">
        <h1>Recorded transactions</h1>
        <div class="tools">
          <input class="filter" type="search" aria-label="Filter by test, error or file" placeholder="Test, error or file" value={wanted} onInput={(event) => setWanted((event.target as HTMLInputElement).value)} />
          <button aria-pressed={onlyFailed} onClick={() => setOnlyFailed(!onlyFailed)}>
            Failed
          </button>
        </div>
      </header>
      <div class="rows recorded" role="table" aria-label="Recorded transactions">
        <div class="row head" role="row">
          <span role="columnheader">Result</span>
          <span role="columnheader">Test</span>
          <span role="columnheader">Error</span>
          <span role="columnheader" class="right">Units</span>
        </div>
        {found.slice(0, SHOWN).map((it) => (
          <div
            key={it.transaction}
            class={it.fails_test ? "row bad" : "row"}
            role="row"
            data-row
            tabIndex={0}
            onKeyDown={(event) => event.key === "Enter" && event.target === event.currentTarget && go(`/replay/${it.transaction}`)}
            onClick={(event) => !(event.target as Element).closest("a, button") && go(`/replay/${it.transaction}`)}
          >
            <span role="cell">
              <Status isOk={!failed(it)} />
            </span>
            <span role="cell" class="wrap">
              <a href={`/replay/${it.transaction}`}>{nameOf(it)}</a> <span class="faint">{it.suite}</span>
              {it.fails_test && <span class="why"> the test failed with it</span>}
            </span>
            <span role="cell" class="wrap faint">{failed(it) ? it.result : ""}</span>
            <span role="cell" class="right number">{count(it.compute_units)}</span>
          </div>
        ))}
      </div>
      <p class="faint after">
        {counted(found.length, "transaction")}
        {found.length > SHOWN && `, of which the first ${count(SHOWN)} are shown`}
      </p>
    </>
  );
}

interface Shown extends Explained {
  id: string;
  error: string | null;
  compute_units: number;
  compute_unit_limit: number;
  differences: string[];
  logs: string[];
  invocations: { program: string; name: string; stack_height: number; compute_units: number; own_compute_units: number; error: string | null; first_step: number }[];
}

export function ReplayView({ number, all }: { number: number; all: Recorded[] }) {
  const recorded = all.find((it) => it.transaction === number);
  const name = `replay-${number}`;
  const explained = useLoad(async () => {
    const it = await rpc<Shown>("selkie_explainTransaction", name);
    for (const { program, name } of it.invocations) if (name !== program) learnName(program, name);
    return it;
  }, name);
  return (
    <>
      <header class="page">
        <h1>
          {recorded ? nameOf(recorded) : `Transaction ${number}`}
          {recorded?.suite && <span class="faint">{recorded.suite}</span>}
          {recorded && (
            <span class="mono wrap sub">
              {recorded.file} <Copy text={recorded.file} label="file" />
            </span>
          )}
        </h1>
        <nav class="tools" aria-label="Views of this transaction">
          <a class="button" href={`/debug/${name}`}>
            Steps
          </a>
          <a class="button" href={`/flame/${name}`}>
            Compute units
          </a>
          <a class="button" href={`/replay/${number - 1}`} aria-disabled={number === 0} hidden={number === 0}>
            Before
          </a>
          <a class="button" href={`/replay/${number + 1}`} hidden={number + 1 >= all.length}>
            Next
          </a>
        </nav>
      </header>
      <Loaded of={explained} lines={10}>
        {(it) => (
          <>
            <Facts
              rows={[
                ["Result", <Status isOk={!it.error} />],
                ["Compute units", <span class="number">{count(it.compute_units)} of {count(it.compute_unit_limit)}</span>],
                ["Steps", <a class="number" href={`/debug/${name}`}>{count(it.steps)}</a>],
              ]}
            />
            {it.differences.length > 0 && <p class="notice">The run is not as it was recorded: {it.differences.slice(0, 4).join("; ")}</p>}
            {it.error && (
              <section class="failure" aria-labelledby="failure">
                <h2 id="failure">
                  {it.error} {it.errorName}
                </h2>
                {it.explanations.map((sentence) => (
                  <p key={sentence}>{sentence}</p>
                ))}
                {it.source ? <Source explained={it} signature={name} /> : it.place[0] && <p class="mono wrap">{it.place[0]}</p>}
              </section>
            )}
            <Section title="Calls">
              <ol class="calls" aria-label="Calls">
                {it.invocations.map((call, index) => (
                  <li key={index} class={call.error ? "call-item bad" : "call-item"} style={{ marginLeft: `${(call.stack_height - 1) * 22}px` }}>
                    <div class="call-line plain">
                      <span class="call-name">
                        <Address of={call.program} mark plain />
                        {call.error && <span class="why">{call.error}</span>}
                      </span>
                      <a class="call-units number" href={`/debug/${name}?step=${call.first_step}`} title={`${count(call.own_compute_units)} of its own`}>
                        {count(call.compute_units)}
                      </a>
                    </div>
                  </li>
                ))}
              </ol>
            </Section>
            <Section title="Log">
              <Log lines={it.logs} />
            </Section>
            <Json value={it} title="selkie_explainTransaction" />
          </>
        )}
      </Loaded>
    </>
  );
}
