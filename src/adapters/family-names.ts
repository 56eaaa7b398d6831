/** The names of all provider families, for code that must not load their adapters. `adapterFamilies` is typed by them, so one that it lacks does not compile. */
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
