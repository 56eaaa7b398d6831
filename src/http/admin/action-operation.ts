import { z } from 'zod';
import type { ErrorCode } from '../../domain/errors.ts';
import type { AnswerSchema, Action, ActionRoute } from '../../admin/define-action.ts';
import { snakeCase } from '../../admin/input.ts';
import { reportType } from '../../admin/report.ts';
import { bodySchema } from '../openapi/json-schema.ts';
import { json, type Answer, type Operation, type Parameter } from '../openapi/operation.ts';
import { bodyFields } from './action-route.ts';

/** What the document says about the route of an action, whose command is `tollgate` and the name. */
export function actionOperation(name: string, action: Action, route: ActionRoute): Operation<string> {
  const isRead = route.method === 'GET';
  const fields = [...bodyFields(action, route)].map(([field, input]) => [field, inputOf(action, input)] as const);
  const isRequired = fields.some(([, schema]) => !mayBeAbsent(schema));
  return {
    id: `${route.method.toLowerCase()}_${name.replace(/\W+/g, '_')}`,
    summary: action.summary,
    description: `\`tollgate ${name}\`.${ownerWords(route)}`,
    tag: name.split(' ')[0] ?? name,
    parameters: [...pathParameters(action, route), ...(isRead ? fields.map(queryParameter) : [idempotencyKey])],
    ...(!isRead &&
      fields.length > 0 && {
        bodyRequired: isRequired,
        body: (_catalog, named) => ({
          'application/json': {
            schema: bodySchema(z.strictObject(Object.fromEntries(fields)), named),
            ...(action.example && { examples: { usual: { summary: action.summary, value: action.example } } }),
          },
        }),
      }),
    answers: answersOf(action, isRead),
    errors: [
      ...(isRead && isRequired ? (['missing_parameter'] as const) : []),
      ...(isRead ? [] : keyRefusals),
      ...(action.refusals ?? []),
    ],
  };
}

const inputOf = (action: Action, name: string): z.ZodType => action.input[name] ?? z.unknown();

const mayBeAbsent = (schema: z.ZodType): boolean => z.object({ value: schema }).safeParse({}).success;

const ownerWords = ({ ownerInput = [] }: ActionRoute): string =>
  ownerInput.length === 0 ? '' : ` The inputs ${ownerInput.map(snakeCase).join(', ')} need \`owner\`.`;

const pathParameters = (action: Action, { path }: ActionRoute): Parameter[] =>
  [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => {
    const schema = inputOf(action, name);
    return { name, in: 'path', description: schema.description ?? '', schema };
  });

const queryParameter = ([name, schema]: readonly [string, z.ZodType]): Parameter => ({
  name,
  in: 'query',
  description: schema.description ?? '',
  schema,
  required: !mayBeAbsent(schema),
});

const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'A request with the same key and body is made once in 24 hours.',
  schema: z.string().min(1).max(255),
};

/** Of an Idempotency-Key. */
const keyRefusals: ErrorCode[] = ['idempotency_key_reused', 'idempotency_in_progress', 'idempotency_result_gone'];

function answersOf({ answer, pendingAnswer }: Action, isRead: boolean): Record<number, Answer> {
  const answers: Record<number, Answer> = { 200: answered('The document of the command.', answer, isRead) };
  if (pendingAnswer) answers[202] = answered('The work continues.', pendingAnswer, isRead);
  return answers;
}

/** The answer for scripts, and the whole report for the command line. */
const answered = (description: string, schema: AnswerSchema, isRead: boolean): Answer => ({
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
  schema instanceof z.ZodObject && 'next_cursor' in schema.shape ? schema.pick({ data: true }) : schema;
