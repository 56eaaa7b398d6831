// Loaded into a process by `called-files.ts`. At SIGUSR2 it writes which functions of `src` the process has called since the last one.
import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';

const folder = process.env['CALLED_FOLDER'];
const program = process.argv[1] ?? '';
const source = new URL('../../src/', import.meta.url).href;

if (folder !== undefined && program.startsWith(new URL('main/', source).pathname)) {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  process.on('SIGUSR2', async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const called = result
      .filter(({ url }) => url.startsWith(source))
      .map(({ url, functions }) => ({
        file: url.slice(source.length),
        functions: functions.filter(({ ranges: [range] }) => range.count > 0).map(({ functionName }) => functionName),
      }))
      .filter(({ functions }) => functions.length > 0);
    const file = `${folder}/${process.pid}`;
    writeFileSync(`${file}.new`, JSON.stringify(called));
    renameSync(`${file}.new`, file);
  });
}
