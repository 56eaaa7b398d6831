/** An object that a statement makes of columns (`json_build_object`). */
export interface BuiltObject {
  /** The column that has it, or a list of it; null if the statement does not say. */
  column: string | null;
  members: BuiltMember[];
}

export interface BuiltMember {
  name: string;
  /** Where its value stands in the text. */
  start: number;
  end: number;
  /** The objects that its value is made of. */
  objects: BuiltObject[];
}

/** The objects that a part of a text makes, without those within them. */
export function builtObjects(text: string, from = 0, to = text.length): BuiltObject[] {
  const objects: BuiltObject[] = [];
  const call = /jsonb?_build_object\(/g;
  call.lastIndex = from;
  for (let found = call.exec(text); found && found.index < to; found = call.exec(text)) {
    const end = closeOf(text, call.lastIndex);
    objects.push({ column: columnAfter(text, end + 1), members: membersOf(text, call.lastIndex, end) });
    call.lastIndex = end;
  }
  return objects;
}

function membersOf(text: string, from: number, to: number): BuiltMember[] {
  const parts: { start: number; end: number }[] = [];
  let start = from;
  walk(text, from, (character, at) => {
    if (at < to && character !== ',') return false;
    parts.push({ start, end: at });
    start = at + 1;
    return at >= to;
  });
  return Array.from({ length: parts.length / 2 }, (_, index) => {
    const [name, value] = parts.slice(2 * index, 2 * index + 2);
    if (!name || !value) throw new Error(`a member without a value in ${text.slice(from, to)}`);
    const objects = builtObjects(text, value.start, value.end);
    return { ...value, name: text.slice(name.start, name.end).trim().replaceAll("'", ''), objects };
  });
}

/** The name after the first `as` that stands behind the expression, or behind one that contains it. */
function columnAfter(text: string, from: number): string | null {
  let column: string | null = null;
  // What follows in the same parentheses belongs to something else.
  let isPast = false;
  walk(text, from, (character, at) => {
    if (character === ')') isPast = false;
    if (character === ',' || /^\b(?:from|where|order by)\b/.test(wordAt(text, at))) isPast = true;
    if (isPast) return false;
    column = /^as (\w+)/.exec(wordAt(text, at))?.[1] ?? null;
    return column !== null;
  });
  return column;
}

/** The text from a character on, if a word begins there. */
const wordAt = (text: string, at: number): string => (/\w/.test(text[at - 1] ?? '') ? '' : text.slice(at, at + 80));

/** Where the parenthesis closes that is open at `from`. */
function closeOf(text: string, from: number): number {
  let close = -1;
  walk(text, from, (character, at) => {
    close = at;
    return character === ')';
  });
  return close;
}

/** Visits what is not in quotes or in parentheses of its own, until `visit` returns true. */
function walk(text: string, from: number, visit: (character: string, at: number) => boolean): void {
  for (let at = from; at < text.length; at++) {
    const character = text[at] ?? '';
    if (visit(character, at)) return;
    if (character === "'") at = text.indexOf("'", at + 1);
    if (character === '(') at = closeOf(text, at + 1);
  }
}
