export interface Sample {
  name: string;
  code: string;
}

/** The prefix of the routes, which the SDKs of OpenAI take as their base address. */
const base = '/api/v1';

/**
 * The same request for a shell and for OpenAI's SDKs of Python and TypeScript, which every route of ours can be called with. The key is left for
 * the reader to set.
 */
export function samples(path: string, body: object): Sample[] {
  const route = path.slice(base.length);
  const isChat = route === '/chat/completions';
  const isStream = 'stream' in body && body.stream === true;
  const json = JSON.stringify(body, null, 2);
  return [
    {
      name: 'curl',
      code: `curl ${isStream ? '-N ' : ''}${location.origin}${path} \\
  -H "Authorization: Bearer $TOLLGATE_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${json.replaceAll("'", `'\\''`)}'`,
    },
    {
      name: 'Python',
      code: `import os
from openai import OpenAI

client = OpenAI(base_url="${location.origin}${base}", api_key=os.environ["TOLLGATE_KEY"])
answer = ${
        isChat
          ? `client.chat.completions.create(\n    **${indent(pythonLiteral(body), 4)}\n)`
          : `client.post(\n    "${route}",\n    body=${indent(pythonLiteral(body), 4)},\n    cast_to=object,\n)`
      }
${isStream ? `for chunk in answer:\n    print(chunk.to_json(indent=None))` : isChat ? 'print(answer.to_json())' : 'print(answer)'}`,
    },
    {
      name: 'TypeScript',
      code: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${location.origin}${base}', apiKey: process.env.TOLLGATE_KEY });
const answer = await client.${
        isChat ? `chat.completions.create(${json})` : `post('${route}', { body: ${indent(json, 2)} })`
      };
${isStream ? 'for await (const chunk of answer) console.log(JSON.stringify(chunk));' : 'console.log(answer);'}`,
    },
  ];
}
const indent = (text: string, spaces: number): string => text.replaceAll('\n', `\n${' '.repeat(spaces)}`);

/** A value as Python writes it. */
function pythonLiteral(value: unknown, depth = 1): string {
  const pad = '    '.repeat(depth);
  const end = `\n${'    '.repeat(depth - 1)}`;
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map((item) => pythonLiteral(item, depth)).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([key, item]) => `\n${pad}${JSON.stringify(key)}: ${pythonLiteral(item, depth + 1)},`,
  );
  return `{${members.join('')}${end}}`;
}
