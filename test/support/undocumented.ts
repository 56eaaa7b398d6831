import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { z } from 'zod';

export interface SentAnswer {
  /** Of the request. */
  method: string;
  url: string;
  status: number;
  headers: Headers;
  /** Null if the body was not read to its end. */
  text: string | null;
}

/**
 * What an answer of the gateway has beyond what the committed OpenAPI documents say, and what it lacks, as a sentence; null if nothing.
 * Clients must accept members that they do not know, but the document must name every member. Answers of paths and methods that
 * no document describes are not judged.
 */
export function undocumented({ method, url, status, headers, text }: SentAnswer): string | null {
  const { pathname } = new URL(url);
  const operation = operations.find((one) => one.methods.includes(method) && one.pattern.test(pathname));
  if (!operation || status === METHOD_NOT_ALLOWED) return null;
  // The public port has no admin API. Its document cannot say so.
  if (status === NOT_FOUND && text?.includes('There is no route')) return null;
  const about = `${method} ${pathname} ${status} (correct ${operation.source}, then \`npm run docs:api\`)`;
  const start = text?.slice(0, 1_000);
  const answer = operation.answers[status];
  if (!answer) return `${about}: the document does not name this status: ${start}`;
  const missing = Object.entries(answer.headers).find(([name, { required }]) => required && !headers.has(name));
  if (missing) return `${about}: the answer lacks the header ${missing[0]}`;
  if (method === 'HEAD') return null;
  const type = headers.get('content-type')?.split(';')[0] ?? '';
  if (Object.keys(answer.content).length === 0) return type === '' ? null : `${about}: the document names no body`;
  const named = type in answer.content ? type : '*/*';
  if (!(named in answer.content)) return `${about}: the document does not name the type ${type}`;
  if (!/[/+]json$/.test(type) || text === null) return null;
  const pointer = [...answer.pointer, 'content', named, 'schema'];
  const isValid = validators.getSchema(`${operation.document}#/${pointer.map(escaped).join('/')}`);
  if (!isValid) throw new Error(`the document has no schema of ${about}`);
  return isValid(JSON.parse(text)) ? null : `${about}: ${validators.errorsText(isValid.errors)}: ${start}`;
}

/** Only the routes that do not take the method answer it. */
const METHOD_NOT_ALLOWED = 405;
const NOT_FOUND = 404;

const Answer = z.object({
  headers: z.record(z.string(), z.object({ required: z.boolean().default(false) })).default({}),
  content: z.record(z.string(), z.unknown()).default({}),
});
const Reference = z.object({ $ref: z.string() });
const Document = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ responses: z.record(z.string(), z.unknown()) }))),
  components: z.looseObject({
    schemas: z.record(z.string(), z.unknown()),
    responses: z.record(z.string(), z.unknown()),
  }),
});

/** The committed documents, and where to correct what they say. */
const sources = {
  'openapi.json': 'the `answers` or the `errors` of its row in src/http/routes',
  'admin-openapi.json': 'the `answer` or the `refusals` of the action',
};

const documents = Object.entries(sources).map(([name, source]) => {
  const text = readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
  return { name, source, ...Document.parse(JSON.parse(text)) };
});

const operations = documents.flatMap(({ name, source, paths, components }) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses }]) => ({
      document: name,
      source,
      methods: method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()],
      pattern: patternOf(path),
      answers: Object.fromEntries(
        Object.entries(responses).map(([status, response]) => [
          status,
          answerOf(response, ['paths', path, method, 'responses', status], components.responses),
        ]),
      ),
    })),
  ),
);

/** An answer and where it stands in the document; most refusals are shared. */
function answerOf(response: unknown, pointer: string[], shared: Readonly<Record<string, unknown>>) {
  const reference = Reference.safeParse(response).data?.$ref.split('/').at(-1);
  if (reference === undefined) return { ...Answer.parse(response), pointer };
  return { ...Answer.parse(shared[reference]), pointer: ['components', 'responses', reference] };
}

function patternOf(path: string): RegExp {
  const literals = path.split(/\{\w+\}/).map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${literals.join('[^/]+')}$`);
}

const validators = new Ajv2020({ strict: false, validateSchema: false, validateFormats: false });
for (const { name, source: _, ...document } of documents) {
  close(document.components.schemas);
  close(document.components.responses);
  for (const methods of Object.values(document.paths)) {
    for (const { responses } of Object.values(methods)) close(responses);
  }
  validators.addSchema(document, name);
}

/** Refuses members that an object's schema does not name. The parts of an `allOf` name only some each. */
function close(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  if ('properties' in schema && !('additionalProperties' in schema)) {
    Object.assign(schema, { unevaluatedProperties: false });
  }
  for (const [key, value] of Object.entries(schema)) if (key !== 'allOf') close(value);
}

/** As a part of a JSON pointer in a URI. */
const escaped = (part: string): string => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
