import { randomBytes } from 'node:crypto';
import { Agent, get } from 'node:http';
import { fileURLToPath } from 'node:url';

/** The program: sends so many polls a second, each with a key of its own that does not exist, until its standard input ends. */
function guess(baseUrl: string, perSecond: number): void {
  const agent = new Agent({ keepAlive: true, maxSockets: 200 });
  const answers: Record<number, number> = {};
  const count = (status: number): void => {
    answers[status] = (answers[status] ?? 0) + 1;
  };
  const begunAt = performance.now();
  let sent = 0;
  setInterval(() => {
    for (; sent < ((performance.now() - begunAt) / 1_000) * perSecond; sent += 1) {
      const headers = { authorization: `Bearer sk-${randomBytes(23).toString('hex')}` };
      get(`${baseUrl}/api/v1/tasks/task_0`, { agent, headers }, (response) => {
        count(response.statusCode ?? 0);
        response.resume();
      }).on('error', () => count(0));
    }
  }, 5);
  setInterval(() => process.stdout.write(`${JSON.stringify(answers)}\n`), 500);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  guess(process.argv[2] ?? '', Number(process.argv[3]));
  process.stdin.resume().once('close', () => process.exit());
}
