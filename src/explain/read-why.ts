// Reads the objects related to an object, and explains the object with them, for `kubenode why` and for the page.
import type { Cluster } from '#api/kinds/cluster.ts'
import { type FleetSource, fleetSource } from '#api/kinds/fleet-source.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { machine, type Machine } from '#api/kinds/machine.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { operationalHold, type OperationalHold } from '#api/kinds/operational-hold.ts'
import { type Release, release } from '#api/kinds/release.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { isActiveIn } from '#api/protocol/part.ts'
import { endOfHold } from '#permits/holds/names.ts'
import { holdOver, named, holdTarget, holdsOver, holdTargetsOfMachine } from '#permits/holds/reach.ts'
import { isLocal } from '#sync/git/local-url.ts'
import { listAll } from '#kube/list-all.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { ANNOTATIONS, SYSTEM_NAMESPACE, agentLeaseKey } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { leaseType } from '#runtime/lease.ts'
import { changeStory, clusterStory, lifetimeStory, removalStory } from './cluster-story.ts'
import { acceptanceFindings } from './attention/acceptance-findings.ts'
import { observedNode, type ObservedKinds } from './attention/observed.ts'
import { lateHeartbeat } from './late-heartbeat.ts'
import { shownMaintenance } from './maintenance-story.ts'
import { recentRepairs } from './repair-story.ts'
import { newestReleases } from './newest-releases.ts'
import { PartialReader, type Reader } from './partial-reader.ts'
import type { Finding, Story } from './finding.ts'
import { unreleased } from './unreleased.ts'
import { continues } from './wait.ts'
import { type Related, whyStory } from './why.ts'

interface HeldNode {
  readonly node: KubeObject
  readonly machine: Machine | undefined
}

/** Holds on the Node itself, its Machine, the MachineSet and the cluster. */
function nodeHolds({ node, machine }: HeldNode, holds: readonly OperationalHold[], now: number): readonly Finding[] {
  const targets = machine === undefined ? [holdTarget('Node', node)] : holdTargetsOfMachine(machine, { node })
  const over = holdsOver(holds, { effects: ['Pause', 'Freeze'], targets, cluster: { name: undefined }, now })
  return over.map((hold) => {
    const { effect, author, reason, until } = hold.spec
    return {
      text: `${effect === 'Freeze' ? 'Frozen' : 'Paused'} until ${until} by ${author}: ${reason}`,
      urgency: 'Waiting',
      cause: `operationalhold/${hold.metadata.name ?? ''}`,
      ...continues(endOfHold(hold)),
    }
  })
}

export async function readWhy(client: Reader, object: KubeObject, now: number): Promise<Story> {
  const reader = new PartialReader(client)
  const [related, more, holds, releases] = await Promise.all([
    relatedTo(reader, object, now),
    reportedOf(reader, object, now),
    listAll(reader, operationalHold),
    titlesFor(client, object),
  ])
  const own = related.find((r) => r.object.kind === machine.kind)?.object as Machine | undefined
  const late = await lateOf(client, object.kind === 'Machine' ? (object as Machine) : own, now)
  const held = object.kind === 'Node' ? nodeHolds({ node: object, machine: own }, holds, now) : []
  const kept = object.kind === 'Node' ? await notAccepted(reader, object) : []
  const holdEnds = holdEndsOver(object, holds, now)
  return whyStory(object, now, {
    related,
    more: [...late, ...held, ...kept, ...more],
    holdEnds,
    gaps: reader.gaps,
    releases,
  })
}

/** As in the list of what needs attention. Only a Node that a repair keeps cordoned costs a read. */
async function notAccepted(reader: Reader, object: KubeObject): Promise<readonly Finding[]> {
  const node = observedNode(object)
  if (node.repairCordons === undefined) return []
  const known: Partial<{ readonly [K in keyof ObservedKinds]: readonly ObservedKinds[K][] }> = {
    nodes: [node],
    jobs: await listAll(reader, remedyOperationJob),
  }
  return acceptanceFindings({ name: '', list: (kind) => known[kind] ?? [] }).map(
    ({ text, cause, urgency, since, command }) => ({ text, cause, urgency, ...defined({ since, command }) }),
  )
}

/** If the source is a folder on this machine, there is nowhere to push to. A source that may not be read is treated as remote. */
export async function isReadInPlace(client: Reader, { metadata, spec }: Release): Promise<boolean> {
  const key = { namespace: metadata.namespace ?? '', name: spec.source }
  const source = await new PartialReader(client).get(fleetSource, key)
  return source !== undefined && isLocal(source.spec.url)
}

/** Without the right to read it, only a title is missing; that does not count as a gap. */
const titlesFor = async (client: Reader, { kind, spec }: KubeObject): Promise<readonly Release[]> =>
  kind === remedyOperationJob.kind && isObject(spec) && spec['commit'] !== undefined
    ? listAll(new PartialReader(client), release, { namespace: SYSTEM_NAMESPACE })
    : []

/** Without the right to read the Lease nothing is missing: the controllers report a silent agent on the Machine soon after. */
async function lateOf(client: Reader, own: Machine | undefined, now: number): Promise<readonly Finding[]> {
  if (own === undefined) return []
  const key = agentLeaseKey(own.metadata.name ?? '')
  return lateHeartbeat(own, await new PartialReader(client).get(leaseType, key), now)
}

/** The command that ends the hold on the object: its own, its cluster's, or for a Release its source's. */
function endOfHoldOver(object: KubeObject, holds: readonly OperationalHold[], now: number): string | undefined {
  const { kind, spec } = object as Partial<Release> & KubeObject
  const isOfHub = object.metadata.namespace !== undefined
  const source = kind === release.kind && spec?.source !== undefined ? [named('FleetSource', spec.source)] : []
  const targets = [holdTarget(kind, object), ...source]
  const hold = holdOver(holds, {
    effects: ['Pause', 'Freeze'],
    targets,
    ...(!isOfHub && { cluster: { name: undefined } }),
    now,
  })
  return hold && endOfHold(hold)
}

/** The same command, as part of a finding. */
export function holdEndsOver(
  object: KubeObject,
  holds: readonly OperationalHold[],
  now: number,
): Pick<Finding, 'command'> | undefined {
  const line = endOfHoldOver(object, holds, now)
  return line === undefined ? undefined : continues(line)
}

/** Related objects: its jobs, its slices, its machine, the work on its host; for a source, its Releases. */
async function relatedTo(reader: Reader, object: KubeObject, now: number): Promise<readonly Related[]> {
  if (object.kind === 'FleetSource') return releasesOf(reader, object as FleetSource)
  if (object.kind !== 'Machine' && object.kind !== 'Node') return []
  const name = object.metadata.name ?? ''
  const [own, sets, jobs, events] = await Promise.all([
    object.kind === 'Machine' ? (object as Machine) : machineOfNode(reader, name),
    listAll(reader, machineComponentSet),
    listAll(reader, remedyOperationJob),
    listAll(reader, maintenanceEvent),
  ])
  const repairs = jobs.filter((j) =>
    own === undefined ? j.spec.node.name === name : j.spec.machine === own.metadata.name,
  )
  const isIn = (s: (typeof sets)[number]) =>
    (s.status?.slices ?? []).some((w) => isActiveIn(w, own?.metadata.name ?? name))
  return [
    ...(object.kind === 'Node' && own !== undefined ? [{ label: 'Machine:', object: own }] : []),
    ...shownMaintenance(events, own?.metadata.name ?? name, now).map((e) => ({
      label: 'Work on its host:',
      object: e,
    })),
    ...sets.filter(isIn).map((s) => ({ label: 'In a slice of', object: s })),
    ...repairs.filter((j) => j.status?.phase !== 'Done').map((j) => ({ label: 'Being repaired by', object: j })),
    ...recentRepairs(repairs, now).map((j) => ({
      label: j.status?.outcome === 'Succeeded' ? 'Repaired by' : 'Not repaired by',
      object: j,
    })),
  ]
}

async function machineOfNode(reader: Reader, name: string): Promise<Machine | undefined> {
  const machines = await listAll(reader, machine)
  return machines.find((m) => m.status?.nodeRef?.name === name || m.metadata.name === name)
}

/** The source's newest Releases that have not succeeded yet. */
async function releasesOf(reader: Reader, { metadata }: FleetSource): Promise<readonly Related[]> {
  const { name, namespace = '' } = metadata
  const all = await listAll(reader, release, { namespace })
  return newestReleases(all)
    .filter((r) => r.spec.source === name && r.status?.phase !== 'Succeeded')
    .map((r) => ({ label: 'Rolled out by', object: { ...r, kind: release.kind } }))
}

/** Includes the rights that the reader lacks for it. */
export async function unreleasedAfter(client: Reader, own: Release, now: number): Promise<readonly Finding[]> {
  const reader = new PartialReader(client)
  return [...(await unreleasedIn(reader, own, now)), ...reader.gaps]
}

async function unreleasedIn(reader: Reader, own: Release, now: number): Promise<readonly Finding[]> {
  const { namespace = '' } = own.metadata
  const [all, source] = await Promise.all([
    listAll(reader, release, { namespace }),
    reader.get(fleetSource, { namespace, name: own.spec.source }),
  ])
  return source === undefined ? [] : unreleased(own, all, source, now)
}

async function reportedOf(reader: Reader, object: KubeObject, now: number): Promise<readonly Finding[]> {
  const { kind, metadata } = object
  if (kind === 'Release') return unreleasedIn(reader, object as Release, now)
  if (kind !== 'Cluster') return []
  const { name = '', namespace } = metadata
  const releases = await listAll(reader, release, namespace === undefined ? {} : { namespace })
  const [sourceNamespace, sourceName] = (metadata.annotations?.[ANNOTATIONS.source] ?? '').split('/')
  const source =
    sourceName === undefined
      ? undefined
      : await reader.get(fleetSource, {
          name: sourceName,
          ...defined({ namespace: sourceNamespace }),
        })
  const cluster = object as Cluster
  return [
    ...removalStory(cluster, { source, releases }, now),
    ...lifetimeStory(cluster, now),
    ...changeStory(cluster.status?.change),
    ...clusterStory(name, releases, now),
  ]
}
