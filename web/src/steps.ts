// What the debugger asks of the node about the steps of a transaction.

import { param } from "./router";
import { rpc } from "./rpc";

/** A transaction by its signature, or one in base64 that is simulated. */
export interface Subject {
  /** What the node is asked for. */
  name: string;
  /** The address of a view of it. */
  at: (view: "debug" | "flame", params?: Record<string, string | number>) => string;
  isSimulated: boolean;
}

export function subjectOf(signature: string): Subject {
  const transaction = signature ? "" : param("transaction");
  return {
    name: signature || transaction,
    isSimulated: !signature,
    at: (view, params = {}) => {
      const query = new URLSearchParams(Object.entries(params).map(([name, value]) => [name, String(value)]));
      if (transaction) query.set("transaction", transaction);
      const text = query.toString();
      return `/${view}${signature ? `/${signature}` : ""}${text ? `?${text}` : ""}`;
    },
  };
}

export interface ProgramOf {
  name: string;
  address: string;
  slots: number;
  hasLines: boolean;
}

export interface InvocationOf {
  program: string;
  name: string;
  caller: number | null;
  height: number;
  instruction: number;
  start: number;
  end: number;
  units: number;
  error: string | null;
}

export interface EventOf {
  kind: "log" | "trap" | "error" | "account";
  step: number;
  text: string;
}

export interface Run {
  steps: number;
  result: string;
  units: number;
  limit: number;
  first: number;
  failure: number | null;
  cause: number | null;
  differences: string[];
  programs: ProgramOf[];
  invocations: InvocationOf[];
  events: EventOf[];
}

export interface CallOf {
  name: string;
  program: number;
  level: number;
  start: number;
  end: number;
  unitsFrom: number;
  unitsTo: number;
}

export interface FrameOf {
  name: string;
  file: string | null;
  line: number | null;
  column: number | null;
  place: string | null;
  program: number;
  pc: number;
  height: number;
  invocation: number;
  isInlined: boolean;
  isOwn: boolean;
}

export interface VariableOf {
  name: string;
  type: string;
  text: string;
  parts: number;
  address: string | null;
  isParameter: boolean;
}

export interface RegionOf {
  name: string;
  vaddr: string;
  len: number;
  gap: number | null;
  isWritable: boolean;
}

/** A step; at the end there is only its number. */
export interface Here {
  step: number;
  end: number;
  isEnd: boolean;
  stop: string | null;
  program?: number;
  pc?: number;
  invocation?: number;
  unitsLeft?: number;
  registers?: string[];
  before?: string[] | null;
  frames?: FrameOf[];
  selected?: number;
  variables?: VariableOf[];
  regions?: RegionOf[];
  writes?: { vaddr: string; len: number }[];
}

export interface WriteOf {
  step: number;
  invocation: number;
  pc: number;
  syscall: string | null;
  builtin: string | null;
  account: { pubkey: string; part: string; offset: number } | null;
  old: string;
  new: string;
}

export interface CodeLine {
  pc: number;
  text: string;
  line: string | null;
  function: string | null;
}

export interface SourceLines {
  from: number;
  total: number;
  lines: string[];
  withCode: number[];
}

export interface FieldOf {
  path: string;
  value: string | null;
  note: string;
  vaddr: string;
  len: number;
}

export const ask = <T>(subject: Subject, question: string, params: object = {}) =>
  rpc<T>("selkie_debugTransaction", subject.name, { ask: question, ...params });
