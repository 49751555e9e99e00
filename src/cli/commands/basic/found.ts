// The objects for describe, why and trace, with what explains them. A missing name is reported after the objects that were found.
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { Story } from '#explain/finding.ts'
import { type NamespaceOptions, type ServerOptions, connectionTo } from '../../fleet/connect.ts'

export interface ShowOptions extends ServerOptions, NamespaceOptions {}

export interface Found {
  readonly client: KubeClient
  readonly object: KubeObject
}

export interface AllFound {
  readonly found: readonly Found[]
  /** Errors about missing objects, reported after the found ones. */
  readonly missed: unknown[]
}

/** Parses all words before any request. */
export async function findAll(
  command: string,
  words: readonly string[],
  options: ShowOptions,
  io: Io,
): Promise<AllFound> {
  const [{ namedAll }, { findObject, shownNamespace }, { eachOf }] = await Promise.all([
    import('../../fleet/target.ts'),
    import('#explain/objects/find-object.ts'),
    import('../../fleet/missed.ts'),
  ])
  const all = namedAll(words)
  const { client, namespace: ofContext } = await connectionTo(options, io)
  const namespace = shownNamespace(options.namespace, ofContext)
  const search = { client, namespace, command }
  const { withKinds } = await import('../../fleet/by-name.ts')
  const missed: unknown[] = []
  const each = all.map(async (one) =>
    Promise.all(
      (await withKinds([one], search)).map(async ({ type, name, noun }) => ({
        client,
        object: await findObject(client, type, { name, namespace }, noun),
      })),
    ),
  )
  const found = (await eachOf(each, missed)).flat()
  if (found.length === 0) await reportMissed(missed, io)
  return { found, missed }
}

export const reportMissed = async (missed: readonly unknown[], io: Io): Promise<void> =>
  (await import('../../fleet/missed.ts')).reportMissed(missed, io)

export async function storyOf({ client, object }: Found): Promise<Story> {
  const { readWhy } = await import('#explain/read-why.ts')
  return readWhy(client, object, Date.now())
}

/** Programs that should process these objects but do not run. */
export async function storiesOfPrograms(found: readonly Found[]): Promise<readonly Story[]> {
  const [first] = found
  if (first === undefined) return []
  const { stoppedPrograms, stoppedStories } = await import('#explain/running-programs.ts')
  const kinds = found.map(({ object }) => object.kind ?? '')
  return stoppedStories(await stoppedPrograms(first.client, kinds), Date.now())
}
