// Parses the XML of the AWS query protocol: elements and text. Refuses what such responses never contain (DTDs, custom entities, comments, unbalanced or mixed
// content); fetches and expands nothing.

/** An element with children, or text. */
export type Xml = string | { readonly [name: string]: readonly Xml[] }

/** AWS responses nest nine deep. */
const MAX_DEPTH = 32
/** A page of a thousand hosts has about four hundred thousand. */
const MAX_ELEMENTS = 1_000_000

const NAME = /[A-Za-z_][\w.-]*/y
/** Attributes are allowed where the vendor uses one: the namespace. */
const ATTRIBUTES = /(?:\s+[A-Za-z_][\w.:-]*="[^"<]*")*\s*/y
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

class BadXml extends Error {}

/** The root element as `{ [name]: [content] }`; undefined if the text cannot be parsed. */
export function parseXml(text: string): { readonly [name: string]: readonly Xml[] } | undefined {
  try {
    return new Reader(text).document()
  } catch (e) {
    if (e instanceof BadXml) return undefined
    throw e
  }
}

class Reader {
  readonly #text: string
  #at = 0
  #elements = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): { readonly [name: string]: readonly Xml[] } {
    this.#skipSpace()
    if (this.#text.startsWith('<?xml', this.#at)) {
      this.#at = this.#find('?>') + 2
      this.#skipSpace()
    }
    const [name, content] = this.#element(0)
    this.#skipSpace()
    if (this.#at !== this.#text.length) throw new BadXml()
    return ownRecord([[name, content]])
  }

  #element(depth: number): readonly [string, Xml] {
    if (depth > MAX_DEPTH || ++this.#elements > MAX_ELEMENTS) throw new BadXml()
    this.#expect('<')
    const name = this.#match(NAME)
    this.#match(ATTRIBUTES)
    if (this.#text.startsWith('/>', this.#at)) {
      this.#at += 2
      return [name, '']
    }
    this.#expect('>')
    const children: (readonly [string, Xml])[] = []
    let text = ''
    while (!this.#text.startsWith('</', this.#at)) {
      if (this.#text[this.#at] === '<') children.push(this.#element(depth + 1))
      else text += this.#characters()
    }
    this.#expect(`</${name}`)
    this.#skipSpace()
    this.#expect('>')
    if (children.length === 0) return [name, unescaped(text)]
    if (text.trim() !== '') throw new BadXml()
    return [name, ownRecord(children)]
  }

  #characters(): string {
    const start = this.#at
    this.#at = this.#find('<')
    return this.#text.slice(start, this.#at)
  }

  #find(what: string): number {
    const at = this.#text.indexOf(what, this.#at)
    if (at < 0) throw new BadXml()
    return at
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const [found] = pattern.exec(this.#text) ?? []
    if (found === undefined) throw new BadXml()
    this.#at += found.length
    return found
  }

  #expect(what: string): void {
    if (!this.#text.startsWith(what, this.#at)) throw new BadXml()
    this.#at += what.length
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++
  }
}

/** Works for any name, including `__proto__`. */
function ownRecord(children: readonly (readonly [string, Xml])[]): { readonly [name: string]: readonly Xml[] } {
  const record: Record<string, Xml[]> = Object.create(null) as Record<string, Xml[]>
  for (const [name, value] of children) (record[name] ??= []).push(value)
  return record
}

const unescaped = (text: string): string =>
  text.replace(/&([^;&]{0,10});|&/g, (_, name: string | undefined) => {
    const known = name === undefined || !Object.hasOwn(ENTITIES, name) ? undefined : ENTITIES[name]
    if (known !== undefined) return known
    const [, hex, decimal] = /^#(?:x([0-9A-Fa-f]{1,6})|([0-9]{1,7}))$/.exec(name ?? '') ?? []
    const code = hex === undefined ? Number(decimal ?? Number.NaN) : Number.parseInt(hex, 16)
    if (!(code >= 0 && code <= 0x10_ff_ff)) throw new BadXml()
    return String.fromCodePoint(code)
  })

/** The first element at the path, or undefined. */
export const xmlAt = (value: Xml | undefined, ...path: readonly string[]): Xml | undefined =>
  path.reduce<Xml | undefined>((v, name) => (typeof v === 'object' ? v[name]?.[0] : undefined), value)

export const xmlText = (value: Xml | undefined, ...path: readonly string[]): string | undefined => {
  const found = xmlAt(value, ...path)
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** A vendor list is `<xSet><item>…</item></xSet>`. Undefined if there is no such list; an empty element is an empty list. */
export const xmlItems = (value: Xml | undefined, ...path: readonly string[]): readonly Xml[] | undefined => {
  const found = xmlAt(value, ...path)
  if (found === undefined) return undefined
  return typeof found === 'string' ? [] : (found['item'] ?? [])
}
