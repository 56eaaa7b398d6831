/** A refused command of an operator. The message is shown to the operator. An action of the admin API has changed nothing before it throws one. */
export class OperatorError extends Error {}

/** What the command names does not exist. */
export class UnknownToOperator extends OperatorError {}

/** What a command names. Throws `UnknownToOperator` if there is none. `name` is such as `key key_…`. */
export function demand<Row extends object>(row: Row | null | undefined, name: string): Row {
  if (!row) throw new UnknownToOperator(`There is no ${name}.`);
  return row;
}
