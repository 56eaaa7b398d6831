import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { endDueGrants } from '../../src/db/ledger/grants.ts';
import { addCredits } from '../../src/services/ledger/add-credits.ts';
import { deductCredits } from '../../src/services/ledger/deduct-credits.ts';
import { findPlan, insertPlan, updatePlanRules } from '../../src/db/plans/plans.ts';
import { multipliedPrice } from '../../src/domain/plans/price-under-plan.ts';
import { newId } from '../../src/platform/crypto/ids.ts';
import { updateProjectSettings } from '../../src/db/projects/project-settings.ts';
import { showKey } from '../../src/services/projects/show-key.ts';
import type { Database } from '../../src/db/database.ts';
import type { Ledger, NewTask } from '../../src/db/ledger/ledger.ts';
import { awayFromMidnight } from '../support/away-from-midnight.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import {
  accountOf,
  addKey,
  attemptEndedOk,
  breachesIn,
  newTask,
  openBook,
  openLedger,
  passDays,
  passHours,
  rowsOf,
  taskEnd,
} from './books.ts';

await awayFromMidnight();

let scratch: TestDatabase;
let db: Database;
let ledgers: Ledger[];

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  const second = await scratch.open();
  // Two connection pools with two ledgers each act as four processes.
  ledgers = [openLedger(db), openLedger(second), openLedger(db), openLedger(second)];
});
afterAll(() => scratch.drop());

const tasksMax = 10;
const ends = ['succeeded', 'failed', 'canceled'] as const;

/** The batches of a run. Each batch has calls of one operation, because the ledger groups each operation on its own. */
const anyTask = fc.nat({ max: tasksMax - 1 });
const anyBatch = fc.oneof(
  fc.record({ action: fc.constant('create' as const), tasks: fc.array(anyTask, { minLength: 1, maxLength: 6 }) }),
  fc.record({
    action: fc.constant('reserve' as const),
    tasks: fc.array(anyTask, { minLength: 1, maxLength: 6 }),
    byWorkflow: fc.boolean(),
  }),
  fc.record({
    action: fc.constant('grant' as const),
    credits: fc.integer({ min: 1, max: 30 }),
    // The hours after which it ends.
    ends: fc.integer({ min: 1, max: 6 }),
    tasks: fc.constant([]),
  }),
  fc.record({
    action: fc.constant('pass' as const),
    hours: fc.integer({ min: 1, max: 3 }),
    byScheduledJob: fc.boolean(),
    tasks: fc.constant([]),
  }),
  fc.record({
    action: fc.constant('deduct' as const),
    credits: fc.integer({ min: 1, max: 25 }),
    tasks: fc.constant([]),
  }),
  fc.record({
    action: fc.constant('top up' as const),
    credits: fc.integer({ min: 1, max: 20 }),
    tasks: fc.constant([]),
  }),
  fc.record({
    action: fc.constant('overdraft' as const),
    credits: fc.constantFrom(0, 5, 20),
    tasks: fc.constant([]),
  }),
  fc.record({
    action: fc.constant('plan' as const),
    multiplier: fc.constantFrom(0.5, 1, 1.25, 3),
    tasks: fc.constant([]),
  }),
  fc.record({ action: fc.constant('wait' as const), days: fc.constantFrom(1, 31), tasks: fc.constant([]) }),
  fc.record({
    action: fc.constant('finish' as const),
    tasks: fc.array(fc.tuple(anyTask, fc.constantFrom(...ends)), { minLength: 1, maxLength: 6 }),
  }),
);
const anyRun = fc.record({
  balance: fc.nat({ max: 40 }),
  budget: fc.option(fc.nat({ max: 30 })),
  budgetDaily: fc.option(fc.nat({ max: 20 })),
  budgetMonthly: fc.option(fc.nat({ max: 25 })),
  inFlightMax: fc.option(fc.integer({ min: 1, max: 4 })),
  tasks: fc.array(
    fc.record({ credits: fc.integer({ min: 1, max: 12 }), second: fc.boolean(), hasResult: fc.boolean() }),
    {
      minLength: tasksMax,
      maxLength: tasksMax,
    },
  ),
  batches: fc.array(anyBatch, { minLength: 3, maxLength: 24 }),
});
type Run = (typeof anyRun)['generate'] extends (...args: never[]) => { value: infer Value } ? Value : never;

interface Purse {
  budget: number | null;
  budgetDaily: number | null;
  budgetMonthly: number | null;
  inFlightMax: number | null;
  inFlight: number;
}

interface ModelGrant {
  /** Without what a deduction took and what paid a debt when it was added. */
  amount: number;
  end: number;
  expired: number;
  index: number;
}

interface ModelTask {
  /** In the catalog. */
  base: number;
  /** Under the plan at its create. */
  credits: number;
  purse: Purse;
  hasResult: boolean;
  /** How many days ago its credits were held. */
  age: number;
  /** In which hour of the model its credits were held, and after how many grants had been added. */
  held: { at: number; grants: number } | null;
  state: 'absent' | 'open' | 'rejected' | 'held' | (typeof ends)[number];
  refusal: string | null;
}

/** The rules of the ledger for one call after the other. The database must return the same results. */
class SerialModel {
  balance: number;
  reserved = 0;
  inFlight = 0;
  readonly tasks: ModelTask[];
  overdraft = 0;
  /** Of the project's plan. */
  multiplier = 1;
  /** The hours that have passed. */
  #hour = 0;
  readonly #grants: ModelGrant[] = [];
  /** Until the next hold or run of the job, what is left of the grants that have ended stands in the account. */
  #isDue = false;

  constructor(run: Run) {
    this.balance = run.balance;
    const first = { ...run, inFlight: 0 };
    const second = { budget: null, budgetDaily: null, budgetMonthly: null, inFlightMax: null, inFlight: 0 };
    this.tasks = run.tasks.map((task) => ({
      ...task,
      base: task.credits,
      purse: task.second ? second : first,
      state: 'absent',
      refusal: null,
      held: null,
      age: 0,
    }));
  }

  create(index: number): string {
    const task = this.tasks[index]!;
    if (task.state === 'rejected') return task.refusal!;
    if (task.state !== 'absent') return 'created';
    task.credits = Math.ceil(task.base * this.multiplier);
    const refusal = this.#uncovered(task);
    if (refusal === null) task.state = 'open';
    return refusal ?? 'created';
  }

  reserve(index: number): string {
    const task = this.tasks[index]!;
    if (task.state === 'absent') return 'task_not_found';
    if (task.state === 'rejected') return task.refusal!;
    if (task.state !== 'open') return 'admitted';
    this.end();
    const full = task.purse.inFlightMax !== null && task.purse.inFlight >= task.purse.inFlightMax;
    task.refusal = full ? 'concurrency_limit_exceeded' : this.#uncovered(task);
    task.state = task.refusal === null ? 'held' : 'rejected';
    if (task.refusal !== null) return task.refusal;
    this.#move(task, task.credits, 1);
    task.held = { at: this.#hour, grants: this.#grants.length };
    return 'admitted';
  }

  topUp(credits: number): void {
    this.end();
    this.balance += credits;
  }

  grant(credits: number, ends: number): void {
    this.end();
    const owed = this.left().reduce((sum, { left }) => sum + left, 0) - this.balance;
    this.#grants.push({
      amount: credits - Math.max(0, Math.min(owed, credits)),
      end: this.#hour + ends,
      expired: 0,
      index: this.#grants.length,
    });
    this.balance += credits;
  }

  deduct(credits: number): void {
    this.end();
    const left = this.left();
    const lasting = this.balance - left.reduce((sum, grant) => sum + grant.left, 0);
    let uncovered = Math.min(credits, credits - lasting);
    for (const { grant, left: rest } of left.reverse()) {
      const part = Math.max(0, Math.min(uncovered, rest));
      grant.amount -= part;
      uncovered -= part;
    }
    this.balance -= credits;
  }

  pass(hours: number): void {
    this.#hour += hours;
    this.#isDue = true;
  }

  /** What is left of each grant that has not ended, the first end first. */
  left(): { grant: ModelGrant; left: number }[] {
    return this.#allLeft().filter(({ grant }) => grant.end > this.#hour);
  }

  /** Takes what is left of the grants that have ended, also what a later refund brought back to them. */
  end(): void {
    this.#isDue = false;
    for (const { grant, left } of this.#allLeft()) {
      if (grant.end > this.#hour || left === 0) continue;
      grant.expired += left;
      this.balance -= left;
    }
  }

  /** Each held or charged task is paid by the grants that had begun and had not ended when it was held, in the order of their ends. */
  #allLeft(): { grant: ModelGrant; left: number }[] {
    const all = this.#grants.map((grant) => ({ grant, left: grant.amount }));
    all.sort((a, b) => a.grant.end - b.grant.end || a.grant.index - b.grant.index);
    const paid = this.tasks.filter(({ state, held }) => spends.has(state) && held !== null);
    paid.sort((a, b) => a.held!.at - b.held!.at || a.held!.grants - b.held!.grants);
    for (const { credits, held } of paid) {
      let open = credits;
      for (const one of all) {
        if (one.grant.index >= held!.grants || one.grant.end <= held!.at) continue;
        const part = Math.min(open, one.left);
        one.left -= part;
        open -= part;
      }
    }
    return all.map(({ grant, left }) => ({ grant, left: left - grant.expired }));
  }

  wait(days: number): void {
    for (const task of this.tasks) if (spends.has(task.state)) task.age += days;
  }

  finish(index: number, status: (typeof ends)[number]): string {
    const task = this.tasks[index]!;
    if (task.state === 'absent') return 'error';
    if (task.state === 'open') {
      task.state = 'rejected';
      task.refusal = 'service_unavailable';
      return 'ended failed';
    }
    if (task.state !== 'held') return `stands ${task.state === 'rejected' ? 'failed' : task.state}`;
    if (status === 'succeeded' && !task.hasResult) return 'error';
    task.state = status;
    this.reserved -= task.credits;
    this.inFlight -= 1;
    task.purse.inFlight -= 1;
    if (status !== 'succeeded') this.balance += task.credits;
    // Until a hold, an operator or the job ends them, the grants that are due stay, and so does what comes back to them.
    if (!this.#isDue) this.end();
    return `ended ${status}`;
  }

  #uncovered({ credits, purse }: ModelTask): string | null {
    if (this.balance + this.overdraft < credits) return 'insufficient_credits';
    const fits = (budget: number | null, isCounted: (age: number) => boolean): boolean =>
      budget === null || budget - this.#used(purse, isCounted) >= credits;
    const fitsAll =
      fits(purse.budget, () => true) &&
      fits(purse.budgetDaily, (age) => age === 0) &&
      fits(purse.budgetMonthly, isThisMonth);
    return fitsAll ? null : 'key_budget_exceeded';
  }

  #used(purse: Purse, isCounted: (age: number) => boolean): number {
    const counted = this.tasks.filter((task) => task.purse === purse && isCounted(task.age) && spends.has(task.state));
    return counted.reduce((sum, { credits }) => sum + credits, 0);
  }

  #move(task: ModelTask, credits: number, slots: number): void {
    this.balance -= credits;
    this.reserved += credits;
    this.inFlight += slots;
    task.purse.inFlight += slots;
  }
}

const spends = new Set<ModelTask['state']>(['held', 'succeeded']);

function isThisMonth(age: number): boolean {
  const now = new Date();
  const then = new Date(now.getTime() - age * 86_400_000);
  return then.getUTCMonth() === now.getUTCMonth() && then.getUTCFullYear() === now.getUTCFullYear();
}

async function openRun(run: Run): Promise<{ projectId: string; tasks: NewTask[] }> {
  const { budget, budgetDaily, budgetMonthly, inFlightMax } = run;
  const book = await openBook(db, { credits: run.balance, budget, budgetDaily, budgetMonthly, inFlightMax });
  const second = { ...book, keyId: await addKey(db, book.projectId) };
  const tasks = run.tasks.map((task) => newTask(task.second ? second : book, task.credits));
  for (const [index, { taskId }] of tasks.entries()) if (run.tasks[index]!.hasResult) await attemptEndedOk(db, taskId);
  return { projectId: book.projectId, tasks };
}

const actor = 'test';

/** A request for a task as the API makes it now: at the price of the project's plan. Its first create decides, whatever the plan becomes. */
async function underPlan(projectId: string, task: NewTask): Promise<NewTask> {
  const [rule] = (await findPlan(db, projectId))?.rules ?? [];
  return rule && 'multiplier' in rule ? { ...task, credits: multipliedPrice(task.credits, rule.multiplier) } : task;
}

const expiringOf = async (keyId: string): Promise<number[]> => {
  const { balance } = await showKey({ db }, keyId);
  return balance.expiring.map(({ credits }) => credits);
};

const calls = {
  create: async (ledger: Ledger, task: NewTask) => {
    const verdict = await ledger.createTask(task);
    return verdict.kind === 'refused' ? verdict.code : verdict.kind;
  },
  reserve: async (ledger: Ledger, task: NewTask, byWorkflow: boolean) => {
    const admission = await ledger.reserveTask(task.taskId, byWorkflow);
    return admission.admitted ? 'admitted' : (admission.refusalCode ?? 'nothing');
  },
  finish: async (ledger: Ledger, task: NewTask, status: (typeof ends)[number]) =>
    ledger.finishTask(taskEnd(task.taskId, status)).then(
      (end) => `${end.finished ? 'ended' : 'stands'} ${end.status}`,
      () => 'error',
    ),
};

/** Runs a batch in the database and in the model, which must return the same verdicts. */
async function runBatch({
  model,
  projectId,
  tasks,
  batch,
  at,
}: {
  model: SerialModel;
  projectId: string;
  tasks: NewTask[];
  batch: Run['batches'][number];
  at: number;
}): Promise<void> {
  const ledger = ledgers[at % ledgers.length]!;
  switch (batch.action) {
    case 'create': {
      const expected = batch.tasks.map((index) => model.create(index));
      const requests = await Promise.all(batch.tasks.map((index) => underPlan(projectId, tasks[index]!)));
      expect(await Promise.all(requests.map((request) => calls.create(ledger, request)))).toEqual(expected);
      break;
    }
    case 'reserve': {
      const expected = batch.tasks.map((index) => model.reserve(index));
      const verdicts = batch.tasks.map((index) => calls.reserve(ledger, tasks[index]!, batch.byWorkflow));
      expect(await Promise.all(verdicts)).toEqual(expected);
      break;
    }
    case 'grant': {
      model.grant(batch.credits, batch.ends);
      const expiresAt = new Date(Date.now() + batch.ends * 3_600_000);
      await addCredits({ db }, { projectId, amount: batch.credits, reference: `grant ${at}`, expiresAt, actor });
      break;
    }
    case 'top up': {
      model.topUp(batch.credits);
      await addCredits({ db }, { projectId, amount: batch.credits, reference: `top-up ${at}`, actor });
      break;
    }
    case 'deduct': {
      model.deduct(batch.credits);
      const why = { reference: `deduction ${at}`, reason: 'charged back' };
      await deductCredits({ db }, { projectId, amount: batch.credits, ...why, actor });
      break;
    }
    case 'plan': {
      model.multiplier = batch.multiplier;
      const rules = [{ models: '*', multiplier: batch.multiplier }];
      await updatePlanRules(db, { name: projectId, rules, actor });
      break;
    }
    case 'overdraft': {
      model.overdraft = batch.credits;
      await updateProjectSettings(db, { projectId, changes: { overdraft: batch.credits }, actor });
      break;
    }
    case 'pass': {
      model.pass(batch.hours);
      await passHours(db, projectId, batch.hours);
      if (batch.byScheduledJob) {
        model.end();
        await endDueGrants(db);
      }
      break;
    }
    case 'wait':
      model.wait(batch.days);
      await passDays(db, batch.days);
      break;
    case 'finish': {
      const expected = batch.tasks.map(([index, status]) => model.finish(index, status));
      const verdicts = batch.tasks.map(([index, status]) => calls.finish(ledger, tasks[index]!, status));
      expect(await Promise.all(verdicts)).toEqual(expected);
      break;
    }
  }
}

describe('the ledger', () => {
  it('returns for a batch the verdicts that its members get one after the other', async () => {
    await fc.assert(
      fc.asyncProperty(anyRun, async (run) => {
        const model = new SerialModel(run);
        const { projectId, tasks } = await openRun(run);
        await insertPlan(db, { planId: newId('pln'), name: projectId, rules: [{ models: '*', multiplier: 1 }], actor });
        await updateProjectSettings(db, { projectId, changes: { plan: projectId }, actor });
        for (const [at, batch] of run.batches.entries()) {
          await runBatch({ model, projectId, tasks, batch, at });
          const { balance, reserved, inFlight } = model;
          expect(await accountOf(db, projectId)).toEqual({ balance, reserved, inFlight });
          expect(await expiringOf(tasks[0]!.keyId)).toEqual(
            model.left().flatMap(({ left }) => (left > 0 ? [left] : [])),
          );
        }
        expect(await breachesIn(db)).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  it('returns one verdict and one end per task, and stays consistent, if four processes run the same calls', async () => {
    await fc.assert(
      fc.asyncProperty(anyRun, async (run) => {
        const { projectId, tasks } = await openRun(run);
        await Promise.all(tasks.map((task, index) => calls.create(ledgers[index % 4]!, task)));
        const verdictsByName = new Map<string, Set<string>>();
        const note = (name: string, verdict: string) =>
          verdictsByName.set(name, (verdictsByName.get(name) ?? new Set()).add(verdict));
        await Promise.all(
          run.batches.map(async (batch, at) => {
            for (const [offset, step] of batch.tasks.entries()) {
              const ledger = ledgers[(at + offset) % 4]!;
              const [index, status] = typeof step === 'number' ? [step, undefined] : step;
              const task = tasks[index]!;
              if (status !== undefined) note(`end of ${index}`, await calls.finish(ledger, task, status));
              else note(`verdict on ${index}`, await calls.reserve(ledger, task, at % 2 === 0));
            }
          }),
        );
        for (const [name, verdicts] of verdictsByName) {
          if (name.startsWith('verdict')) expect([name, verdicts.size]).toEqual([name, 1]);
          // All calls return the same end, whichever call wrote it.
          const standing = new Set(
            [...verdicts].filter((verdict) => verdict !== 'error').map((verdict) => verdict.replace(/^\w+ /, '')),
          );
          if (name.startsWith('end')) expect(standing.size).toBeLessThanOrEqual(1);
        }
        const { balance, reserved } = await accountOf(db, projectId);
        const [spent] = await rowsOf<{ spent: number }>(
          db,
          `select coalesce(sum(settled_amount), 0)::bigint as spent from reservation where project_id = $1`,
          [projectId],
        );
        expect(balance + reserved + spent!.spent).toBe(run.balance);
        expect(Math.min(balance, reserved)).toBeGreaterThanOrEqual(0);
        expect(await breachesIn(db)).toEqual([]);
      }),
      { numRuns: 25 },
    );
  });
});
