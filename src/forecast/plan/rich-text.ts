// Text with marked names and untrusted parts, so that a terminal, a Markdown comment and a page can each render it their way. Pure.

/** A plain string is trusted. */
export type RichText = readonly (string | { readonly name: string } | { readonly text: string })[]

/** Untrusted text, such as a reason from an inventory. */
export const text = (of: string): RichText => [{ text: of }]

/** Trusted text, such as a count with its noun. */
export const own = (of: string): RichText => [of]

/** `` words`set ${'base'} waits` ``: an inserted string is a name, an inserted number is text. */
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

/** For terminals and pages: names stay as they are. */
export const plainOf = (of: RichText): string =>
  of.map((part) => (typeof part === 'string' ? part : 'name' in part ? part.name : part.text)).join('')
