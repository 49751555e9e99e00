// What a git-declared object cannot show: the hub refuses the newest commit, or sync reads the repository in place and nothing is pushed. The hub is the
// object's own server, or another one that the reader can reach.
import { type FleetSource, fleetSource } from '#api/kinds/fleet-source.ts'
import type { Release } from '#api/kinds/release.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { shellWord } from '#lib/shell-word.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { isLocal } from '#sync/git/local-url.ts'
import { refusalOf, refusalText } from './attention/source-findings.ts'
import { type Finding, rewritten, type Story } from './finding.ts'
import { withoutPush } from './unblock.ts'
import { ALL_DONE } from './why.ts'

/** Limit for one request to one server. */
const WITHIN_MS = 3_000

type Reader = Pick<KubeClient, 'get' | 'list'>

export interface OtherCluster {
  readonly context: string
  readonly read: <T>(question: (client: Reader) => Promise<T>) => Promise<T>
}

interface FoundSource {
  readonly source: FleetSource
  /** Undefined: on the object's own server. */
  readonly context: string | undefined
}

/** These kinds show themselves whether a commit is followed; their source shows where the repository is. */
const EXPLAINS_ITSELF: ReadonlySet<string> = new Set(['FleetSource', 'Release', 'Cluster'])

function sourceOf(object: KubeObject): { readonly namespace: string; readonly name: string } | undefined {
  const { kind, metadata } = object
  if (kind === 'FleetSource') return { namespace: metadata.namespace ?? '', name: metadata.name ?? '' }
  if (kind === 'Release') return { namespace: metadata.namespace ?? '', name: (object as Release).spec.source }
  const [namespace = '', name = ''] = (metadata.annotations?.[ANNOTATIONS.source] ?? '').split('/')
  return name === '' ? undefined : { namespace, name }
}

/** Undefined: git does not declare the object. `Unknown`: no reachable server has its source. */
async function findSource(
  object: KubeObject,
  own: Reader,
  others: () => Promise<readonly OtherCluster[]>,
): Promise<FoundSource | 'Unknown' | undefined> {
  const key = sourceOf(object)
  if (key === undefined) return undefined
  const ask = (client: Reader) => client.get(fleetSource, key, { timeoutMs: WITHIN_MS }).catch(() => undefined)
  const here = await ask(own)
  if (here !== undefined) return { source: here, context: undefined }
  // These kinds are on the same server as their source.
  if (EXPLAINS_ITSELF.has(object.kind)) return 'Unknown'
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
  others: () => Promise<readonly OtherCluster[]>,
): Promise<Story> {
  const found = await findSource(object, own, others)
  if (found === undefined) return story
  const shown = found !== 'Unknown' && isLocal(found.source.spec.url) ? rewritten(story, withoutPush) : story
  if (EXPLAINS_ITSELF.has(object.kind)) return shown
  const more = found === 'Unknown' ? unknown(object) : refused(found)
  if (more === undefined) return shown
  const below = (shown.below ?? []).filter(({ text }) => found === 'Unknown' || text !== ALL_DONE)
  return { ...shown, below: [...below, more] }
}

function refused({ source, context }: FoundSource): Finding | undefined {
  const refusal = refusalOf(source)
  if (refusal === undefined) return undefined
  const { name = '' } = source.metadata
  const place = context === undefined ? '' : ` --context ${shellWord(context)}`
  return {
    text: `As the last commit that was followed declares it; the newest one is not followed: ${refusalText(name, refusal).split('\n')[0] ?? ''}`,
    cause: `source/${name}/${refusal.reason}`,
    urgency: 'Blocked',
    command: { line: `kubenode why source/${name}${place}`, does: 'see why' },
  }
}

const unknown = (object: KubeObject): Finding => ({
  text: `Not known: whether the hub follows the newest commit; no context that answers has source/${sourceOf(object)?.name ?? ''}`,
})
