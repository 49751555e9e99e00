// Arguments of programs, made and read.

/** `--name=value` for each. */
export const asFlags = (values: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(values).map(([flag, value]) => `--${flag}=${value}`)

/** For an option that may be given several times: each value joins those before it. */
export const repeated = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]
