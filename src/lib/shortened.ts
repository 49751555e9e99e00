// Texts for a field with a limit; a cut is marked.

/** At most this many characters as servers count them, never half a character. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text
  const characters = [...text]
  return characters.length <= most ? text : `${characters.slice(0, Math.max(0, most - 1)).join('')}…`
}
