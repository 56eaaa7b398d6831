/** A refusal told to an operator in one plain sentence. Nothing was changed. */
export class OperatorError extends Error {}
