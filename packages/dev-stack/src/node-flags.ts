/**
 * The options of Node with which a program of Tollgate is started. With this limit V8 collects the heap of the API when it is at most 1.6
 * times as large as what was left by the last collection. Without a limit it waits until four times, which took 430 MB at 500 chats a second. A young
 * generation of 32 MB keeps what a busy request holds out of the old one.
 */
export const nodeFlagsOf = (program: string): string[] => [
  '--disable-warning=ExperimentalWarning',
  ...(program === 'api' ? ['--max-old-space-size=1024', '--max-semi-space-size=32'] : []),
];
