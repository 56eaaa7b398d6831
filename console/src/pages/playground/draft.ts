/** What was typed for one model and is meant for the next one, too. */
export interface Draft {
  /** Undefined as long as nothing was typed. */
  prompt: string | undefined;
  keep: (prompt: string) => void;
}
