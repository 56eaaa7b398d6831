import { z } from 'zod';
import { GatewayError } from '../../domain/errors.ts';
import { anyJson } from '../request/validate.ts';

/** What the provider itself runs, a tool or a compaction, or an item of such a tool, where it stands in the request. */
export interface ProviderPart {
  path: string;
  /** Its type in the words of the vendor, such as `web_search`. */
  kind: string;
  /** The field that a refusal names, if it is not the type. */
  param?: string;
}

/** Such a tool in a request of OpenAI's dialects. Its fields are of no interest, because it is not offered. */
export const OpenaiProviderTool = z
  .object({ type: z.string().min(1).max(200) })
  .catchall(anyJson)
  .transform(({ type }) => ({ type: 'provider' as const, kind: type }));

/**
 * The names of tools that a provider would run, which are not offered here because the catalog has no price for them. They are left out of a
 * tolerant request that lets the model choose. Throws `unsupported_parameter` for a strict request, and for one that forces a tool.
 */
export function leftOutTools(
  found: readonly ProviderPart[],
  { isStrict, isForced }: { isStrict: boolean; isForced: boolean },
): string[] {
  const [first] = found;
  if (first && (isStrict || isForced)) {
    const advice = isForced && !isStrict ? ' Without a forced tool_choice it is left out.' : '';
    throw new GatewayError('unsupported_parameter', {
      param: first.param ?? `${first.path}.type`,
      message: `${first.path}: the tool ${shortened(first.kind)} is run by the provider, which is not offered here.${advice}`,
    });
  }
  return found.map(named);
}

/** The names of such parts that are no tools: earlier calls and results, and compactions. Throws `unsupported_parameter` for a strict request. */
export function leftOutHistory(found: readonly ProviderPart[], { isStrict }: { isStrict: boolean }): string[] {
  const [first] = found;
  if (first && isStrict) {
    throw new GatewayError('unsupported_parameter', {
      param: first.param ?? `${first.path}.type`,
      message: `${first.path}: ${shortened(first.kind)} belongs to what the provider runs itself, which is not offered here.`,
    });
  }
  return found.map(named);
}

/** The refusal of a `tool_choice` that forces such a tool. */
export const forcedProviderTool = (kind: string): GatewayError =>
  new GatewayError('unsupported_parameter', {
    param: 'tool_choice',
    message: `tool_choice: the tool ${shortened(kind)} is run by the provider, which is not offered here.`,
  });

const named = ({ path, kind }: ProviderPart): string => `${path}.${shortened(kind)}`;
const shortened = (kind: string): string => kind.slice(0, 64);
