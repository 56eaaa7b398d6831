/**
 * The part of an error that may be logged. The message of a database error can quote the statement with its values, which
 * may be prompts. So an error with an SQLSTATE keeps only the names of the affected objects and the stack frames.
 */
export function describeError(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error };
  return {
    name: error.name,
    code: codeOf(error),
    ...(isFromDatabase(error) ? locationOf(error) : { message: error.message.slice(0, MESSAGE_MAX) }),
    frames: framesOf(error),
    cause: error.cause !== undefined && depth < CAUSES_MAX ? describeError(error.cause, depth + 1) : undefined,
  };
}

/** Whether an error comes from PostgreSQL, or wraps one: MikroORM's wrapper quotes the whole statement. */
export function isFromDatabase(error: Error): boolean {
  const code = codeOf(error);
  return (code !== undefined && /^[0-9A-Z]{5}$/.test(code)) || /DriverException|ConstraintViolation/.test(error.name);
}

const codeOf = (error: Error): string | undefined =>
  'code' in error && typeof error.code === 'string' ? error.code : undefined;

const MESSAGE_MAX = 300;
const FRAMES_MAX = 12;
const CAUSES_MAX = 3;

const locationOf = (error: object): Record<string, unknown> =>
  Object.fromEntries(
    ['schema', 'table', 'column', 'constraint', 'routine']
      .map((name) => [name, Reflect.get(error, name)] as const)
      .filter(([, value]) => typeof value === 'string'),
  );

const framesOf = (error: Error): string[] =>
  (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, FRAMES_MAX)
    .map((line) => line.trim());
