export interface Sample {
  name: string;
  code: string;
}

/** The same request for a shell, Python and TypeScript. The key is left for the reader to set. */
export function samples(path: string, body: object): Sample[] {
  const url = `${location.origin}${path}`;
  const json = JSON.stringify(body, null, 2);
  return [
    {
      name: 'curl',
      code: `curl ${url} \\
  -H "Authorization: Bearer $TOLLGATE_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${json.replaceAll("'", `'\\''`)}'`,
    },
    {
      name: 'Python',
      code: `import os, requests

answer = requests.post(
    "${url}",
    headers={"Authorization": f"Bearer {os.environ['TOLLGATE_KEY']}"},
    json=${indent(pythonLiteral(body), 4)},
)
answer.raise_for_status()
print(answer.json())`,
    },
    {
      name: 'TypeScript',
      code: `const answer = await fetch('${url}', {
  method: 'POST',
  headers: {
    authorization: \`Bearer \${process.env.TOLLGATE_KEY}\`,
    'content-type': 'application/json',
  },
  body: JSON.stringify(${indent(json, 2)}),
});
if (!answer.ok) throw new Error(await answer.text());
console.log(await answer.json());`,
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
