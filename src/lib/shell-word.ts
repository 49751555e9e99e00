// A word of a command that people paste into a shell: as it is where no shell reads anything into it, otherwise quoted.
export const shellWord = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
