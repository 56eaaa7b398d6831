import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { z } from 'zod';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway?.stop());

let project: TestProject;

/** Tests of the requests that the documents show. The gateway must have the models of the shipped catalog. */
describe('the requests that the documents show', () => {
  beforeAll(async () => {
    project = await gateway.project({ credits: 1_000_000 });
  });

  it('are accepted, where they are examples of the OpenAPI document', async () => {
    const { body } = await gateway.get(project.apiKey, '/api/v1/openapi.json');
    const posts = Object.entries(Document.parse(body).paths).flatMap(([path, { post }]) =>
      post?.requestBody ? [{ path: withExamples(path, post.parameters), content: post.requestBody.content }] : [],
    );
    const bodies = posts.map(({ path, content }) => ({ path, ...content['application/json'] }));
    const withoutAny = bodies.filter(({ examples }) => Object.keys(examples ?? {}).length === 0);
    expect(withoutAny.map(({ path }) => path)).toEqual(['/api/v1/images/upload']);
    const sent = bodies.flatMap(({ path, examples = {} }) =>
      Object.entries(examples).map(async ([name, { value }]) => {
        const answer = await fetch(gateway.baseUrl + path, {
          method: 'POST',
          headers: { 'x-api-key': project.apiKey, 'content-type': 'application/json', accept },
          body: JSON.stringify(value),
        });
        return { path, name, status: answer.status, text: await answer.text() };
      }),
    );
    expect(sent.length).toBeGreaterThan(60);
    expect((await Promise.all(sent)).filter(({ status }) => status >= 300)).toEqual([]);
  });

  it.each(['README.md', 'docs/API.md', 'docs/SANDBOX.md'])(
    'are accepted, where they are curl lines of %s',
    async (path) => {
      const lines = curlLines(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));
      expect(lines.length).toBeGreaterThan(1);
      const { baseUrl, sandboxUrl } = gateway;
      const task = await gateway.accept(project.apiKey, '/api/v1/images/generate', {
        model: 'aurora-image-1',
        prompt: 'a red fox',
      });
      await Promise.all(
        lines.map((line) =>
          promisify(execFile)('bash', ['-c', `${shell}\n${line.replace('TASK_ID', '$TASK')}`], {
            env: { PATH: process.env['PATH'], BASE: baseUrl, KEY: project.apiKey, SANDBOX: sandboxUrl, TASK: task },
          }),
        ),
      );
    },
  );
});
/** Clients of the Model Context Protocol must accept both. */
const accept = 'application/json, text/event-stream';

/** An answer that is an error fails the command. `dev` is how README.md reads the state of `npm start`. */
const shell = `set -eu
curl() { command curl --fail-with-body --max-time 240 "$@"; }
dev() { case $1 in base_url) echo "$BASE" ;; api_key) echo "$KEY" ;; esac; }`;

/** The commands with curl of a document's shell blocks, each with the lines that continue it. */
const curlLines = (text: string): string[] =>
  [...text.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = '']) => [
    ...(block.match(/^curl (?:.*\\\n)*.*$/gm) ?? []),
  ]);

const Post = z.object({
  parameters: z.array(z.object({ name: z.string(), in: z.string(), example: z.string().optional() })).default([]),
  requestBody: z
    .object({
      content: z.record(
        z.string(),
        z.object({ examples: z.record(z.string(), z.object({ value: z.unknown() })).optional() }),
      ),
    })
    .optional(),
});
const Document = z.object({ paths: z.record(z.string(), z.object({ post: Post.optional() })) });

/** The path with the examples of its parameters. */
const withExamples = (path: string, parameters: z.infer<typeof Post>['parameters']): string =>
  path.replace(/\{(\w+)\}/g, (_whole, name) => parameters.find((one) => one.name === name)?.example ?? '');
