// Arguments of programs.

/** `--name=value` for each. */
export const asFlags = (values: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(values).map(([flag, value]) => `--${flag}=${value}`)
