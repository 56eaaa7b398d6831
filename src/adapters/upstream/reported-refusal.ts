import type { ReportedRefusal } from '../../domain/chat/reported-refusal.ts';
import { fieldsIn, fieldsInEach, firstFieldsIn, textIn, type EventFields } from '../chat/event-fields.ts';

/** The message and the field of an error in the form of any family: OpenAI, Anthropic, Google (`fieldViolations`), vLLM and FastAPI (`detail`). */
export function reportedRefusal(json: unknown): ReportedRefusal | null {
  // Gemini's OpenAI dialect answers with a list.
  const body = fieldsIn(json) ?? firstFieldsIn(json);
  const error = fieldsIn(body?.error) ?? body;
  const first = firstFieldsIn(body?.detail);
  const message =
    textIn(error?.message) ?? textIn(body?.detail) ?? textIn(body?.error) ?? textIn(first?.msg) ?? statusMessage(body);
  if (message === undefined) return null;
  const passedOn = passedOnBy(error);
  if (passedOn) return passedOn;
  const violations = fieldsInEach(error?.details).map(({ fieldViolations }) => firstFieldsIn(fieldViolations));
  const located = Array.isArray(first?.loc) ? first.loc.filter((part) => part !== 'body').join('.') : undefined;
  const violated = violations.map((violation) => textIn(violation?.field)).find((field) => field !== undefined);
  const param = textIn(error?.param) ?? violated ?? textIn(located);
  return { message, ...(param !== undefined && { param }) };
}

/** MiniMax's words. */
const statusMessage = (body: EventFields | null): string | undefined => textIn(fieldsIn(body?.base_resp)?.status_msg);

/** What the provider behind OpenRouter says, whose own message is "Provider returned error" (`metadata.raw`); null if there is none. */
function passedOnBy(error: EventFields | null): ReportedRefusal | null {
  const raw = textIn(fieldsIn(error?.metadata)?.raw);
  if (raw === undefined) return null;
  try {
    return reportedRefusal(JSON.parse(raw));
  } catch {
    return { message: raw };
  }
}
