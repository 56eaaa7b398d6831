/**
 * The names and types of a JSON answer, so that two answers with other texts and numbers have the same shape. A list has the shape of its
 * first item. Of events it is that of the first one. Members of our own (`tollgate`) do not count.
 */
export function answerShape(text: string): string {
  const event = /^data: (\{.*\})\s*$/m.exec(text)?.[1];
  try {
    return valueShape(JSON.parse(event ?? text), 0);
  } catch {
    return text === '' ? 'nothing' : 'text';
  }
}

const depthMax = 8;

function valueShape(value: unknown, depth: number): string {
  if (depth > depthMax) return '…';
  if (value === null) return 'null';
  if (Array.isArray(value)) return `[${value.length === 0 ? '' : valueShape(value[0], depth + 1)}]`;
  if (typeof value !== 'object') return typeof value;
  const members = Object.entries(value)
    .filter(([name, member]) => name !== 'tollgate' && member !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${name}:${valueShape(member, depth + 1)}`).join(',')}}`;
}
