/** The names of all provider families, for what must not load their adapters. The compiler holds `adapterFamilies` to it. */
export const familyNames = [
  'fal',
  'openai',
  'gemini',
  'anthropic',
  'replicate',
  'seedance',
  'kling',
  'xai',
  'dashscope',
  'minimax',
  'runway',
  'tollgate',
] as const;
