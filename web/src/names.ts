// Names of instructions, accounts and errors, which the node knows by rows and by descriptions of interfaces.

import { rpc } from "./rpc";
import type { Described, Err, Frame, Landed, Trace } from "./types";

/** The most questions of one request. */
const ASKED = 500;

type Question = { instruction: { program: string; data: string; accounts: number } } | { account: string } | { error: { program: string; code: number } };

/** Answers questions; those without an answer, and all if the node refuses, are null. */
async function ask<T>(questions: Question[]): Promise<(T | null)[]> {
  const answers: (T | null)[] = [];
  for (let at = 0; at < questions.length; at += ASKED) {
    const part = questions.slice(at, at + ASKED);
    answers.push(...(await rpc<(T | null)[]>("selkie_describe", part).catch(() => part.map(() => null))));
  }
  return answers;
}

/** Names the instructions of a transaction that `jsonParsed` leaves as they are, and its error. */
export async function withNames(landed: Landed): Promise<Landed> {
  const { message } = landed.transaction;
  const unknown = message.instructions.filter((it) => it.parsed === undefined && it.data !== undefined);
  const failed = failedBy(landed.meta.err, landed.meta.logMessages ?? []);
  const questions: Question[] = unknown.map((it) => ({
    instruction: { program: it.programId, data: it.data!, accounts: it.accounts?.length ?? 0 },
  }));
  if (failed) questions.push({ error: failed });
  if (questions.length === 0) return landed;
  const answers = await ask<Described>(questions);
  unknown.forEach((it, index) => {
    const found = answers[index];
    if (found) it.parsed = { type: found.name, info: found.info };
  });
  const error = failed ? answers[unknown.length] : null;
  if (error) landed.errorName = error.message ? `${error.name}: ${error.message}` : error.name;
  return landed;
}

/** The program whose own error ended a transaction: the first that its log says to have failed. */
function failedBy(err: Err | null, logs: string[]): { program: string; code: number } | undefined {
  if (!err) return undefined;
  for (const line of logs) {
    const said = /^Program (\w{32,44}) failed: custom program error: 0x([0-9a-f]{1,8})$/.exec(line);
    if (said) return { program: said[1], code: parseInt(said[2], 16) };
  }
  return undefined;
}

/** Names instructions, whose data are in base58; null where the program is not known. */
export const nameInstructions = (all: { program: string; data: string; accounts: number }[]) =>
  ask<Described>(all.map((instruction) => ({ instruction })));

/** Names the instructions of all calls, and the accounts that they take. */
export async function nameCalls(trace: Trace): Promise<Trace> {
  const frames = trace.frames.flatMap(function all(it): Frame[] {
    return [it, ...it.inner.flatMap(all)];
  });
  const answers = await nameInstructions(frames.map((it) => ({ program: it.program, data: it.data, accounts: it.accounts.length })));
  frames.forEach((it, index) => (it.described = answers[index] ?? undefined));
  return trace;
}

/** A field of an account's data, with the text by which it is changed. */
export interface Field {
  path: string;
  offset: number;
  bytes: number;
  value: string;
  isEditable: boolean;
}

export interface DescribedAccount {
  name: string;
  origin: string;
  info: Record<string, unknown>;
  fields: Field[];
}

export const describeAccount = async (address: string) => (await ask<DescribedAccount>([{ account: address }]))[0];

/** What a program's interface consists of. */
export interface Idl {
  origin: string;
  instructions: { name: string; arguments: string[]; accounts: { name: string; signer: boolean; writable: boolean }[] }[];
  accounts: string[];
  errors: { code: number; name: string; message: string | null }[];
}
