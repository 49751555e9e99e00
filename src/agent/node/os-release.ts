// Pure: reads os-release(5), which names the distribution of a host.

export interface Distribution {
  /** `debian`, `rhel`. */
  readonly id: string
  /** Distributions that it is made from, nearest first. */
  readonly like: readonly string[]
  /** Absent on rolling releases. */
  readonly version?: string
  /** For people: `Debian GNU/Linux 12 (bookworm)`. */
  readonly name: string
}

const MAX_CHARS = 16_384
const MAX_VALUE_CHARS = 128
const MAX_LIKE = 8
const WORD = /^[a-z0-9._-]{1,64}$/

/** Undefined if the file names no distribution: a guess could let a version onto the wrong host. */
export function parseOsRelease(text: string): Distribution | undefined {
  const values = new Map<string, string>()
  for (const line of text.slice(0, MAX_CHARS).split('\n')) {
    const [, name, value] = /^([A-Z][A-Z0-9_]*)=(.*)$/.exec(line.trim()) ?? []
    if (name !== undefined && value !== undefined) values.set(name, unquoted(value).slice(0, MAX_VALUE_CHARS))
  }
  const id = values.get('ID') ?? ''
  if (!WORD.test(id)) return undefined
  const like = (values.get('ID_LIKE') ?? '')
    .split(/\s+/)
    .filter((word) => WORD.test(word))
    .slice(0, MAX_LIKE)
  const version = values.get('VERSION_ID') ?? ''
  return { id, like, ...(WORD.test(version) && { version }), name: values.get('PRETTY_NAME') ?? id }
}

const unquoted = (value: string): string =>
  (/^(["'])(.*)\1$/.exec(value)?.[2] ?? value).replaceAll(/\\(["'$`\\])/g, '$1')
