/** `npm run bench -- admin`, `-- chat`, `-- chat --stream`, `-- chat --count`, `-- console`, `-- growth`, `-- media`, `-- poll` and `-- soak`: measure against real servers, which the benchmarks start. docs/BENCHMARKS.md has the results. */
const benches: Record<string, () => Promise<void>> = {
  admin: async () => (await import('./admin.ts')).benchAdmin(),
  chat: async () => {
    if (process.argv.includes('--stream')) return (await import('./chat-stream.ts')).benchChatStream();
    if (process.argv.includes('--count')) return (await import('./chat-count.ts')).benchChatCount();
    return (await import('./chat.ts')).benchChat();
  },
  console: async () => (await import('./console.ts')).benchConsole(),
  growth: async () => (await import('./growth.ts')).benchGrowth(),
  media: async () => (await import('./media.ts')).benchMedia(),
  poll: async () => (await import('./poll.ts')).benchPoll(),
  soak: async () => (await import('./soak.ts')).benchSoak(),
};

const name = process.argv[2] ?? '';
const bench = benches[name];
if (!bench) {
  process.stderr.write(`npm run bench -- ${Object.keys(benches).join(' | ')}\n`);
  process.exit(2);
}
await bench();
process.exit();
