// The object of a hold as its commands take it: a name without a kind is looked for among what the command holds.
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { type ServerOptions, connect } from './connect.ts'
import { isKindWord } from './target.ts'
import type { Io } from '#lib/terminal/io.ts'

interface Search {
  /** As typed, for the list of commands. */
  readonly command: string
  readonly nouns: readonly string[]
}

/** `base` becomes `set/base`; what names its kind, or is one, is returned as it is. */
export async function withItsKind(
  what: string,
  { command, nouns }: Search,
  options: ServerOptions,
  io: Io,
): Promise<string> {
  if (what.includes('/') || isKindWord(what)) return what
  const { withKinds } = await import('./by-name.ts')
  const client = await connect(options, io)
  const [found] = await withKinds([{ name: what }], { client, namespace: SYSTEM_NAMESPACE, command, nouns })
  return found === undefined ? what : `${found.noun}/${found.name}`
}
