import { listImportItems } from '../../db/imports/import-items.ts';
import { openSource } from '../../db/imports/open-source.ts';
import { SourceError } from '../../db/imports/source-database.ts';
import type { ImportedInstallation, ImportNotice, ImportProgram } from '../../domain/imports/imported.ts';
import { creditValueOf } from '../ledger/credit-value.ts';
import { OperatorError } from '../operator-error.ts';
import { applyImport, takenSecrets } from './apply-import.ts';
import { noteUnservedModels } from './drafted-models.ts';
import type { ImportDeps, ImportRun } from './import-run.ts';
import { planImport, type ImportPlan } from './import-plan.ts';
import { readLitellm } from './read-litellm.ts';
import { readLitellmConfig } from './read-litellm-config.ts';
import { readOneApi } from './read-one-api.ts';
import { refuseRepeats } from './refuse-repeats.ts';

export interface ImportInput extends ImportRun {
  program: ImportProgram;
  /** A file or an address. */
  from: string;
  dryRun: boolean;
  /** Imports everything but the refused records. */
  skipRefused: boolean;
  env: Readonly<Record<string, string | undefined>>;
}

interface Counts {
  projects: number;
  keys: number;
  channels: number;
}

export interface ImportOutcome {
  installation: ImportedInstallation;
  created: Counts;
  changed: Counts;
  unchanged: number;
  gone: Counts;
  notices: ImportNotice[];
  /** Whether records were refused, so that nothing was written. */
  refused: boolean;
}

/**
 * Imports the projects, keys and channels of another gateway. Another run makes only what is new and what changed there. With `dryRun`, or if a
 * record is refused, nothing is written. Throws `OperatorError` for a source that cannot be read.
 */
export async function runImport(deps: ImportDeps, input: ImportInput): Promise<ImportOutcome> {
  const { source, dryRun, skipRefused } = input;
  input.progress(`reading ${input.program}`);
  const installation = await readInstallation(input, await creditValueOf(deps));
  const plan = planImport(installation, await listImportItems(deps.db, source));
  const taken = await takenSecrets(deps, plan.newKeys);
  const notices = [...installation.notices, ...taken];
  const refusedKeys = new Set(taken.map(({ subject }) => subject));
  plan.newKeys = plan.newKeys.filter(({ id, name }) => !refusedKeys.has(`key ${id} (${name})`));
  const refused = !skipRefused && notices.some(({ kind }) => kind === 'refused');
  const planned = {
    projects: plan.newOwners.length,
    keys: plan.newKeys.length,
    channels: plan.newChannels.length,
  };
  const created = refused ? none : dryRun ? planned : await applyImport(deps, input, plan, installation);
  return { installation, created, ...countsOf(plan, refused), notices, refused };
}

const none: Counts = { projects: 0, keys: 0, channels: 0 };

function countsOf(plan: ImportPlan, refused: boolean): Pick<ImportOutcome, 'changed' | 'unchanged' | 'gone'> {
  const goneOf = (kind: string): number => plan.gone.filter((item) => item.kind === kind).length;
  return {
    changed: refused
      ? none
      : {
          projects: plan.changedOwners.length,
          keys: plan.changedKeys.length,
          channels: plan.changedChannels.length,
        },
    unchanged: plan.unchanged,
    gone: { projects: goneOf('project'), keys: goneOf('key'), channels: goneOf('channel') },
  };
}

/** What a source has, with notices of what an operator should read. Throws `OperatorError` for a source that cannot be read. */
export async function readInstallation(
  input: Pick<ImportInput, 'program' | 'from' | 'env'>,
  creditValue: number,
): Promise<ImportedInstallation> {
  if (creditValue === 0)
    throw new OperatorError('CREDIT_VALUE_MICRO_USD is 0, so that money there cannot become credits here.');
  try {
    const installation = await readRecords(input, creditValue);
    refuseRepeats(installation);
    noteUnservedModels(installation);
    return installation;
  } catch (error) {
    if (error instanceof SourceError)
      throw new OperatorError(`${error.message} Nothing was imported.`, { cause: error });
    // Of a file, a server or SQLite.
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw new OperatorError(`The source cannot be read: ${error.message}. Nothing was imported.`, { cause: error });
  }
}

async function readRecords(
  { program, from, env }: Pick<ImportInput, 'program' | 'from' | 'env'>,
  creditValue: number,
): Promise<ImportedInstallation> {
  if (program === 'litellm' && /\.ya?ml$/i.test(from)) return readLitellmConfig(from, env, creditValue);
  const source = await openSource(from);
  try {
    return await (program === 'litellm' ? readLitellm(source, creditValue) : readOneApi(program, source, creditValue));
  } finally {
    await source.close();
  }
}
