// Nodes that KubeNode keeps cordoned because nothing accepted them. Only a user or a later repair opens them. Pure.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { acceptanceText } from '#api/protocol/operations.ts'
import { acceptanceOf, repairCordon } from '#nodes/faults/acceptance.ts'
import { bounded, commandStep, type FleetFinding, finding, objectIn, objectsText } from './finding.ts'
import type { ObservedCluster } from './observed.ts'

/** Not while a repair of the incident is open: its ladder continues. */
export function acceptanceFindings({
  name: cluster,
  list,
}: Pick<ObservedCluster, 'name' | 'list'>): readonly FleetFinding[] {
  const cordons = new Map(
    list('nodes').flatMap(({ metadata, repairCordons = [] }) =>
      repairCordons.length === 0 ? [] : [[metadata.uid ?? '', new Set(repairCordons)] as const],
    ),
  )
  if (cordons.size === 0) return []
  const jobs = list('jobs').filter(({ spec }) => cordons.has(spec.node.uid))
  const missing = [...Map.groupBy(jobs, ({ spec }) => spec.node.uid)].flatMap(([uid, ofNode]) => {
    const found = ofNode
      .filter(({ spec }) => cordons.get(uid)?.has(repairCordon(spec.incident)) === true)
      .flatMap((job) => missingFor(job, ofNode))
    // The first of each node; a second incident shows once it is settled.
    return found.slice(0, 1)
  })
  const same = Map.groupBy(missing, (job) => `${job.spec.remedierRef.name}/${testOf(job)}`)
  return bounded(
    [...same].map(([key, of]) => acceptanceFinding(cluster, key, of)),
    'nodes that were not accepted',
  )
}

function missingFor(job: RemedyOperationJob, ofNode: readonly RemedyOperationJob[]): readonly RemedyOperationJob[] {
  const isOpen = ofNode.some((j) => j.spec.incident === job.spec.incident && j.status?.phase !== 'Done')
  const acceptance = acceptanceOf(
    job,
    ofNode.filter((j) => j !== job),
  )
  return acceptance.kind === 'Missing' && !isOpen ? [acceptance.job] : []
}

function acceptanceFinding(cluster: string, key: string, jobs: readonly RemedyOperationJob[]): FleetFinding {
  const sorted = jobs.toSorted((a, b) => (a.spec.node.name < b.spec.node.name ? -1 : 1))
  const [job] = sorted
  const names = sorted.map(({ spec }) => spec.node.name)
  const [since] = sorted.flatMap(({ status }) => status?.finishedAt ?? []).toSorted()
  return finding(objectIn(cluster, 'Node', { name: names[0] ?? '' }), {
    weight: 'Act',
    urgency: 'Blocked',
    part: `acceptance/${key}`,
    cause: `acceptance/${key}`,
    count: names.length,
    text: `${objectsText('node', names)} not accepted by ${job === undefined ? '' : testOf(job)} of rule ${job?.spec.remedierRef.name} and cordoned until a user gives it back`,
    since,
    first: commandStep(`kubectl delete remedyoperationjob ${job?.metadata.name} --wait=false`),
  })
}

const testOf = ({ spec }: RemedyOperationJob): string => acceptanceText(spec.operations[spec.acceptance ?? -1] ?? {})
