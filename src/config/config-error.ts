/** An invalid configuration. The message names each variable at fault, never its value. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(`The configuration is not usable:\n${[...new Set(problems)].join('\n')}`);
  }
}
