import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { Gateway, TestProject } from '../support/gateway.ts';
import { accountOf } from '../support/rows.ts';

let gateway: Gateway;
let project: TestProject;
let client: OpenAI;

/** Tests of the package `openai` with the base URL `/v1`, as its users have it. */
export const describeOpenaiV1 = (started: () => Gateway): void =>
  describe('openai under /v1', () => {
    beforeAll(async () => {
      gateway = started();
      project = await gateway.project();
      client = new OpenAI({ apiKey: project.apiKey, baseURL: `${gateway.baseUrl}/v1`, maxRetries: 0 });
    });
    afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

    describe('a chat', () => {
      const asking = (text: string) => ({ model: 'gpt-5-mini', messages: [{ role: 'user' as const, content: text }] });

      it('is answered and charged as under /api/v1', async () => {
        const before = await accountOf(gateway.database, project.projectId);
        const { data, response } = await client.chat.completions.create(asking('hello v1')).withResponse();
        expect(data.choices[0]?.message.content).toBe('Sandbox answer to: hello v1');
        expect(response.headers.has('x-tollgate-clamped')).toBe(false);
        const credits = Number(response.headers.get('x-tollgate-credits'));
        expect((await accountOf(gateway.database, project.projectId)).balance).toBe(before.balance - credits);
      });

      it('may ask for one token', async () => {
        const answer = await client.chat.completions.create({ ...asking('one token'), max_tokens: 1 });
        expect(answer.choices[0]?.finish_reason).toBe('length');
        expect(answer.usage?.completion_tokens).toBe(1);
      });

      it.each(['max_tokens', 'max_completion_tokens'])(
        'that asks for more tokens than the model writes gets as many as it writes, and learns so: %s',
        async (field) => {
          const { response } = await client.chat.completions
            .create({ ...asking(`much ${field}`), [field]: 100_000 })
            .withResponse();
          expect(response.headers.get('x-tollgate-clamped')).toBe(`${field}=8192`);
        },
      );

      it('is streamed, and clamped as well', async () => {
        const { data, response } = await client.chat.completions
          .create({ ...asking('streamed v1'), max_tokens: 100_000, stream: true })
          .withResponse();
        let text = '';
        for await (const chunk of data) text += chunk.choices[0]?.delta.content ?? '';
        expect(text).toBe('Sandbox answer to: streamed v1');
        expect(response.headers.get('x-tollgate-clamped')).toBe('max_tokens=8192');
      });

      it('is refused with the errors that the client knows', async () => {
        await expect(client.chat.completions.create({ ...asking('x'), model: 'gpt-1' })).rejects.toThrow(
          OpenAI.NotFoundError,
        );
        await expect(client.chat.completions.create({ ...asking('x'), max_tokens: 0 })).rejects.toMatchObject({
          status: 400,
          code: 'invalid_value',
          param: 'max_tokens',
        });
        await expect(client.withOptions({ apiKey: 'sk-nobody' }).chat.completions.create(asking('x'))).rejects.toThrow(
          OpenAI.AuthenticationError,
        );
      });

      it('takes the key as x-api-key too, and an Idempotency-Key', async () => {
        const post = () =>
          fetch(`${gateway.baseUrl}/v1/chat/completions`, {
            method: 'POST',
            headers: { 'x-api-key': project.apiKey, 'content-type': 'application/json', 'idempotency-key': 'v1-once' },
            body: JSON.stringify(asking('once under v1')),
          });
        const first = await post();
        const again = await post();
        expect(await again.text()).toBe(await first.text());
        expect(again.headers.get('idempotent-replayed')).toBe('true');
        expect(await gateway.hits('once under v1', 'chat')).toHaveLength(1);
      });
    });
  });
