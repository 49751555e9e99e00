// The object that a command holds. A bare name is searched among the kinds the command can hold.
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { type ServerOptions, connect } from './connect.ts'
import { isKindWord } from './target.ts'
import type { Io } from '#lib/terminal/io.ts'

interface Search {
  /** As typed, for the list of suggestions. */
  readonly command: string
  readonly nouns: readonly string[]
}

/** `base` becomes `set/base`; a word with a kind, or a kind itself, is returned unchanged. */
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
