export function downloadArchive(
  work: string,
  env: NodeJS.ProcessEnv,
  fetch?: (url: string, options?: { signal?: AbortSignal }) => Promise<Response>,
): Promise<string | null>;
