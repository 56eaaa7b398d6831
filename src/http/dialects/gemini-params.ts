import { GatewayError } from '../../domain/errors.ts';

/**
 * A refusal of the checks that all dialects share, its field named as a Gemini client knows it. Everything else is given
 * back as it is: what the Gemini reader itself refused is in these words already.
 */
export function inGeminiWords(error: unknown): unknown {
  const word = error instanceof GatewayError && error.param !== undefined ? geminiWords[error.param] : undefined;
  if (!(error instanceof GatewayError) || error.param === undefined || word === undefined) return error;
  const { code, param, retryAfterSeconds, shouldRetry, taskId, cause } = error;
  const message = error.message.replaceAll(new RegExp(`\\b${param}\\b`, 'g'), word);
  return new GatewayError(code, { message, param: word, retryAfterSeconds, shouldRetry, taskId, cause });
}

const geminiWords: Readonly<Partial<Record<string, string>>> = {
  messages: 'contents',
  prompt: 'contents',
  image: 'contents',
  reference_images: 'contents',
  max_tokens: 'generationConfig.maxOutputTokens',
  temperature: 'generationConfig.temperature',
  top_p: 'generationConfig.topP',
  top_k: 'generationConfig.topK',
  stop: 'generationConfig.stopSequences',
  seed: 'generationConfig.seed',
  response_format: 'generationConfig.responseMimeType',
  aspect_ratio: 'generationConfig.imageConfig.aspectRatio',
  img_size: 'generationConfig.imageConfig.imageSize',
};
