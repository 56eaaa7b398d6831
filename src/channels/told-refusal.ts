import type { ToldRefusal } from '../domain/told-refusal.ts';
import { fieldsIn, fieldsInEach, firstFieldsIn, textIn } from './event-fields.ts';

/** The message and the field of an error in the form of any family: OpenAI, Anthropic, Google (`fieldViolations`), vLLM and FastAPI (`detail`). */
export function toldRefusal(json: unknown): ToldRefusal | null {
  const body = fieldsIn(json);
  const error = fieldsIn(body?.error) ?? body;
  const first = firstFieldsIn(body?.detail);
  const message = textIn(error?.message) ?? textIn(body?.detail) ?? textIn(body?.error) ?? textIn(first?.msg);
  if (message === undefined) return null;
  const violations = fieldsInEach(error?.details).map(({ fieldViolations }) => firstFieldsIn(fieldViolations));
  const located = Array.isArray(first?.loc) ? first.loc.filter((part) => part !== 'body').join('.') : undefined;
  const violated = violations.map((violation) => textIn(violation?.field)).find((field) => field !== undefined);
  const param = textIn(error?.param) ?? violated ?? textIn(located);
  return { message, ...(param !== undefined && { param }) };
}
