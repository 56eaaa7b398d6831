import type { Operator } from './operator.ts';
import type { HelperTasks, RunHelper } from './run-helper.ts';

let own: Promise<RunHelper> | null = null;

/**
 * Lets the helper of the run (`run-helper.ts`) do one task and returns its result. Without a run, such as in a benchmark, this process
 * does it.
 */
export async function askRunHelper<Name extends keyof HelperTasks>(
  name: Name,
  input: Parameters<HelperTasks[Name]>[0],
): Promise<Awaited<ReturnType<HelperTasks[Name]>>> {
  const url = process.env['TEST_RUN_HELPER'];
  if (url === undefined) {
    own ??= import('./run-helper.ts').then(({ createRunHelper }) => createRunHelper());
    const task = (await own).tasks[name] as (
      input: Parameters<HelperTasks[Name]>[0],
    ) => Promise<Awaited<ReturnType<HelperTasks[Name]>>>;
    return task(input);
  }
  const response = await fetch(`${url}/${name}`, { method: 'POST', body: JSON.stringify(input) });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Awaited<ReturnType<HelperTasks[Name]>>;
}

/** An operator whose commands run in the helper. `leave` ends its connections to the database. */
export function createRemoteOperator(
  databaseUrl: string,
  env: Record<string, string>,
): Operator & { prepare(): Promise<void>; leave(): Promise<void> } {
  const target = { databaseUrl, env };
  return {
    async prepare() {
      await askRunHelper('prepare', target);
    },
    project: (options) => askRunHelper('project', { ...target, ...(options && { options }) }),
    key: (projectId, options) => askRunHelper('key', { ...target, projectId, ...(options && { options }) }),
    async addCredits(projectId, amount) {
      await askRunHelper('addCredits', { ...target, projectId, amount });
    },
    async leave() {
      await askRunHelper('leave', { databaseUrl });
    },
  };
}
