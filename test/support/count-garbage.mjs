// Loaded into an API process by `allocated-bytes.ts`. At SIGUSR2 it writes how many bytes the program has allocated since the last one.
import { writeFileSync, renameSync } from 'node:fs';
import { GCProfiler } from 'node:v8';

const file = process.env['GARBAGE_FILE'];
const used = () => process.memoryUsage().heapUsed;
let profiler;
let usedAtStart = 0;

/** What was allocated between the collections, and since the last one. */
function allocatedBytes() {
  const { statistics } = profiler.stop();
  let allocated = 0;
  let before = usedAtStart;
  for (const { beforeGC, afterGC } of statistics) {
    allocated += beforeGC.heapStatistics.usedHeapSize - before;
    before = afterGC.heapStatistics.usedHeapSize;
  }
  return allocated + used() - before;
}

if (file !== undefined && process.argv[1]?.endsWith('/api.ts')) {
  process.on('SIGUSR2', () => {
    const bytes = profiler === undefined ? 0 : allocatedBytes();
    profiler = new GCProfiler();
    profiler.start();
    usedAtStart = used();
    writeFileSync(`${file}.new`, String(bytes));
    renameSync(`${file}.new`, file);
  });
}
