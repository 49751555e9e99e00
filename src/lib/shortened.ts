// Texts for a field with a limit: what is left out is marked.

/** At most so many characters. */
export const shortened = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, Math.max(0, most - 1))}…`
