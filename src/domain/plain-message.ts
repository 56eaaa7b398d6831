/** An error as one sentence for an operator: without a stack, with the name of the unreachable server. */
export function plainMessage(error: unknown): string {
  const { code, path } = facts(error);
  if (code === 'ENOENT' && path !== undefined) return `There is no file ${path}.`;
  if (code !== undefined && unreachable.has(code)) return `The database cannot be reached (${code}).`;
  const message = error instanceof Error ? error.message : String(error);
  return message === '' ? `Something failed${code === undefined ? '' : ` (${code})`}.` : message;
}

const unreachable = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH']);

function facts(error: unknown): { code?: string; path?: string } {
  if (typeof error !== 'object' || error === null) return {};
  return {
    ...('code' in error && typeof error.code === 'string' && { code: error.code }),
    ...('path' in error && typeof error.path === 'string' && { path: error.path }),
  };
}
