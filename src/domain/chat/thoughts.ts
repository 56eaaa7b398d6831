/** Thoughts that a model expects back unchanged in the next turn. Only the family that wrote them can read their signature. */
export interface SignedThought {
  kind: ThoughtKind;
  /** The thoughts or a summary of them, exactly as the family returned them. Empty if the family hides them. */
  text: string;
  /** Opaque: Anthropic's signature or encrypted thoughts, or OpenAI's encrypted reasoning. */
  signature: string;
  /** The provider's id of the thought, if it has one. */
  id?: string;
}

export const thoughtKinds = ['anthropic', 'anthropic_redacted', 'openai'] as const;
export type ThoughtKind = (typeof thoughtKinds)[number];

/** Anthropic's and OpenAI's switches. Each family translates those that it has. */
export interface Thinking {
  /** `model`: as the model does by itself. `adaptive`: the model decides how long. Absent: the effort decides. */
  mode?: 'model' | 'adaptive' | 'budget' | 'off';
  /** The tokens for thoughts. Present if and only if the mode is `budget`. */
  budgetTokens?: number;
  /** Whether Anthropic shows the thoughts. */
  display?: 'summarized' | 'omitted';
  /** How OpenAI summarises the thoughts. */
  summary?: 'auto' | 'concise' | 'detailed';
  /** The client sends the thoughts back with the next turn, so it needs them signed. */
  isSigned?: true;
}

/** Whether the client asks for thoughts beyond what the model does by itself. */
export const asksForThoughts = (thinking: Thinking | undefined): boolean =>
  thinking?.mode === 'adaptive' || thinking?.mode === 'budget';
