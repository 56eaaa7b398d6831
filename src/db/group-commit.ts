import { isConnectionLost, retryTransient } from './retry-transient.ts';

export interface GroupLimits {
  membersMax: number;
  /** The longest that a member waits for its verdict, in milliseconds: as long as one answer of the database may take. 4 s when absent. */
  patienceMs?: number;
}

export interface GroupCommitOptions<Member, Verdict> extends GroupLimits {
  /** One call and one commit for all; verdicts in the members' order. Must be idempotent per member. */
  run: (members: Member[]) => Promise<Verdict[]>;
  /**
   * Told of a member that was turned away when its verdict came all the same; null where the connection was lost and nobody
   * knows what was decided.
   */
  late?: (member: Member, verdict: Verdict | null) => void;
}

interface Waiting<Member, Verdict> {
  member: Member;
  /** Nobody waits any more for what was turned away, but its statement may be on its way. */
  state: 'waiting' | 'turned_away' | 'decided';
  resolve: (verdict: Verdict) => void;
  reject: (error: unknown) => void;
}

/**
 * Groups concurrent calls of one process into one call and one commit. Nobody waits when idle: a lone call goes out at
 * once, and whoever arrives while a batch is on its way goes with the next. A batch that fails is run member by member, so
 * one member that cannot be written does not fail the others; after a lost connection each is asked for again by its id,
 * which the verbs answer as they did the first time. While the database does not answer nobody waits longer than the patience,
 * and who was turned away is not asked for any more: what was on its way by then `late` is told of.
 */
export class GroupCommit<Member, Verdict> {
  readonly #options: GroupCommitOptions<Member, Verdict>;
  #queue: Waiting<Member, Verdict>[] = [];
  #running: Promise<void> | null = null;

  constructor(options: GroupCommitOptions<Member, Verdict>) {
    this.#options = options;
  }

  submit(member: Member): Promise<Verdict> {
    const verdict = new Promise<Verdict>((resolve, reject) => {
      this.#queue.push({ member, state: 'waiting', resolve, reject });
    });
    this.#running ??= this.#drain();
    return verdict;
  }

  /** Resolves when everything submitted so far has been answered. */
  async flush(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      await endOfTurn();
      const batch = this.#queue.splice(0, this.#options.membersMax);
      // One timer for all: whoever is there when it fires has waited so long at most.
      const impatience = setInterval(() => {
        const error = new NotAnswered();
        for (const one of [...batch, ...this.#queue.splice(0)]) turnAway(one, error);
      }, this.#options.patienceMs ?? defaultPatienceMs);
      await this.#runBatch(batch);
      clearInterval(impatience);
    }
    this.#running = null;
  }

  async #runBatch(batch: Waiting<Member, Verdict>[]): Promise<void> {
    try {
      await this.#answerTogether(batch);
    } catch (error) {
      if (isConnectionLost(error)) {
        // The batch may have been committed: asking again by the same ids answers what was decided.
        await this.#answerTogether(batch).catch((again: unknown) => batch.forEach((one) => turnAway(one, again)));
        for (const { member, state } of batch) if (state === 'turned_away') this.#options.late?.(member, null);
        return;
      }
      if (batch.length === 1) batch.forEach((one) => turnAway(one, error));
      else for (const one of batch) await this.#runBatch([one]);
    }
  }

  async #answerTogether(batch: Waiting<Member, Verdict>[]): Promise<void> {
    await retryTransient(async () => {
      const asked = batch.filter(({ state }) => state === 'waiting');
      if (asked.length === 0) return;
      const verdicts = await this.#options.run(asked.map(({ member }) => member));
      if (verdicts.length !== asked.length)
        throw new Error('the batch answered another number of verdicts than it has members');
      verdicts.forEach((verdict, index) => {
        const one = asked[index];
        if (one) this.#decide(one, verdict);
      });
    });
  }

  #decide(one: Waiting<Member, Verdict>, verdict: Verdict): void {
    const late = one.state === 'turned_away';
    one.state = 'decided';
    if (late) this.#options.late?.(one.member, verdict);
    else one.resolve(verdict);
  }
}

function turnAway(one: Waiting<unknown, never>, error: unknown): void {
  if (one.state !== 'waiting') return;
  one.state = 'turned_away';
  one.reject(error);
}

const defaultPatienceMs = 4_000;

/** The database did not answer in time; what was asked of it may still happen. */
class NotAnswered extends Error {
  readonly code = 'ETIMEDOUT';

  constructor() {
    super('The database did not answer in time');
  }
}

/** Lets whatever arrived in this turn of the event loop travel together; when idle it costs microseconds. */
const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
