// A word of a command that people paste into a shell: as it is where no shell reads anything into it, otherwise quoted.
export const shellWord = (text: string): string => (/^[\w./:@%+=,-]+$/.test(text) ? text : quoted(text))

/** One word of the shell, whatever is in it. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`
