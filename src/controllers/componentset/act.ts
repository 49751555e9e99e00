// Carries out one action of a rollout and decides nothing. Every action that opens or frees a slot first reads its assumptions again.
import { type ComponentConfig, componentConfig } from '#api/kinds/component-config.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS, FIELD_MANAGERS } from '#api/names.ts'
import { assertNever } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { podType } from '#nodes/objects.ts'
import { type Confirmed, type MachineResult, reportConfirmed } from '#permits/let-go.ts'
import { actOnPermit, deletedIsDone } from '#permits/permit-actions.ts'
import type { PermitTools } from '#permits/permits.ts'
import { deleteExactly, recheck, updateExactly } from '#runtime/preconditions.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
import type { SetAction } from './actions.ts'
import type { ComponentTarget } from '#api/protocol/component-order.ts'
import { type ControllerRevision, controllerRevisionType } from './revisions/revisions.ts'
import { readOne } from './members/members.ts'
import { standingOf } from './members/reading.ts'
import type { Seen } from './seen.ts'

export interface ActTools {
  readonly client: KubeClient
  readonly now: () => number
}

const fieldManager = FIELD_MANAGERS.componentSet

export async function act(
  tools: ActTools,
  action: SetAction,
  seen: Seen,
  { signal }: { readonly signal: AbortSignal },
): Promise<ActionOutcome> {
  const { client } = tools
  const permitTools: PermitTools = { client, fieldManager, signal }
  switch (action.kind) {
    case 'CreateRevision':
      return createRevision(client, action.revision, signal)
    case 'RenumberRevision':
      return updateExactly(client, controllerRevisionType, action.revision, { fieldManager, signal })
    case 'KeepEvidence':
      return annotate(client, action.revision, { [ANNOTATIONS.blocked]: action.evidence }, signal)
    case 'KeepCompleted':
      return annotate(client, action.revision, { [ANNOTATIONS.completed]: action.completed }, signal)
    case 'DeleteRevision':
      return deleteExactly(client, controllerRevisionType, action.revision, { signal })
    case 'CreateConfig':
      return createConfig(client, action, signal)
    case 'RequestPermit':
      return (await isStale(client, seen, signal)) ?? actOnPermit(permitTools, action, tools.now())
    case 'StartProbePod':
      return orExists(await outcomeOf(() => client.create(podType, action.pod, { fieldManager, signal })))
    case 'EndProbePod':
      return deletedIsDone(await deleteExactly(client, podType, action.pod, { signal }))
    case 'RenewPermit':
      return actOnPermit(permitTools, action, tools.now())
    case 'Report':
      return (await isStale(client, seen, signal)) ?? report(permitTools, action)
    default:
      return assertNever(action)
  }
}

/** A decision based on an older set could request or release a permit that a slice of the newer one relies on. */
async function isStale(client: KubeClient, { set }: Seen, signal: AbortSignal): Promise<ActionOutcome | undefined> {
  const fresh = await recheck(client, machineComponentSet, set, signal)
  return fresh.kind === 'Stale' ? outdated(fresh.seen) : undefined
}

/** A deleted set leaves its revisions to the next set with the same name. */
async function createRevision(
  client: KubeClient,
  revision: ControllerRevision,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const made = await outcomeOf(() => client.create(controllerRevisionType, revision, { fieldManager, signal }))
  if (made.kind !== 'Exists') return made
  const { name = '', namespace = '', ownerReferences } = revision.metadata
  const found = await client.get(controllerRevisionType, { namespace, name }, { signal })
  const owner = found?.metadata.ownerReferences?.find((o) => o.controller === true)
  const [ours] = ownerReferences ?? []
  // Only one object has a name at a time. So an owner with our kind and name but another UID was deleted, and its objects wait for garbage
  // collection.
  const isLeft = owner === undefined || (owner.kind === ours?.kind && owner.name === ours?.name)
  if (found === undefined || !isLeft) return made
  const adopted = { ...found, revision: revision.revision, metadata: { ...found.metadata, ownerReferences } }
  return updateExactly(client, controllerRevisionType, adopted as ControllerRevision, { fieldManager, signal })
}

function annotate(
  client: KubeClient,
  revision: ControllerRevision,
  added: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const annotations = { ...revision.metadata.annotations, ...added }
  const next = { ...revision, metadata: { ...revision.metadata, annotations } }
  return updateExactly(client, controllerRevisionType, next, { fieldManager, signal })
}

/** The name is the digest of the content, so an existing object is the desired one. */
async function createConfig(
  client: KubeClient,
  { config }: Extract<SetAction, { kind: 'CreateConfig' }>,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const outcome = await outcomeOf(() =>
    client.create(componentConfig, config as unknown as ComponentConfig, { fieldManager, signal }),
  )
  return orExists(outcome)
}

const orExists = (outcome: ActionOutcome): ActionOutcome =>
  outcome.kind === 'Exists' ? { kind: 'Applied', object: undefined } : outcome

type Report = Extract<SetAction, { kind: 'Report' }>

/** A result frees a slot. Write it only for machines that a fresh read confirms, and that no order can reach under this permit any more. */
const report = (tools: PermitTools, { permit, target, startedAt, results }: Report): Promise<ActionOutcome> =>
  reportConfirmed(tools, permit, results, (fresh, { result }) => confirms(fresh, result, target, startedAt))

function confirms(
  fresh: Machine,
  result: MachineResult['result'],
  target: ComponentTarget,
  startedAt: string | undefined,
): Confirmed {
  const now = resultNow(fresh, target)
  const isSo = now === 'SucceededOrReleased' ? result !== 'Failed' : result === now
  if (!isSo) return 'No'
  const order = fresh.spec.components?.find((c) => c.name === target.name)
  // Each machine of a slice gets one attempt. After it has ended, no further order is sent.
  const hadItsAttempt = startedAt !== undefined && order?.slice === startedAt
  return result !== 'Released' && hadItsAttempt ? 'Yes' : 'OnceLetGo'
}

const NO_NODES = { get: () => undefined }

function resultNow(
  fresh: Machine,
  target: ComponentTarget,
): MachineResult['result'] | 'SucceededOrReleased' | undefined {
  const standing = standingOf(readOne(fresh, NO_NODES, new Map([[target.name, 0]])), 0, target)
  switch (standing) {
    case 'Updated':
    case 'Unhealthy':
      return 'Succeeded'
    // It has the version. Either it was released before its fresh copy, or it was changed again afterwards.
    case 'Drifted':
      return 'SucceededOrReleased'
    case 'Failed':
      return 'Failed'
    case 'Switching':
      return undefined
    case 'Pending':
    case 'Outdated':
    case 'Canary':
      return 'Released'
    default:
      return assertNever(standing)
  }
}
