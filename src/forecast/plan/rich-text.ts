// Our own words with names and texts of others in them, marked, so that a terminal, a comment in Markdown and a page each show them in their own way. Pure.

/** A string is ours. */
export type RichText = readonly (string | { readonly name: string } | { readonly text: string })[]

/** Words of others, such as a reason that an inventory gives. */
export const text = (of: string): RichText => [{ text: of }]

/** Ours, such as a count with its noun. */
export const own = (of: string): RichText => [of]

/** `` words`set ${'base'} waits` ``: a string that is inserted is a name, a number is text. */
export const rich = (texts: TemplateStringsArray, ...inserted: readonly (string | number | RichText)[]): RichText =>
  texts.flatMap((part, i): RichText => {
    const value = inserted[i]
    const after = typeof value === 'string' ? [{ name: value }] : typeof value === 'number' ? [String(value)] : value
    return [...(part === '' ? [] : [part]), ...(after ?? [])]
  })

/** `a, b, c and 4 more`. */
export function someTexts(all: readonly RichText[], most: number): RichText {
  const shown = all.slice(0, most).flatMap((one, i) => (i === 0 ? one : [', ', ...one]))
  return all.length <= most ? shown : [...shown, ` and ${all.length - most} more`]
}

export const names = (all: readonly string[], most: number): RichText =>
  someTexts(
    all.map((name) => [{ name }]),
    most,
  )

/** For terminals and pages: a name is what it is. */
export const plainOf = (of: RichText): string =>
  of.map((part) => (typeof part === 'string' ? part : 'name' in part ? part.name : part.text)).join('')
