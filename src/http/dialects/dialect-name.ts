/** The dialects of error bodies. */
export type DialectName = 'openai' | 'anthropic' | 'gemini' | 'legacy' | 'legacy_data' | 'mcp';
