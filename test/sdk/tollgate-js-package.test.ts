import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const tsc = resolve('node_modules/.bin/tsc');

describe('the package tollgate-js', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tollgate-js-'));
    await run('npm', ['pack', './packages/tollgate-js', '--pack-destination', folder]);
    const [archive = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
    const installed = join(folder, 'node_modules/tollgate-js');
    await mkdir(installed, { recursive: true });
    await run('tar', ['-xzf', join(folder, archive), '-C', installed, '--strip-components=1']);
    await mkdir(join(folder, 'node_modules/@types'));
    for (const name of ['standardwebhooks', '@types/node'])
      await symlink(resolve('node_modules', name), join(folder, 'node_modules', name));
  }, 240_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('has its built modules once it is packed as its README says', async () => {
    await writeFile(
      join(folder, 'a.mjs'),
      `import { Tollgate } from 'tollgate-js'; process.stdout.write(Tollgate.name);`,
    );
    expect((await run(process.execPath, [join(folder, 'a.mjs')])).stdout).toBe('Tollgate');
  });

  it('compiles the first example of its README in strict TypeScript', async () => {
    const readme = await readFile('packages/tollgate-js/README.md', 'utf8');
    const [, example = ''] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
    expect(example).toContain('task.output[0].url');
    await writeFile(join(folder, 'example.mts'), example);
    const options = ['--strict', '--noUncheckedIndexedAccess', '--noEmit', '--ignoreConfig', '--types', 'node'];
    const target = ['--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023,dom,dom.iterable'];
    const { stdout } = await run(tsc, [...options, ...target, 'example.mts'], { cwd: folder }).catch(
      (error: { stdout: string }) => error,
    );
    expect(stdout).toBe('');
  }, 240_000);
});
