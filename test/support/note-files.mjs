// Loaded into an API server or a worker by `called-files.ts`. At SIGUSR2 it writes in which files of `src` the process has called a function since
// the last one.
import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';

const folder = process.env['CALLED_FOLDER'];
const source = new URL('../../src/', import.meta.url).href;

if (folder !== undefined && process.argv[1]?.startsWith(new URL('main/', source).pathname)) {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  process.on('SIGUSR2', async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const called = result
      .filter(
        ({ url, functions }) => url.startsWith(source) && functions.some(({ ranges: [range] }) => range.count > 0),
      )
      .map(({ url }) => url.slice(source.length));
    const file = `${folder}/${process.pid}`;
    writeFileSync(`${file}.new`, JSON.stringify(called));
    renameSync(`${file}.new`, file);
  });
}
