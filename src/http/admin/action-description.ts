import { z } from 'zod';
import type { ErrorCode } from '../../domain/errors.ts';
import { isVersioned, type AnswerSchema, type Action, type ActionRoute } from '../../admin/define-action.ts';
import { reportType } from '../../admin/report.ts';
import { snakeCase, type JsonObject } from '../../domain/json.ts';
import { json, type DescribedAnswer, type Description } from '../description.ts';
import { isRequired } from '../request/query.ts';

/** What the route of an action says to clients. Its command is `tollgate` and the name, its `fields` are the inputs that are not in the path. */
export function actionDescription(
  name: string,
  action: Action,
  route: ActionRoute,
  fields: Readonly<Record<string, z.ZodType>>,
): Description {
  const isRead = route.method === 'GET';
  const versioned = isVersioned(action, route);
  return {
    id: `${route.method.toLowerCase()}_${name.replace(/\W+/g, '_')}`,
    summary: action.summary,
    description: `\`tollgate ${name}\`.${ownerWords(route)}`,
    tag: name.split(' ')[0] ?? name,
    params: pathInputs(action, route),
    ...(!isRead && { headers: { 'Idempotency-Key': idempotencyKeyText, ...(versioned && { 'If-Match': ifMatch }) } }),
    ...(!isRead &&
      Object.keys(fields).length > 0 && {
        bodyRequired: Object.values(fields).some(isRequired),
        accepts: { 'application/json': z.strictObject(fields) },
        ...(action.example && { examples: exampleOf(action.summary, action.example) }),
      }),
    answers: answersOf(action, isRead, versioned),
    errors: [...(isRead ? [] : keyRefusals), ...(action.refusals ?? [])],
  };
}

const exampleOf = (summary: string, value: JsonObject) => () => ({ usual: { summary, value } });

const ownerWords = ({ ownerInput = [] }: ActionRoute): string =>
  ownerInput.length === 0 ? '' : ` The inputs ${ownerInput.map(snakeCase).join(', ')} need \`owner\`.`;

const pathInputs = (action: Action, { path }: ActionRoute): Description['params'] =>
  Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, action.input[name] ?? z.unknown()]));

const idempotencyKeyText = z
  .string()
  .min(1)
  .max(255)
  .describe('A request with the same key and body is made once in 24 hours.');

const ifMatch = z
  .string()
  .describe(
    'The `ETag` that was read. The change is made only if the thing still has this version (RFC 9110 §13.1.1).',
  );

/** Of an Idempotency-Key. */
const keyRefusals: ErrorCode[] = ['idempotency_key_reused', 'idempotency_in_progress', 'idempotency_result_gone'];

function answersOf(
  { answer, pendingAnswer }: Action,
  isRead: boolean,
  versioned: boolean,
): Record<number, DescribedAnswer> {
  const document = answered('The document of the command.', answer, isRead);
  // An answer that the command line has printed has no headers.
  const sometimes = { ETag: 'The version, for `If-Match` of a change.' };
  const answers: Record<number, DescribedAnswer> = { 200: { ...document, ...(isRead && versioned && { sometimes }) } };
  if (pendingAnswer) answers[202] = answered('The work continues.', pendingAnswer, isRead);
  return answers;
}

/** The answer for scripts, and the whole report for the command line. */
const answered = (description: string, schema: AnswerSchema, isRead: boolean): DescribedAnswer => ({
  description,
  content: {
    ...json(schema),
    [reportType]: z.object({
      document: documentOf(schema),
      text: z.string().describe('The report for people.'),
      refused: z.boolean().describe('Whether the command exits with 1.'),
    }),
  },
  ...(!isRead && { sometimes: { 'Idempotent-Replayed': '`true` for a repetition of an earlier request.' } }),
});

/** What `--json` prints: the answer without the cursor of a page. */
const documentOf = (schema: AnswerSchema): z.ZodType =>
  schema instanceof z.ZodObject && 'next_cursor' in schema.shape
    ? schema.omit({ object: true, has_more: true, next_cursor: true })
    : schema;
