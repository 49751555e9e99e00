// Builds and reads program arguments.

/** `--name=value` for each. */
export const asFlags = (values: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(values).map(([flag, value]) => `--${flag}=${value}`)

/** For a repeatable option: each value is appended to the previous ones. */
export const repeated = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]
