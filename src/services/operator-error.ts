/** A refused command of an operator. The message is shown to the operator, and nothing was changed. */
export class OperatorError extends Error {}

/** What the command names does not exist. */
export class UnknownToOperator extends OperatorError {}
