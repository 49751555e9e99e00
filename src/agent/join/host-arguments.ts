// Parses the words after `agent.mjs join` and `agent.mjs leave`. A word that it does not understand is reported, and nothing is done.
import { parseArgs } from 'node:util'

type Kind = 'boolean' | 'string'

export type HostArguments<K extends string> =
  | {
      readonly kind: 'Words'
      readonly flags: ReadonlySet<K>
      readonly values: Readonly<Partial<Record<K, string>>>
      readonly plain: readonly string[]
    }
  | { readonly kind: 'Wrong'; readonly word: string; readonly why: string }

/** `plain`: the maximum number of words that are not options. */
export function hostArguments<K extends string>(
  args: readonly string[],
  known: Readonly<Record<K, Kind>>,
  plain: number,
): HostArguments<K> {
  const options = Object.fromEntries(Object.entries<Kind>(known).map(([name, type]) => [name, { type }]))
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true, allowPositionals: true })
  const flags = new Set<K>()
  const values: Partial<Record<K, string>> = {}
  const parts: string[] = []
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue
    if (token.kind === 'positional') {
      parts.push(token.value)
      continue
    }
    const { name, rawName: word, value } = token
    if (!isKnown(known, name)) return { kind: 'Wrong', word, why: 'it is not known' }
    if (known[name] === 'boolean') {
      if (value !== undefined) return { kind: 'Wrong', word, why: 'it takes no value' }
      flags.add(name)
      continue
    }
    if (value === undefined || value === '' || (!token.inlineValue && value.startsWith('-')))
      return { kind: 'Wrong', word, why: 'its value is missing' }
    values[name] = value
  }
  // Not shown: the word may be part of a join bundle, which is a secret.
  if (parts.length > plain) return { kind: 'Wrong', word: `word ${plain + 1}`, why: 'no such word is expected' }
  return { kind: 'Words', flags, values, plain: parts }
}

const isKnown = <K extends string>(known: Readonly<Record<K, Kind>>, name: string): name is K =>
  Object.hasOwn(known, name)
