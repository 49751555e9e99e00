// A word for pasting into a shell: unchanged if it has no special characters, otherwise quoted.
export const shellWord = (text: string): string => (/^[\w./:@%+=,-]+$/.test(text) ? text : quoted(text))

/** A single shell word, whatever it contains. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`
