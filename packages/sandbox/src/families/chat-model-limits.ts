import type { Fields } from '../chat.ts';

/**
 * Parameters that models of the shipped catalog refuse at chat completions, so that tests notice a mapping that sends them. Read on
 * 2026-11-22: litellm 1.109.1 (GPT-5), https://platform.kimi.ai/docs/api/models-overview (Kimi K2.6 and K3.1), and
 * @ai-sdk/xai 5.0.12 (Grok 4).
 */
const limits: readonly { model: RegExp; only: Record<string, unknown> }[] = [
  // By parameter, the one value that is taken; undefined if the parameter is refused as a whole.
  { model: /^gpt-5-mini/, only: { temperature: 1, top_p: undefined, top_k: undefined, stop: undefined } },
  { model: /^kimi-k/, only: { temperature: 1, top_p: 0.95 } },
  { model: /^grok-4/, only: { stop: undefined } },
];

/** The first parameter that the model would refuse, or undefined. */
export function refusedParameter(model: string, input: Fields): string | undefined {
  const only = limits.find((each) => each.model.test(model))?.only ?? {};
  return Object.keys(only).find((key) => input[key] !== undefined && input[key] !== only[key]);
}

/** The complaint of OpenAI's own models about more tools than they take, in its words; null if there is none. */
export function tooManyTools(model: string, tools: unknown): string | null {
  if (!/^gpt-/.test(model) || !Array.isArray(tools) || tools.length <= openaiToolsMax) return null;
  return (
    `Invalid 'tools': array too long. Expected an array with maximum length ${openaiToolsMax}, but got an array with length ` +
    `${tools.length} instead.`
  );
}
const openaiToolsMax = 128;

/** The values of `reasoning_effort` that OpenAI's models take, from pages that quote their documents (read on 2026-11-27). */
const takenEfforts: readonly { model: RegExp; efforts: readonly string[] }[] = [
  { model: /^gpt-6\.1-sol/, efforts: ['low', 'medium', 'high', 'xhigh', 'max'] },
  { model: /^gpt-6(?:\.1-terra|-luna)/, efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] },
  { model: /^gpt-5-mini/, efforts: ['minimal', 'low', 'medium', 'high'] },
];

/** The complaint of OpenAI's own models about an effort that they lack, in its words; null if there is none. */
export function lackedEffort(model: string, effort: unknown): string | null {
  const efforts = takenEfforts.find((each) => each.model.test(model))?.efforts;
  if (typeof effort !== 'string' || efforts?.includes(effort) !== false) return null;
  const values = efforts.map((each) => `'${each}'`).join(', ');
  return `Unsupported value: '${effort}' is not supported with the '${model}' model. Supported values are: ${values}.`;
}
