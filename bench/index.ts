/** `npm run bench -- media`: measures against real servers that it starts itself. Results belong in docs/BENCHMARKS.md. */
const benches: Record<string, () => Promise<void>> = {
  media: async () => (await import('./media.ts')).benchMedia(),
};

const name = process.argv[2] ?? '';
const bench = benches[name];
if (!bench) {
  process.stderr.write(`npm run bench -- ${Object.keys(benches).join(' | ')}\n`);
  process.exit(2);
}
await bench();
process.exit(0);
