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
export function createFairBudget({ total, message, retryAfterSeconds = 2 }: FairBudgetOptions): FairBudget {
  const heldBy = new Map<string, number>();
  let held = 0;

  const refusalOf = (owner: string, amount: number): string | null => {
    if (amount > total - held) return message;
    const owns = (heldBy.get(owner) ?? 0) + amount;
    return isAboveShare({ total, held, owns }) ? aboveShare : null;
  };
  const add = (owner: string, amount: number): void => {
    held += amount;
    const owns = (heldBy.get(owner) ?? 0) + amount;
    if (owns === 0) heldBy.delete(owner);
    else heldBy.set(owner, owns);
  };

  return {
    held: () => held,
    open(owner) {
      let own = 0;
      const hold = (amount: number): void => {
        own += amount;
        add(owner, amount);
      };
      const refused = (amount: number): string | null => {
        const refusal = refusalOf(owner, amount);
        if (refusal !== null) return refusal;
        hold(amount);
        return null;
      };
      return {
        take(amount) {
          const refusal = refused(amount);
          if (refusal !== null) throw new GatewayError('overloaded', { message: refusal, retryAfterSeconds });
        },
        mayTake: (amount) => refused(amount) === null,
        add: hold,
        get held() {
          return own;
        },
        release() {
          add(owner, -own);
          own = 0;
        },
      };
    },
  };
}

/** Whether an owner that would have `owns` has more than its share while `held` of `total` is taken. */
export const isAboveShare = ({ total, held, owns }: { total: number; held: number; owns: number }): boolean =>
  owns > total / 4 && total - held < total / 4;

const aboveShare =
  'The server is busy, and this project already uses more than its share of it. Try again in a few seconds.';
