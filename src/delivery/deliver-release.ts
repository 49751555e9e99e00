// Delivers the objects of a KubeNode release to a cluster about which nothing is known: kinds, then namespaces, then the rest, so that dependencies
// exist. A repetition, even after an interruption, changes nothing. Objects that the previous release delivered and this one no longer has are
// deleted, if they were recorded.
import { inventory } from '#api/kinds/inventory.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { KubeClient } from '#kube/client.ts'
import { typeOf } from '#kube/installed-type.ts'
import { isApiError } from '#kube/errors.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { servedResources } from '#kube/served-resources.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { inParallel } from '#lib/pool.ts'
import { printableLine } from '#lib/printable.ts'
import { carryOut } from './carry-out.ts'
import { deleteObject } from './delete.ts'
import { type InventoryRef, refOf, refText } from './object-ref.ts'
import { observeLeft } from './observe-left.ts'
import { inventoryWrite, planRelease, releaseId, undeclaredIn } from './release-plan.ts'
import { ResourceTypes } from './resource-types.ts'
import { writeObject } from './write.ts'

const AT_ONCE = 16
const SERVED_WITHIN_MS = 20_000
const POLL_MS = 50

export interface ReleaseOrder {
  readonly client: KubeClient
  readonly clock: Clock
  readonly signal?: AbortSignal
  readonly fieldManager: string
  /** Definitions of kinds. The other objects wait until these are served. */
  readonly kinds: readonly KubeObject[]
  readonly objects: readonly KubeObject[]
  /** The name of the Inventory. Absent: nothing is recorded, and so nothing is deleted. */
  readonly record?: string
}

export interface ReleaseFailure {
  readonly object: string
  readonly message: string
}

/**
 * Undefined on success. After a failure, the rest of the same step was applied too, but later steps were not. If the release is empty, nothing is
 * read or deleted: no real release is empty.
 */
export async function deliverRelease(order: ReleaseOrder): Promise<ReleaseFailure | undefined> {
  const { kinds, objects, record = '' } = order
  const [first] = [...kinds, ...objects]
  if (first === undefined) return undefined
  const isNamespace = ({ kind }: KubeObject): boolean => kind === 'Namespace'
  const answers = new Map<KubeObject, KubeObject>()
  return (
    (await applied(order, kinds, answers)) ??
    (await answered(order, objectText(first), () => served(order, kinds, answers))) ??
    (await applied(order, objects.filter(isNamespace), answers)) ??
    (await answered(order, `Inventory ${record}`, () =>
      recorded(order, answers, () =>
        applied(
          order,
          objects.filter((o) => !isNamespace(o)),
          answers,
        ),
      ),
    ))
  )
}

/** An unresponsive API server is a failure like a refused write: the caller has a status to write. */
async function answered(
  { signal }: ReleaseOrder,
  reading: string,
  step: () => Promise<ReleaseFailure | undefined>,
): Promise<ReleaseFailure | undefined> {
  try {
    return await step()
  } catch (error) {
    if (signal?.aborted === true) throw error
    return failureOf(reading, error)
  }
}

const objectText = ({ kind, metadata: { namespace, name = '' } }: KubeObject): string =>
  `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`

const failureOf = (object: string, error: unknown): ReleaseFailure => ({
  object,
  message: printableLine(messageOf(error)),
})

/** Returns the first failure in list order, whichever ended first. */
async function applied(
  { client, signal, fieldManager }: ReleaseOrder,
  all: readonly KubeObject[],
  answers: Map<KubeObject, KubeObject>,
): Promise<ReleaseFailure | undefined> {
  const failures = new Map<KubeObject, ReleaseFailure>()
  const writer = { client, fieldManager, takes: 'Always', ...defined({ signal }) } as const
  await inParallel(all, AT_ONCE, async (object) => {
    const outcome = await writeObject(writer, typeOf(object), object)
    if (outcome.kind === 'Applied') answers.set(object, outcome.object)
    else failures.set(object, failureOf(objectText(object), outcome.error))
  })
  const first = all.find((object) => failures.has(object))
  return first === undefined ? undefined : failures.get(first)
}

/** The kind Inventory is among the first ones. */
async function recorded(
  order: ReleaseOrder,
  answers: ReadonlyMap<KubeObject, KubeObject>,
  apply: () => Promise<ReleaseFailure | undefined>,
): Promise<ReleaseFailure | undefined> {
  const { client, clock, signal, fieldManager, kinds, objects, record } = order
  if (record === undefined) return apply()
  const call = defined({ signal })
  const all = [...kinds, ...objects]
  const found = await client.get(inventory, { name: record }, call)
  const seen = found?.spec.refs ?? []
  const types = new ResourceTypes(client, () => clock.now())
  const left = undeclaredIn(seen, all)
  const isOurs = ({ metadata }: KubeObject): boolean =>
    metadata.managedFields?.some((m) => m.manager === fieldManager) === true
  const live = await observeLeft({ client, types, ...call }, record, left, isOurs)
  const plan = planRelease(record, all, { inventory: seen, live })
  let noted = found
  const note = async (refs: readonly InventoryRef[], commit: string | undefined) => {
    const input = inventoryWrite(record, noted, refs, commit, clock.now())
    if (input === undefined) return undefined
    const outcome = await outcomeOf(() => client.apply(inventory, { ...input }, { fieldManager, force: true, ...call }))
    if (outcome.kind !== 'Applied') return failureOf(`Inventory ${record}`, outcome.error)
    noted = outcome.object
    return undefined
  }
  let kept: ReleaseFailure | undefined
  const failure = await carryOut(plan, seen, {
    applied: () => new Map([...answers].map(([object, { metadata }]) => [refText(refOf(object)), metadata.uid])),
    apply,
    record: (refs, when) => note(refs, when === 'Before' ? found?.spec.commit : releaseId(all)),
    remove: async (operation) => {
      const outcome = await deleteObject({ client, types, ...call }, operation)
      if (outcome.kind === 'Applied') return outcome.object !== 'Deleting'
      kept ??= failureOf(refText(operation.ref), outcome.error)
      return false
    },
  })
  return failure ?? kept
}

async function served(
  { client, clock, signal }: ReleaseOrder,
  kinds: readonly KubeObject[],
  answers: ReadonlyMap<KubeObject, KubeObject>,
): Promise<ReleaseFailure | undefined> {
  const end = clock.monotonic() + SERVED_WITHIN_MS
  // If a definition existed before, the answer to its apply shows it as established.
  const awaited = kinds.filter((k) => !isEstablished(answers.get(k)))
  for (;;) {
    const missing = await unserved(client, awaited, signal)
    if (missing === undefined) return undefined
    if (clock.monotonic() > end)
      return { object: objectText(missing), message: `not served within ${SERVED_WITHIN_MS / 1_000}s` }
    await clock.sleep(POLL_MS, signal)
  }
}

/** Uses the server's discovery: one page covers all kinds of a group, and it is what clients use to find them. */
async function unserved(
  client: KubeClient,
  kinds: readonly KubeObject[],
  signal: AbortSignal | undefined,
): Promise<KubeObject | undefined> {
  const pages = new Map<string, ReadonlySet<string>>()
  for (const kind of kinds) {
    const { apiVersion, plural } = placeOf(kind)
    const page = pages.get(apiVersion) ?? (await pluralsOf(client, apiVersion, signal))
    pages.set(apiVersion, page)
    if (!page.has(plural)) return kind
  }
  return undefined
}

/** None while the server does not report it yet. */
async function pluralsOf(
  client: KubeClient,
  apiVersion: string,
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<string>> {
  const page = await servedResources(client, apiVersion, signal).catch((error: unknown) => {
    if (isApiError(error)) return []
    throw error
  })
  return new Set(page?.map((r) => r.plural))
}

/** From the first served version. */
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
