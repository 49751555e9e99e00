// Strips characters from the ends of a text. A pattern anchored only at the end, such as /-+$/, restarts at each character of a run inside the text, and takes
// minutes for a megabyte.

/** `char` matches one character, without flags. */
export function withoutEnd(text: string, char: RegExp): string {
  let to = text.length
  while (to > 0 && char.test(text.charAt(to - 1))) to--
  return text.slice(0, to)
}

/** `char` matches one character, without flags. */
export function withoutEnds(text: string, char: RegExp): string {
  let from = 0
  while (from < text.length && char.test(text.charAt(from))) from++
  return withoutEnd(text.slice(from), char)
}
