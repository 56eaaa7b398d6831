import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { startGuardian } from '../../packages/dev-stack/src/processes/start-guardian.ts';
import { nodeBinary, projectFolder } from './program.ts';

/** The code of the last release, in a folder of its own. It runs with the packages of this release. */
export interface FormerRelease {
  version: string;
  folder: string;
  /** Runs a program of that release, such as `src/main/cli.ts`, or the text of a module, and returns what it writes to standard output. Rejects if it fails. */
  run(program: readonly string[], env: Record<string, string>): Promise<string>;
  close(): Promise<void>;
}

/** Writes the files of the commit that dated the last release: the newest version of which there is a dump in `test/db/dumps`. */
export function unpackFormerRelease(): FormerRelease {
  const version = readdirSync(join(projectFolder, 'test/db/dumps'))
    .flatMap((file) => /^(\d+\.\d+\.\d+)\.sql$/.exec(file)?.[1] ?? [])
    .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))[0];
  const subject = `^Date version ${version?.replaceAll('.', '\\.')} `;
  const commit = git(['log', '-1', '--format=%H', `--grep=${subject}`])
    .toString()
    .trim();
  if (version === undefined || commit === '')
    throw new Error(`The history of this repository has no commit that dates version ${version}. Fetch all of it.`);
  const guardian = startGuardian();
  const folder = mkdtempSync(join(tmpdir(), `tollgate-${version}-`));
  guardian.removeFolder(folder);
  const { status, stderr } = spawnSync('tar', ['-x', '-C', folder], { input: git(['archive', commit]) });
  if (status !== 0) throw new Error(`tar failed: ${stderr.toString()}`);
  symlinkSync(join(projectFolder, 'node_modules'), join(folder, 'node_modules'));
  return {
    version,
    folder,
    async run(program, env) {
      const child = spawn(nodeBinary, ['--disable-warning=ExperimentalWarning', ...program], {
        cwd: folder,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
      const [stdout, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
      if (code !== 0) throw new Error(`${program.join(' ')} of ${version} ends with ${code}: ${errors}${stdout}`);
      return stdout;
    },
    close: () => guardian.close(),
  };
}

function git(args: readonly string[]): Buffer {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: projectFolder, maxBuffer: 1e9 });
  if (status !== 0) throw new Error(`git ${args[0]} failed: ${stderr.toString()}`);
  return stdout;
}
