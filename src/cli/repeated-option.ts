// Reads options of the command line.
/** For an option that may be given several times: each value joins those before it. */
export const repeated = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]
