// Which parts the machines of a class have: `h100-8 gpu=8 infiniband=8 nvme=4`, the class (a trailing `*` matches any rest) and at least how many of each kind.

export const PART_KINDS = ['gpu', 'infiniband', 'network', 'nvme'] as const
export type PartKind = (typeof PART_KINDS)[number]

export type PartCounts = ReadonlyMap<PartKind, number>

export interface ClassParts {
  readonly class: string
  readonly parts: PartCounts
}

const MAX_TEXT = 256
/** The class is the value of a label. */
const ENTRY = /^([A-Za-z0-9][A-Za-z0-9._-]{0,62}\*?|\*)((?: [a-z]+=[1-9]\d{0,2})+)$/

/** Undefined: the text is no such entry. */
export function classParts(text: string): ClassParts | undefined {
  const [, name, counts] = text.length <= MAX_TEXT ? (ENTRY.exec(text) ?? []) : []
  if (name === undefined || counts === undefined) return undefined
  const parts = new Map<PartKind, number>()
  for (const one of counts.trim().split(' ')) {
    const [word = '', count] = one.split('=')
    const kind = PART_KINDS.find((k) => k === word)
    if (kind === undefined || parts.has(kind)) return undefined
    parts.set(kind, Number(count))
  }
  return { class: name, parts }
}

/** What is listed for the class: the entry that names it, otherwise the longest one that its name begins with. */
export function partsOfClass(entries: readonly string[], name: string): PartCounts | undefined {
  const known = entries.flatMap((text) => classParts(text) ?? [])
  const exact = known.find((entry) => entry.class === name)
  const matching = known.filter((entry) => entry.class.endsWith('*') && name.startsWith(entry.class.slice(0, -1)))
  return (exact ?? matching.toSorted((a, b) => b.class.length - a.class.length)[0])?.parts
}
