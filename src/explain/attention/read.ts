// Reads the attention model's input from one cluster. If the cluster does not answer, or a kind may not be read, that is part of the result. Every read
// has a time limit.
import { cluster } from '#api/kinds/cluster.ts'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { defenderLedger } from '#api/kinds/defender-ledger.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { fleetBrake } from '#api/kinds/fleet-brake.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { machine } from '#api/kinds/machine.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { release } from '#api/kinds/release.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { KubeClient } from '#kube/client.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { isApiError, isForbidden, isNotFound } from '#kube/errors.ts'
import { listAll } from '#kube/list-all.ts'
import { messageOf } from '#lib/errors.ts'
import { nodeType } from '#nodes/objects.ts'
import { leaseType } from '#runtime/lease.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { StoppedProgram } from '../programs.ts'
import { heartbeatsIn } from '../late-heartbeat.ts'
import { gapText } from './cluster-findings.ts'
import { KINDS_IN_WORDS } from './kinds-in-words.ts'
import {
  type ObservedCluster,
  observedMachine,
  observedNode,
  type ObservedKinds,
  type ReadHeartbeats,
} from './observed.ts'

/** Limit for one page of a list. */
const PAGE_WITHIN_MS = 10_000
/** Limit for all pages of all kinds: a slower cluster is only partly known. */
const CLUSTER_WITHIN_MS = 30_000

const TYPES: Readonly<Record<keyof ObservedKinds, ResourceType>> = {
  machines: machine,
  nodes: nodeType,
  machineSets: machineSet,
  sets: machineComponentSet,
  canaries: componentCanary,
  permits: operationPermit,
  policies: defenderPolicy,
  ledgers: defenderLedger,
  brakes: fleetBrake,
  holds: operationalHold,
  jobs: remedyOperationJob,
  rules: nodeRemedier,
  events: maintenanceEvent,
  sources: fleetSource,
  releases: release,
  clusters: cluster,
}
const KINDS = Object.keys(TYPES) as unknown as readonly (keyof ObservedKinds)[]

/** The cluster's programs that do not run but should. `Hidden`: their Leases may not be read. */
export type ReadPrograms = (kinds: readonly string[]) => Promise<readonly StoppedProgram[] | 'Hidden'>

type Outcome =
  | { readonly how: 'Read'; readonly items: readonly KubeObject[] }
  | { readonly how: 'Unserved' | 'Hidden' }
  | { readonly how: 'Failed'; readonly error: unknown }

/** Undefined: the server has no KubeNode kinds, so it is not part of the fleet. */
export async function readObserved(
  name: string,
  client: Pick<KubeClient, 'list'>,
  readPrograms: ReadPrograms,
  now: () => number,
  withinMs = CLUSTER_WITHIN_MS,
): Promise<ObservedCluster | undefined> {
  const signal = AbortSignal.timeout(withinMs)
  const [read, heartbeats] = await Promise.all([
    Promise.all(KINDS.map(async (kind) => [kind, await outcomeOf(client, kind, signal)] as const)),
    readHeartbeats(client, now, signal),
  ])
  const outcomes = new Map(read)
  const withHow = (how: Outcome['how']) => KINDS.filter((kind) => outcomes.get(kind)?.how === how)
  const failed = withHow('Failed')
  const answers = KINDS.length - failed.length
  if (answers === 0) return unreached(name, outcomes.get(KINDS[0] ?? 'machines'))
  if (withHow('Unserved').length >= KINDS.length - 1) return undefined
  const list = <K extends keyof ObservedKinds>(kind: K): readonly ObservedKinds[K][] => {
    const outcome = outcomes.get(kind)
    return (outcome?.how === 'Read' ? outcome.items : []) as unknown as readonly ObservedKinds[K][]
  }
  // Nodes exist with and without KubeNode.
  const kinds = KINDS.filter((kind) => kind !== 'nodes' && list(kind).length > 0).map((kind) => TYPES[kind].kind)
  const stopped = await readPrograms(kinds)
  const hidden = [...withHow('Hidden').map(wordOf), ...(stopped === 'Hidden' ? [KINDS_IN_WORDS.programs] : [])]
  return {
    name,
    state: 'Connected',
    list,
    stopped: stopped === 'Hidden' ? [] : stopped,
    gap: gapText(name, { hidden, failing: failed.map(wordOf) }),
    heartbeats,
  }
}

/** They are optional: the controllers report a silent agent on its Machine soon after. */
const readHeartbeats = (
  client: Pick<KubeClient, 'list'>,
  now: () => number,
  signal: AbortSignal,
): Promise<ReadHeartbeats | undefined> =>
  listAll(client, leaseType, { namespace: SYSTEM_NAMESPACE, timeoutMs: PAGE_WITHIN_MS, signal }).then(
    (leases) => ({ renewed: heartbeatsIn(leases), readAt: now() }),
    () => undefined,
  )

const wordOf = (kind: keyof ObservedKinds): string => KINDS_IN_WORDS[kind]

function unreached(name: string, outcome: Outcome | undefined): ObservedCluster {
  const error = outcome?.how === 'Failed' ? outcome.error : undefined
  const isRefused = isApiError(error) && (error.status === 401 || error.status === 403)
  return notConnected(name, isRefused ? 'Refused' : 'Unreachable', messageOf(error))
}

/** The cluster's state is unknown, which never counts as healthy. */
export const notConnected = (name: string, state: 'Refused' | 'Unreachable', message: string): ObservedCluster => ({
  name,
  state,
  message,
  list: () => [],
  stopped: [],
  gap: undefined,
})

async function outcomeOf(
  client: Pick<KubeClient, 'list'>,
  kind: keyof ObservedKinds,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    const items = await listAll<KubeObject>(client, TYPES[kind], { timeoutMs: PAGE_WITHIN_MS, signal })
    const cut = kind === 'machines' ? observedMachine : kind === 'nodes' ? observedNode : undefined
    return {
      how: 'Read',
      items: cut === undefined ? items : items.map((o) => cut(o as never) as unknown as KubeObject),
    }
  } catch (error) {
    if (isNotFound(error)) return { how: 'Unserved' }
    return isForbidden(error) ? { how: 'Hidden' } : { how: 'Failed', error }
  }
}
