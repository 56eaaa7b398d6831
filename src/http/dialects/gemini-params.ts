import { GatewayError } from '../../domain/errors.ts';

/**
 * Renames the field of a refusal by the shared checks to Gemini's name of it. Other errors pass unchanged: refusals of the Gemini
 * reader already use Gemini's names.
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
