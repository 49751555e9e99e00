// What every control plane on the hub gets before sync reaches it: the kinds, namespaces, roles and policies of KubeNode. By server-side apply in the order in which
// they need each other, so that a second time, also after a break, changes nothing.
import { createHash } from 'node:crypto'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { typeOf } from '#kube/installed-type.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { servedResources } from '#kube/served-resources.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { canonicalJson, isObject } from '#lib/json.ts'
import { inParallel } from '#lib/pool.ts'
import { printableLine } from '#lib/printable.ts'
import type { KubeObject } from '#api/schema/object.ts'

export interface Addons {
  /** Of KubeNode, with a digest of the objects: another one is applied again. */
  readonly version: string
  /** Definitions of kinds; the others wait until these are served. */
  readonly kinds: readonly KubeObject[]
  readonly objects: readonly KubeObject[]
}

export type AddonsResult =
  | { readonly kind: 'Applied'; readonly version: string }
  /** The others of its step were applied too; those of later steps were not. */
  | { readonly kind: 'AddonFailed'; readonly version: string; readonly object: string; readonly message: string }

const DIGEST_DIGITS = 8
const AT_ONCE = 16
const SERVED_WITHIN_MS = 20_000
const LOOK_MS = 50

export function addonsOf(version: string, kinds: readonly KubeObject[], objects: readonly KubeObject[]): Addons {
  const digest = createHash('sha256')
    .update(canonicalJson([kinds, objects]))
    .digest('hex')
    .slice(0, DIGEST_DIGITS)
  return { version: `${version}+${digest}`, kinds, objects }
}

interface Tools {
  readonly client: KubeClient
  readonly clock: Clock
  readonly signal?: AbortSignal
  readonly fieldManager: string
}

export async function applyAddons(
  tools: Omit<Tools, 'fieldManager'>,
  { version, ...wanted }: Addons,
): Promise<AddonsResult> {
  const failure = await applyShipped({ ...tools, fieldManager: FIELD_MANAGERS.cluster }, wanted)
  return failure === undefined ? { kind: 'Applied', version } : { kind: 'AddonFailed', version, ...failure }
}

interface Failure {
  readonly object: string
  readonly message: string
}

/** Undefined when all of it is there. After a failure the others of its step were applied too; those of later steps were not. */
export async function applyShipped(
  tools: Tools,
  { kinds, objects }: Pick<Addons, 'kinds' | 'objects'>,
): Promise<Failure | undefined> {
  const isNamespace = ({ kind }: KubeObject): boolean => kind === 'Namespace'
  const answers = new Map<KubeObject, KubeObject>()
  return (
    (await applied(tools, kinds, answers)) ??
    (await served(tools, kinds, answers)) ??
    (await applied(tools, objects.filter(isNamespace), answers)) ??
    (await applied(
      tools,
      objects.filter((o) => !isNamespace(o)),
      answers,
    ))
  )
}

const nameOf = ({ kind, metadata: { namespace, name = '' } }: KubeObject): string =>
  `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`

/** The first of the list that failed, whichever ended first. */
async function applied(
  { client, signal, fieldManager }: Tools,
  all: readonly KubeObject[],
  answers: Map<KubeObject, KubeObject>,
): Promise<Failure | undefined> {
  const failures = new Map<KubeObject, Failure>()
  const options = { fieldManager, force: true, ...defined({ signal }) }
  await inParallel(all, AT_ONCE, async (object) => {
    const outcome = await outcomeOf(() => client.apply(typeOf(object), object, options))
    if (outcome.kind === 'Applied') answers.set(object, outcome.object)
    else failures.set(object, { object: nameOf(object), message: printableLine(messageOf(outcome.error)) })
  })
  const first = all.find((object) => failures.has(object))
  return first === undefined ? undefined : failures.get(first)
}

async function served(
  { client, clock, signal }: Tools,
  kinds: readonly KubeObject[],
  answers: ReadonlyMap<KubeObject, KubeObject>,
): Promise<Failure | undefined> {
  const end = clock.monotonic() + SERVED_WITHIN_MS
  // A definition that was there before is established in the answer to its apply.
  const awaited = kinds.filter((k) => !isEstablished(answers.get(k)))
  for (;;) {
    const missing = await unserved(client, awaited, signal)
    if (missing === undefined) return undefined
    if (clock.monotonic() > end)
      return { object: nameOf(missing), message: `not served within ${SERVED_WITHIN_MS / 1_000}s` }
    await clock.sleep(LOOK_MS, signal)
  }
}

/** By what the server says that it serves: one page for all kinds of a group, and the same that a client finds them by. */
async function unserved(
  client: KubeClient,
  kinds: readonly KubeObject[],
  signal: AbortSignal | undefined,
): Promise<KubeObject | undefined> {
  const pages = new Map<string, ReadonlySet<string>>()
  for (const kind of kinds) {
    const { apiVersion, plural } = placeOf(kind)
    const page =
      pages.get(apiVersion) ?? new Set((await servedResources(client, apiVersion, signal))?.map((r) => r.plural))
    pages.set(apiVersion, page)
    if (!page.has(plural)) return kind
  }
  return undefined
}

/** Of the version that is served first. */
function placeOf({ spec }: Definition): { readonly apiVersion: string; readonly plural: string } {
  const version = spec?.versions?.find((v) => v.served)?.name
  return { apiVersion: `${spec?.group}/${version}`, plural: spec?.names?.plural ?? '' }
}

interface Definition extends KubeObject {
  readonly spec?: {
    readonly group?: string
    readonly names?: { readonly plural?: string }
    readonly versions?: readonly { readonly name?: string; readonly served?: boolean }[]
  }
}

function isEstablished(found: KubeObject | undefined): boolean {
  const status = found?.['status']
  const conditions: unknown = isObject(status) ? status['conditions'] : undefined
  return (
    Array.isArray(conditions) &&
    conditions.some((c: unknown) => isObject(c) && c['type'] === 'Established' && c['status'] === 'True')
  )
}
