import type { JsonObject } from '../../domain/json.ts';
import { JsonRecord } from './chat-fields.ts';

/** The arguments of a tool call as an object. Null if the model wrote something else. */
export function callArguments(text: string): JsonObject | null {
  try {
    return JsonRecord.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
