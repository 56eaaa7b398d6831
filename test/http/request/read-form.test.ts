import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { goodKey, startFrame, type Frame } from '../support.ts';

let frame: Frame;
beforeAll(async () => {
  frame = await startFrame({
    routes: [
      {
        method: 'POST',
        path: '/echo',
        auth: 'api_key',
        scopes: ['media'],
        dialect: 'openai',
        body: 'json_or_form',
        handler: (ctx) => {
          ctx.body = { echo: ctx.request.body };
          return Promise.resolve();
        },
      },
    ],
  });
});
afterAll(() => frame.close());

const send = async (body: FormData | string, type?: string) => {
  const headers = { authorization: `Bearer ${goodKey}`, ...(type !== undefined && { 'content-type': type }) };
  const answer = await fetch(`${frame.url}/echo`, { method: 'POST', headers, body });
  return { status: answer.status, json: (await answer.json()) as { echo?: unknown; error?: Record<string, unknown> } };
};
function formOf(...fields: (readonly [name: string, value: string | Blob])[]): FormData {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  return form;
}
const png = new Blob([Buffer.from('png')], { type: 'image/png' });

describe('a form on a route that takes JSON too', () => {
  it('is read as the JSON that stands for it', async () => {
    const form = formOf(
      ['model', 'm'],
      ['prompt', '42'],
      ['n', '2'],
      ['guidance', '-1.5'],
      ['stream', 'false'],
      ['size', '1024x1024'],
      ['seconds', '8'],
      ['version', '007'],
      ['image[]', png],
      ['image[1]', png],
      ['mask', png],
      ['input_reference[file_id]', 'file_1'],
      ['tag', 'a'],
      ['tag', 'b'],
      ['only[]', 'x'],
      ['metadata[order]', '7'],
      ['metadata[paid]', 'true'],
    );
    const uri = 'data:image/png;base64,cG5n';
    expect((await send(form)).json.echo).toEqual({
      model: 'm',
      prompt: '42',
      n: 2,
      guidance: -1.5,
      stream: false,
      size: '1024x1024',
      seconds: '8',
      version: '007',
      image: [uri, uri],
      mask: uri,
      input_reference: { file_id: 'file_1' },
      tag: ['a', 'b'],
      only: ['x'],
      // Members of metadata are texts.
      metadata: { order: '7', paid: 'true' },
    });
    expect((await send('{"n":2}', 'application/json')).json.echo).toEqual({ n: 2 });
  });

  it.each(['input_reference', 'input_reference[image_url]', 'image[]', 'reference_images'])(
    'takes a picture as text in %s, and no other text that long',
    async (name) => {
      const uri = `data:image/png;base64,${'A'.repeat(200_000)}`;
      expect(JSON.stringify((await send(formOf([name, uri]))).json.echo)).toContain(`"${uri}"`);
      const refused = await send(formOf(['prompt', uri]));
      expect(refused).toMatchObject({ status: 400, json: { error: { code: 'invalid_multipart', param: 'prompt' } } });
    },
  );

  it('passes no declared type on that is not one', async () => {
    const body = `--b\r\ncontent-disposition: form-data; name="image"; filename="x"\r\ncontent-type: a;b,c\r\n\r\npng\r\n--b--\r\n`;
    expect((await send(body, 'multipart/form-data; boundary=b')).json.echo).toEqual({
      image: 'data:application/octet-stream;base64,cG5n',
    });
  });

  it.each<[string, FormData]>([
    ['a name that could change a prototype', formOf(['__proto__', 'x'])],
    ['a member that could change a prototype', formOf(['a[constructor]', 'x'])],
    ['a nested name', formOf(['a[b][c]', 'x'])],
    ['a name that is no word', formOf(['a b', 'x'])],
    ['a field that is a value and an object', formOf(['a', 'x'], ['a[b]', 'x'])],
    ['a field that is an object and a value', formOf(['a[b]', 'x'], ['a', 'x'])],
    ['too many fields', formOf(...Array.from({ length: 101 }, () => ['a', 'x'] as const))],
    ['too many files', formOf(...Array.from({ length: 21 }, () => ['a', png] as const))],
    ['a field that is too long', formOf(['prompt', 'x'.repeat(100_001)])],
  ])('is refused with %s', async (_what, form) => {
    const { status, json } = await send(form);
    expect([status, json.error?.['code']]).toEqual([400, 'invalid_multipart']);
  });

  it('is refused if it is cut off, has no boundary, has a NUL or is too large', async () => {
    const cut = await send(
      '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nx',
      'multipart/form-data; boundary=b',
    );
    expect([cut.status, cut.json.error?.['code']]).toEqual([400, 'invalid_multipart']);
    expect((await send('x', 'multipart/form-data')).status).toBe(400);
    expect((await send(formOf(['prompt', 'a\0b']))).json.error?.['code']).toBe('invalid_json');
    expect((await send(formOf(['image', new Blob([Buffer.alloc(10_100_000)])]))).status).toBe(413);
  });
});
