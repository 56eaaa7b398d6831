import { get } from 'node:http';

/**
 * `node src/main/probe.ts URL`: exits with 0 if a GET is answered with 200 within three seconds, else with 1 and the reason on stderr.
 * For health checks in an image without curl and wget.
 */
const url = process.argv[2] ?? '';
const timeoutMs = 3_000;

const fail = (reason: string): void => {
  process.stderr.write(`${url}: ${reason}\n`);
  process.exitCode = 1;
};

try {
  get(url, { agent: false, signal: AbortSignal.timeout(timeoutMs) }, (answer) => {
    if (answer.statusCode !== 200) fail(`status ${answer.statusCode ?? 'none'}`);
    answer.destroy();
  }).on('error', (error) => fail(error.message));
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}
