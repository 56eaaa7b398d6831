import { GatewayError } from '../domain/errors.ts';

/** What one request holds of a budget. */
export interface Share {
  /** Throws `overloaded` if the amount is refused. */
  take(amount: number): void;
  /** Takes nothing and returns false if the amount is refused. */
  mayTake(amount: number): boolean;
  /** Takes the amount even if it is more than what is free, for what exists already. */
  add(amount: number): void;
  /** Gives everything back. */
  release(): void;
  /** What the request holds now. */
  readonly held: number;
}

export interface FairBudget {
  /** An empty share of `owner`, which is a project. All shares of an owner count together. */
  open(owner: string): Share;
  /** What all requests hold together. */
  held(): number;
}

interface FairBudgetOptions {
  total: number;
  /** The answer to a request that does not fit. */
  message: string;
  retryAfterSeconds?: number;
}

/**
 * A limit on what all requests of this process hold together, such as bytes or slots. An amount is refused when it does not fit, or
 * when its owner would hold more than a quarter of `total` while less than a quarter is free. So one owner may use most of an
 * idle budget, and an owner below a quarter is refused only when the budget is full.
 */
export function createFairBudget(options: FairBudgetOptions): FairBudget {
  const budget = new Budget(options);
  return { held: () => budget.held, open: (owner) => new OwnShare(budget, owner) };
}

class Budget {
  held = 0;
  readonly #heldBy = new Map<string, number>();
  readonly #options: FairBudgetOptions;

  constructor(options: FairBudgetOptions) {
    this.#options = options;
  }

  refusalOf(owner: string, amount: number): string | null {
    const { total, message } = this.#options;
    if (amount > total - this.held) return message;
    const owns = (this.#heldBy.get(owner) ?? 0) + amount;
    return isAboveShare({ total, held: this.held, owns }) ? aboveShare : null;
  }

  overloaded(message: string): GatewayError {
    return new GatewayError('overloaded', { message, retryAfterSeconds: this.#options.retryAfterSeconds ?? 2 });
  }

  add(owner: string, amount: number): void {
    this.held += amount;
    const owns = (this.#heldBy.get(owner) ?? 0) + amount;
    if (owns === 0) this.#heldBy.delete(owner);
    else this.#heldBy.set(owner, owns);
  }
}

/** A class, because every request has several, and a function of each would be made for each. */
class OwnShare implements Share {
  held = 0;
  readonly #budget: Budget;
  readonly #owner: string;

  constructor(budget: Budget, owner: string) {
    this.#budget = budget;
    this.#owner = owner;
  }

  take(amount: number): void {
    const refusal = this.#refused(amount);
    if (refusal !== null) throw this.#budget.overloaded(refusal);
  }

  mayTake(amount: number): boolean {
    return this.#refused(amount) === null;
  }

  add(amount: number): void {
    this.held += amount;
    this.#budget.add(this.#owner, amount);
  }

  release(): void {
    this.#budget.add(this.#owner, -this.held);
    this.held = 0;
  }

  #refused(amount: number): string | null {
    const refusal = this.#budget.refusalOf(this.#owner, amount);
    if (refusal === null) this.add(amount);
    return refusal;
  }
}

/** Whether an owner that would have `owns` has more than its share while `held` of `total` is taken. */
export const isAboveShare = ({ total, held, owns }: { total: number; held: number; owns: number }): boolean =>
  owns > total / 4 && total - held < total / 4;

const aboveShare =
  'The server is busy, and this project already uses more than its share of it. Try again in a few seconds.';
