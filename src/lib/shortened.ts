// Texts for a field with a limit: what is left out is marked.

/** At most so many characters, as servers count them: half of one is no text. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text
  const characters = [...text]
  return characters.length <= most ? text : `${characters.slice(0, Math.max(0, most - 1)).join('')}…`
}
