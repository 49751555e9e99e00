// What an object that git declares cannot tell: the hub refuses the newest commit. The hub is this server, or another context of the kubeconfig.
import { type FleetSource, fleetSource } from '#api/kinds/fleet-source.ts'
import type { Release } from '#api/kinds/release.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { refusalOf, refusalText } from '#explain/attention/change-findings.ts'
import { rewritten, type Story, type Finding } from '#explain/finding.ts'
import { withoutPush } from '#explain/unblock.ts'
import { shellWord } from '#lib/shell-word.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { isLocal } from '#sync/git/local-url.ts'
import type { Io } from '#lib/terminal/io.ts'
import { clientOf } from '#programs/run/connect.ts'
import { foundContexts, type Wanted } from '#programs/run/all-connections.ts'

/** Of one question to one context. */
const WITHIN_MS = 3_000
/** A kubeconfig with more contexts is not searched for the hub. */
const MOST_CONTEXTS = 32

export type Reader = Pick<KubeClient, 'get' | 'list'>

/** Of the kubeconfig that the user named, but for the context that was named. */
export const contextsBeside = (
  { kubeconfig, context }: { readonly kubeconfig?: string; readonly context?: string },
  { env, cwd }: Pick<Io, 'env' | 'cwd'>,
): Promise<readonly OtherContext[]> =>
  otherContexts({ file: kubeconfig, contexts: context === undefined ? [] : [context], env, cwd })

export interface OtherContext {
  readonly context: string
  readonly read: <T>(question: (client: Reader) => Promise<T>) => Promise<T>
}

async function otherContexts(wanted: Wanted): Promise<readonly OtherContext[]> {
  const found = await foundContexts({ ...wanted, contexts: [] }).catch(() => [])
  return found.slice(0, MOST_CONTEXTS).flatMap((one) =>
    'problem' in one
      ? []
      : [
          {
            context: one.context,
            read: async (question) => {
              const client = clientOf(one.config, 'kubenode-cli')
              try {
                return await question(client)
              } finally {
                client.close()
              }
            },
          },
        ],
  )
}

interface FoundSource {
  readonly source: FleetSource
  /** Undefined: of this server. */
  readonly context: string | undefined
}

const sourceOf = ({
  kind,
  metadata,
}: KubeObject): { readonly namespace: string; readonly name: string } | undefined => {
  const [namespace = '', name = ''] = (metadata.annotations?.[ANNOTATIONS.source] ?? '').split('/')
  // A Release and a Cluster tell it themselves.
  return name === '' || kind === 'Release' || kind === 'Cluster' ? undefined : { namespace, name }
}

/** Undefined: git does not declare the object. `Unknown`: no context that answers has its source. */
async function findSource(
  object: KubeObject,
  own: Reader,
  others: () => Promise<readonly OtherContext[]>,
): Promise<FoundSource | 'Unknown' | undefined> {
  const key = sourceOf(object)
  if (key === undefined) return undefined
  const ask = (client: Reader) => client.get(fleetSource, key, { timeoutMs: WITHIN_MS }).catch(() => undefined)
  const here = await ask(own)
  if (here !== undefined) return { source: here, context: undefined }
  const all = await Promise.all(
    (await others()).map(async ({ context, read }) => ({ context, source: await read(ask).catch(() => undefined) })),
  )
  const there = all.find(({ source }) => source !== undefined)
  return there?.source === undefined ? 'Unknown' : { source: there.source, context: there.context }
}

export async function withHub(
  story: Story,
  object: KubeObject,
  own: Reader,
  others: () => Promise<readonly OtherContext[]>,
): Promise<Story> {
  const found =
    object.kind === 'Release' ? await sourceOfRelease(object as Release, own) : await findSource(object, own, others)
  if (found === undefined) return story
  const told = found !== 'Unknown' && isLocal(found.source.spec.url) ? withoutPushes(story) : story
  if (object.kind === 'Release') return told
  const more = found === 'Unknown' ? unknownTold(object) : refusedTold(found)
  if (more === undefined) return told
  const below = (told.below ?? []).filter(({ text }) => found === 'Unknown' || text !== ALL_DONE)
  return { ...told, below: [...below, more] }
}

const withoutPushes = (story: Story): Story => ({ ...rewritten(story, withoutPush), object: story.object })

/** It tells itself whether its commit is followed; its source tells where the repository is. */
async function sourceOfRelease({ metadata, spec }: Release, own: Reader): Promise<FoundSource | undefined> {
  const key = { namespace: metadata.namespace ?? '', name: spec.source }
  const source = await own.get(fleetSource, key, { timeoutMs: WITHIN_MS }).catch(() => undefined)
  return source === undefined ? undefined : { source, context: undefined }
}

/** What a story says that has found nothing; it is not true of a commit that was refused. */
const ALL_DONE = 'Up to date; nothing pending.'

function refusedTold({ source, context }: FoundSource): Finding | undefined {
  const refusal = refusalOf(source)
  if (refusal === undefined) return undefined
  const { name = '' } = source.metadata
  const place = context === undefined ? '' : ` --context ${shellWord(context)}`
  return {
    text: `As the last commit that was followed declares it; the newest one is not followed: ${refusalText(name, refusal).split('\n')[0] ?? ''}`,
    urgency: 'Blocked',
    command: { line: `kubenode why source/${name}${place}`, does: 'see why' },
  }
}

const unknownTold = (object: KubeObject): Finding => {
  const { name = '' } = sourceOf(object) ?? {}
  return {
    text: `Not known: whether the hub follows the newest commit; no context that answers has source/${name}`,
  }
}
