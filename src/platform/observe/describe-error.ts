/**
 * What of an error may be logged. A database error's message can quote the statement with its values, prompts among
 * them, so of an error with an SQLSTATE only the names of what it is about are kept; the stack keeps its frames.
 */
export function describeError(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error };
  return {
    name: error.name,
    code: codeOf(error),
    ...(isFromDatabase(error) ? placeOf(error) : { message: error.message.slice(0, MESSAGE_MAX) }),
    frames: framesOf(error),
    cause: error.cause !== undefined && depth < CAUSES_MAX ? describeError(error.cause, depth + 1) : undefined,
  };
}

/** Whether an error is PostgreSQL's own, or its wrapping by the object mapper, which quotes the whole statement. */
export function isFromDatabase(error: Error): boolean {
  const code = codeOf(error);
  return (code !== undefined && /^[0-9A-Z]{5}$/.test(code)) || /DriverException|ConstraintViolation/.test(error.name);
}

const codeOf = (error: Error): string | undefined =>
  'code' in error && typeof error.code === 'string' ? error.code : undefined;

const MESSAGE_MAX = 300;
const FRAMES_MAX = 12;
const CAUSES_MAX = 3;

const placeOf = (error: object): Record<string, unknown> =>
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
