// Reads what is related to an object, and explains the object with it: the lines of `kubenode why`, and the same as a tree.
import type { Cluster } from '#api/kinds/cluster.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { machine } from '#api/kinds/machine.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { release } from '#api/kinds/release.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import type { KubeObject } from '#schema/object.ts'
import { changeStory, clusterStory } from './cluster-story.ts'
import { shownMaintenance } from './maintenance-story.ts'
import { recentRepairs } from './repair-story.ts'
import { type Related, whyLines } from './why.ts'

export async function readWhy(client: KubeClient, object: KubeObject, now: number): Promise<readonly string[]> {
  const [related, more] = await Promise.all([relatedTo(client, object, now), reportedOf(client, object, now)])
  return whyLines(object, related, now, more)
}

/** Objects related to an object: its jobs, the slices it is in, its machine, the work on its host. */
async function relatedTo(client: KubeClient, object: KubeObject, now: number): Promise<readonly Related[]> {
  if (object.kind !== 'Machine' && object.kind !== 'Node') return []
  const name = object.metadata.name ?? ''
  const [machines, sets, jobs, events] = await Promise.all([
    listAll(client, machine),
    listAll(client, machineComponentSet),
    listAll(client, remedyOperationJob),
    listAll(client, maintenanceEvent),
  ])
  const own = machines.find((m) => m.status?.nodeRef?.name === name || m.metadata.name === name)
  const repairs = jobs.filter((j) =>
    own === undefined ? j.spec.node.name === name : j.spec.machine === own.metadata.name,
  )
  const isIn = (s: (typeof sets)[number]) =>
    (s.status?.slices ?? []).some((w) => w.machines.includes(own?.metadata.name ?? name))
  return [
    ...(object.kind === 'Node' && own !== undefined ? [{ label: 'Machine:', object: own }] : []),
    ...shownMaintenance(events, own?.metadata.name ?? name, now).map((e) => ({
      label: 'Work on its host:',
      object: e,
    })),
    ...sets.filter(isIn).map((s) => ({ label: 'In a slice of', object: s })),
    ...repairs.filter((j) => j.status?.phase !== 'Done').map((j) => ({ label: 'Being repaired by', object: j })),
    ...recentRepairs(repairs, now).map((j) => ({ label: 'Repaired by', object: j })),
  ]
}

/** A member has no Releases, and some users may not list them. */
async function reportedOf(client: KubeClient, object: KubeObject, now: number): Promise<readonly string[]> {
  const { kind, metadata } = object
  if (kind !== 'Cluster') return []
  const { name = '', namespace } = metadata
  const releases = await listAll(client, release, namespace === undefined ? {} : { namespace }).catch(() => [])
  return [...changeStory((object as Cluster).status?.change), ...clusterStory(name, releases, now)]
}
