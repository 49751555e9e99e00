// Removes what programs and agents leave in other objects and namespaces: finalizers, taints and conditions of Nodes, requests, tokens, Leases, events.
import {
  AGENT_REPORTER,
  AGENTS_GROUP,
  ANNOTATIONS,
  BOOTSTRAP_GROUP,
  FIELD_MANAGERS,
  FINALIZERS,
  JOIN_ACCOUNTS_GROUP,
  LABELS,
  NODE_LEASES,
  PROGRAM_REPORTERS,
  programLeaseName,
  SYSTEM_NAMESPACE,
} from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { inParallel } from '#lib/pool.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { answerOf } from '#kube/errors.ts'
import { listPages } from '#kube/list-all.ts'
import { updateExactly } from '#runtime/preconditions.ts'
import { certificateRequestType } from '#identity/certificate-request.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { objectKey } from '#api/schema/object-meta.ts'
import { ifServed, type InstallContext } from '../context.ts'
import { installErrors } from '../install-errors.ts'
import { LED_ROLES } from '../ready.ts'
import { nodeWithoutUs, statusWithoutUs } from './node.ts'

const PARALLEL = 8
/** Users and other controllers write Nodes all the time. */
const ATTEMPTS = 10

type Changed = (object: KubeObject) => KubeObject | undefined

async function change(
  { client }: InstallContext,
  type: ResourceType,
  first: KubeObject,
  changed: Changed,
  subresource?: string,
): Promise<boolean> {
  let now: KubeObject | undefined = first
  for (let attempt = 0; attempt < ATTEMPTS && now !== undefined; attempt++) {
    const next = changed(now)
    if (next === undefined) return attempt > 0
    const options = { fieldManager: FIELD_MANAGERS.install, ...defined({ subresource }) }
    const outcome = await updateExactly(client, type, next, options)
    if (outcome.kind === 'Applied' || outcome.kind === 'Stale') return true
    if (outcome.kind === 'Denied') throw refused(first, outcome.error)
    now = await client.get(type, objectKey(first))
  }
  if (now === undefined) return true
  throw refused(first, 'other programs write it all the time')
}

const refused = (object: KubeObject, error: unknown): KubeNodeError => {
  const why = answerOf(error)
  return new KubeNodeError(installErrors.KN1420({ object: `${object.kind}/${object.metadata.name}`, why }))
}

async function changeAll(
  context: InstallContext,
  type: ResourceType,
  changed: Changed,
  subresource?: string,
): Promise<number> {
  let count = 0
  for await (const page of listPages(context.client, type))
    await inParallel(
      page.filter((o) => changed(o) !== undefined),
      PARALLEL,
      async (object) => {
        const whole = { ...object, apiVersion: apiVersionOf(type), kind: type.kind }
        if (await change(context, type, whole, changed, subresource)) count++
      },
    )
  return count
}

const apiVersionOf = ({ group, version }: ResourceType): string => (group === '' ? version : `${group}/${version}`)

const OURS: ReadonlySet<string> = new Set(Object.values(FINALIZERS))

function withoutFinalizers(object: KubeObject): KubeObject | undefined {
  const all = object.metadata.finalizers ?? []
  const left = all.filter((f) => !OURS.has(f))
  return left.length === all.length ? undefined : { ...object, metadata: { ...object.metadata, finalizers: left } }
}

/** No program is left to remove them, and an object with a finalizer cannot be deleted. */
export async function dropFinalizers(context: InstallContext, types: readonly ResourceType[]): Promise<number> {
  let count = 0
  // A definition that is being deleted may be gone by now.
  for (const type of types) count += (await ifServed(() => changeAll(context, type, withoutFinalizers))) ?? 0
  return count
}

const nodeType = coreKind('Node')

export async function cleanNodes(context: InstallContext): Promise<number> {
  const specs = await changeAll(context, nodeType, nodeWithoutUs)
  const statuses = await changeAll(context, nodeType, statusWithoutUs, 'status')
  return Math.max(specs, statuses)
}

const eventType: ResourceType = {
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
}
const REPORTERS: ReadonlySet<string> = new Set([AGENT_REPORTER, ...Object.values(PROGRAM_REPORTERS).flat()])

/** Deletes only the objects that were read, not others with the same name. */
async function deleteAll(
  { client }: InstallContext,
  type: ResourceType,
  where: { readonly namespace?: string; readonly labelSelector?: string },
  isOurs: (object: KubeObject) => boolean,
): Promise<void> {
  for await (const page of listPages(client, type, where))
    await inParallel(page.filter(isOurs), PARALLEL, async (object) => {
      const { uid } = object.metadata
      await client.delete(type, objectKey(object), { ...(uid !== undefined && { preconditions: { uid } }) })
    })
}

function isOurRequest(object: KubeObject): boolean {
  const { username = '', groups = [] } = object['spec'] as {
    readonly username?: string
    readonly groups?: readonly string[]
  }
  return (
    username.startsWith('kubenode:') ||
    [AGENTS_GROUP, BOOTSTRAP_GROUP, JOIN_ACCOUNTS_GROUP].some((g) => groups.includes(g)) ||
    object.metadata.labels?.[LABELS.door] !== undefined
  )
}

export async function deleteTraces(context: InstallContext): Promise<void> {
  await deleteAll(context, certificateRequestType, {}, isOurRequest)
  const tokens = { namespace: 'kube-system', labelSelector: LABELS.joinToken }
  await deleteAll(context, coreKind('Secret'), tokens, () => true)
  const isAgents = (o: KubeObject): boolean => o.metadata.annotations?.[ANNOTATIONS.machineUid] !== undefined
  await deleteAll(context, coreKind('Lease'), { namespace: NODE_LEASES }, isAgents)
  const led = new Set(LED_ROLES.map(programLeaseName))
  await deleteAll(context, coreKind('Lease'), { namespace: SYSTEM_NAMESPACE }, (o) => led.has(o.metadata.name ?? ''))
  await deleteAll(context, eventType, {}, (o) => REPORTERS.has(String(o['reportingController'])))
}
