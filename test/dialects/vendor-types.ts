import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import type { z } from 'zod';
import type { finishedResponse } from '../../src/http/dialects/responses/responses-reply.ts';
import type { AnthropicMessage, TokenCount } from '../../src/http/openapi/schemas/anthropic-message.ts';
import type { ResponseTokens } from '../../src/http/openapi/schemas/openai-response.ts';
import type { DeletedVideo } from '../../src/http/openapi/schemas/openai-videos.ts';

/** Compiles only if what we send is what the SDK declares. */
type Is<Declared, Sent extends Declared> = [Declared, Sent];
/** The names of the members that are always there. */
type Always<T> = keyof { [Name in keyof T as T extends Record<Name, unknown> ? Name : never]: unknown };

/**
 * The compiler holds our answers to the types of the vendors' SDKs, as test/http/dialects/vendor-models.test.ts does with models. Strict clients, such as those for Java with `responseValidation`, refuse an
 * answer that lacks a member which the vendor always sends.
 */
export type VendorTypes = [
  Is<Anthropic.Message, z.input<typeof AnthropicMessage>>,
  Is<Anthropic.MessageTokensCount, z.input<typeof TokenCount>>,
  Is<OpenAI.VideoDeleteResponse, z.input<typeof DeletedVideo>>,
  Is<OpenAI.Responses.InputTokenCountResponse, z.input<typeof ResponseTokens>>,
  // Members of the request are repeated in it, of any type. The SDK itself adds `output_text`.
  Is<Record<Exclude<Always<OpenAI.Responses.Response>, 'output_text'>, unknown>, ReturnType<typeof finishedResponse>>,
];
