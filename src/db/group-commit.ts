import { isConnectionLost, retryTransient } from './retry-transient.ts';

export interface GroupLimits {
  membersMax: number;
  /** The longest that a caller waits for its verdict, in milliseconds. The default is 4 s. */
  patienceMs?: number;
  /** Where traces are on: lets the call of a batch appear in the trace of each member. */
  traces?: BatchTraces | undefined;
}

export interface BatchTraces {
  /** Where a caller is in its trace. */
  here(): unknown;
  together<T>(spans: readonly unknown[], work: () => Promise<T>): Promise<T>;
}

export interface GroupCommitOptions<Member, Verdict> extends GroupLimits {
  /**
   * Runs all members in one call and one commit. Returns the verdicts in the members' order. Must be idempotent per member. `again`
   * is true if the connection was lost while an earlier run had these members.
   */
  run: (members: Member[], again: boolean) => Promise<Verdict[]>;
  /**
   * Called for a member whose caller has stopped waiting, once its verdict is known. The verdict is null if the connection was
   * lost, because then it is unknown what was decided.
   */
  late?: (member: Member, verdict: Verdict | null) => void;
}

interface WaitingMember<Member, Verdict> {
  member: Member;
  /** `turned_away`: the caller has received an error, but the statement may still be executed. */
  state: 'waiting' | 'turned_away' | 'decided';
  /** Where the caller is in its trace; undefined where traces are off. */
  span: unknown;
  resolve: (verdict: Verdict) => void;
  reject: (error: unknown) => void;
}

/**
 * Groups concurrent calls of one process into one call and one commit. A single call runs immediately. Calls that arrive while a batch
 * runs form the next batch. If a batch fails, its members run one by one, so that a member that cannot be written does not fail the
 * others. After a lost connection the batch runs again, and returns the verdicts of the first run, because `run` is idempotent. If
 * the database does not answer within `patienceMs`, all waiting callers receive an error, and their members do not run again. If
 * such a member was already running, `late` receives its verdict.
 */
export class GroupCommit<Member, Verdict> {
  readonly #options: GroupCommitOptions<Member, Verdict>;
  #queue: WaitingMember<Member, Verdict>[] = [];
  #running: Promise<void> | null = null;

  constructor(options: GroupCommitOptions<Member, Verdict>) {
    this.#options = options;
  }

  submit(member: Member): Promise<Verdict> {
    const { traces } = this.#options;
    const span = traces?.here();
    const verdict = new Promise<Verdict>((resolve, reject) => {
      this.#queue.push({ member, state: 'waiting', span, resolve, reject });
    });
    // Outside of the trace of the caller that happens to start it.
    this.#running ??= traces ? traces.together([], () => this.#drain()) : this.#drain();
    return verdict;
  }

  /** Resolves when every call so far has its answer. */
  async flush(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      await endOfTurn();
      const batch = this.#queue.splice(0, this.#options.membersMax);
      // One timer for all callers: when it fires, none of them has waited for longer than this.
      const impatience = setInterval(() => {
        turnAway([...batch, ...this.#queue.splice(0)], notAnswered());
      }, this.#options.patienceMs ?? defaultPatienceMs);
      await this.#runBatch(batch);
      clearInterval(impatience);
    }
    this.#running = null;
  }

  async #runBatch(batch: WaitingMember<Member, Verdict>[]): Promise<void> {
    try {
      await this.#answerTogether(batch, false);
    } catch (error) {
      if (isConnectionLost(error)) {
        // The batch may have been committed. Then the second run returns the verdicts of the first.
        await this.#answerTogether(batch, true).catch((again: unknown) => turnAway(batch, again));
        for (const { member, state } of batch) if (state === 'turned_away') this.#options.late?.(member, null);
        return;
      }
      if (batch.length === 1) turnAway(batch, error);
      else for (const caller of batch) await this.#runBatch([caller]);
    }
  }

  async #answerTogether(batch: WaitingMember<Member, Verdict>[], again: boolean): Promise<void> {
    await retryTransient(async () => {
      const waiting = batch.filter(({ state }) => state === 'waiting');
      if (waiting.length === 0) return;
      const members = waiting.map(({ member }) => member);
      const verdicts = await this.#run(waiting, members, again);
      if (verdicts.length !== waiting.length)
        throw new Error('the number of verdicts differs from the number of members');
      verdicts.forEach((verdict, index) => {
        const caller = waiting[index];
        if (caller) this.#decide(caller, verdict);
      });
    });
  }

  #run(waiting: readonly WaitingMember<Member, Verdict>[], members: Member[], again: boolean): Promise<Verdict[]> {
    const { traces, run } = this.#options;
    if (!traces) return run(members, again);
    const spans = waiting.map(({ span }) => span);
    return traces.together(spans, () => run(members, again));
  }

  #decide(caller: WaitingMember<Member, Verdict>, verdict: Verdict): void {
    const late = caller.state === 'turned_away';
    caller.state = 'decided';
    if (late) this.#options.late?.(caller.member, verdict);
    else caller.resolve(verdict);
  }
}

/** Gives those that still wait an error. */
function turnAway(callers: readonly WaitingMember<unknown, never>[], error: unknown): void {
  for (const caller of callers) {
    if (caller.state !== 'waiting') continue;
    caller.state = 'turned_away';
    caller.reject(error);
  }
}

const defaultPatienceMs = 4_000;

/** The statement may still be executed. */
const notAnswered = (): Error => Object.assign(new Error('The database did not answer in time'), { code: 'ETIMEDOUT' });

/** Waits for the end of this turn of the event loop, so that all calls of the turn share a batch. Costs microseconds when idle. */
const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
