import { inWords } from '../dialect-words.ts';
import { optionalWords } from '../optional-fields.ts';

/** Refusals of the shared checks in Gemini's words. */
export const inGeminiWords = (error: unknown): unknown => inWords(geminiWords, error);

export const geminiWords = {
  messages: 'contents',
  prompt: 'contents',
  image: 'contents',
  reference_images: 'contents',
  max_tokens: 'generationConfig.maxOutputTokens',
  temperature: 'generationConfig.temperature',
  top_p: 'generationConfig.topP',
  ...optionalWords('gemini', 'generationConfig.'),
  presence_penalty: 'generationConfig.presencePenalty',
  frequency_penalty: 'generationConfig.frequencyPenalty',
  response_format: 'generationConfig.responseMimeType',
  thinking: 'generationConfig.thinkingConfig',
  reasoning_effort: 'generationConfig.thinkingConfig',
  aspect_ratio: 'generationConfig.imageConfig.aspectRatio',
  'tools.*': 'tools.0.functionDeclarations.*',
  'tools.*.function.parameters': 'tools.0.functionDeclarations.*.parameters',
  img_size: 'generationConfig.imageConfig.imageSize',
};
