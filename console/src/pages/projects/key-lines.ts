export interface KeyLines {
  name: string;
  code: string;
}

/** Lines that work as they stand: for each SDK a first chat, and a picture that is waited for. Without a model of a kind its lines are left out. */
export function keyLines({
  baseUrl,
  secret,
  chatModel,
  imageModel,
}: {
  baseUrl: string;
  secret: string;
  chatModel: string | undefined;
  imageModel: string | undefined;
}): KeyLines[] {
  return [
    ...(chatModel === undefined ? [] : chatLines(baseUrl, secret, chatModel)),
    ...(imageModel === undefined ? [] : [{ name: 'Picture', code: pictureLines(baseUrl, secret, imageModel) }]),
  ];
}

const chatLines = (baseUrl: string, secret: string, model: string): KeyLines[] => [
  {
    name: 'curl',
    code: `curl ${baseUrl}/v1/chat/completions \\
  -H 'Authorization: Bearer ${secret}' \\
  -H 'Content-Type: application/json' \\
  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Say hello"}]}'`,
  },
  {
    name: 'OpenAI Python',
    code: `from openai import OpenAI

client = OpenAI(base_url="${baseUrl}/v1", api_key="${secret}")
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Say hello"}],
)
print(answer.choices[0].message.content)`,
  },
  {
    name: 'OpenAI JavaScript',
    code: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${baseUrl}/v1', apiKey: '${secret}' });
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Say hello' }],
});
console.log(answer.choices[0].message.content);`,
  },
  {
    name: 'Anthropic',
    code: `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: '${baseUrl}', apiKey: '${secret}' });
const answer = await client.messages.create({
  model: '${model}',
  max_tokens: 200,
  messages: [{ role: 'user', content: 'Say hello' }],
});
console.log(answer.content);`,
  },
  {
    name: 'Google',
    code: `import { GoogleGenAI } from '@google/genai';

const client = new GoogleGenAI({ apiKey: '${secret}', httpOptions: { baseUrl: '${baseUrl}' } });
const answer = await client.models.generateContent({ model: '${model}', contents: 'Say hello' });
console.log(answer.text);`,
  },
];

const pictureLines = (baseUrl: string, secret: string, model: string): string =>
  `# Answers when the picture is made, after 60 seconds at most. A picture that takes longer:
# curl '${baseUrl}/api/v1/tasks/TASK_ID?wait=60' -H 'Authorization: Bearer ${secret}'
curl '${baseUrl}/api/v1/images/generate?wait=60' \\
  -H 'Authorization: Bearer ${secret}' \\
  -H 'Content-Type: application/json' \\
  -d '{"model": "${model}", "prompt": "A paper boat on a still lake"}'`;
