// Why a fleet on this machine does not match git yet, and what differs here from git. Pure.
import { ANNOTATIONS } from '#api/names.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import { shortCommit } from '#api/protocol/commit-title.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { findCondition } from '#kube/conditions.ts'
import { counted } from '#lib/counted.ts'
import type { StoppedProgram } from '../programs.ts'
import { refusalOf } from '../attention/source-findings.ts'
import { waitText } from '../wait.ts'
import {
  declared,
  heldPrune,
  isAlone,
  isReporting,
  isTrue,
  newest,
  onTheWay,
  openJobs,
  rateOf,
  readyMachines,
  withoutExpired,
} from './progress.ts'
import type { FleetSeen, HubSeen } from './seen.ts'

const notRunning = (name: string, stopped: readonly StoppedProgram[] = []): readonly string[] =>
  stopped.map((p) => `${name}: role ${p.program} is not running`)

function unmetByHub(hub: HubSeen, commit: string, called: string): readonly string[] {
  const { isReachable, sources, releases } = hub
  if (!isReachable) return ['the hub is not responding']
  const [source] = sources
  if (source === undefined) return ['the hub does not follow a repository yet']
  const unread = `commit ${called} has not been read yet`
  const refused = refusalOf(source)
  if (refused !== undefined)
    return [isOfBefore(source, commit) ? unread : `source/${source.metadata.name ?? ''} ${refused.how}`]
  if (source.status?.commit !== commit) return [unread]
  if (findCondition(source.status.conditions, 'Ready')?.reason === 'Progressing')
    return [`commit ${called} has been read; its release comes next`]
  const held = heldPrune(source)
  if (held !== undefined) return [`deletions wait for a person: ${held}`]
  const release = newest(releases)
  if (release === undefined) return isAlone(hub) ? [] : ['no release created yet']
  // Otherwise the release before it would be taken for the newest.
  const deleted = source.status?.tracks?.find(
    (t) => !releases.some((r) => r.metadata.name === (t.release ?? r.metadata.name)),
  )
  if (deleted !== undefined) return [`release ${deleted.release ?? ''} was deleted; sync creates it again`]
  if (release.status?.phase === 'Succeeded') return []
  const waits = release.status?.waitingFor
  const why = waits === undefined ? '' : `: ${waitText(waits)}`
  return [`release ${release.metadata.name ?? ''} is ${release.status?.phase ?? 'new'}${why}`]
}

/** An earlier commit failed to render, and sync has not reached this one yet. */
const isOfBefore = ({ status = {} }: FleetSource, commit: string): boolean =>
  status.commit !== commit &&
  status.refused === undefined &&
  findCondition(status.conditions, 'Rendered')?.status === 'False' &&
  findCondition(status.conditions, 'Fetched')?.status !== 'False'

/** After a start the statuses are still the old ones: a cluster is not Ready until its agents have reported since. */
export const silentMachines = (seen: FleetSeen, since: number): readonly string[] =>
  withoutExpired(seen).clusters.flatMap((c) => {
    const silent = c.machines.filter((m) => !isReporting(c, m, since)).length
    return silent === 0 ? [] : [`${c.name}: ${silent} of ${c.machines.length} agents have not reported since the start`]
  })

/** What differs here from git, in the words that sync left on the object. */
export function rehearsalNotes({ hub, clusters }: FleetSeen): readonly string[] {
  const wasOf = ({ metadata }: { readonly metadata: KubeObject['metadata'] }) =>
    metadata.annotations?.[ANNOTATIONS.rehearsalOf]
  const notes = (hub.clusters ?? []).flatMap((c) => {
    const was = wasOf(c)
    return was === undefined ? [] : [`cluster ${c.metadata.name ?? ''} is an embedded one here (in git: ${was})`]
  })
  const pools = clusters.flatMap((c) =>
    c.machineSets.flatMap((set) => {
      const was = wasOf(set)
      const { replicas, template } = set.spec
      const here = `${counted(replicas, 'machine')} of provider ${template.spec.provider?.name ?? ''}`
      return was === undefined ? [] : [`pool ${set.metadata.name ?? ''} of ${c.name} has ${here} here (in git: ${was})`]
    }),
  )
  return [...notes, ...pools]
}

const editOf = (o: MachineComponentSet | MachineSet): string =>
  o.status?.conditions?.find((c) => c.type === 'UncommittedChange')?.message ?? 'edited'

/** Empty when it matches git. `called`: the commit with its title. */
export function unmet(all: FleetSeen, commit: string, called = shortCommit(commit)): readonly string[] {
  const seen = withoutExpired(all)
  const { hub, clusters } = seen
  const way = onTheWay(seen).map(({ name, how }) => `${name} ${how}`)
  const out: string[] = [...unmetByHub(hub, commit, called), ...notRunning('hub', hub.stopped), ...way]
  for (const c of clusters) {
    if (!c.isReachable) {
      out.push(`${c.name} does not answer`)
      continue
    }
    out.push(...notRunning(c.name, c.stopped))
    // A user's fleet may have none in a cluster; after the release has succeeded, everything that git declares exists.
    if (declared(c) === 0 && out.length > 0) out.push(`${c.name} has no MachineSet yet`)
    if (readyMachines(c) < declared(c)) out.push(`${c.name}: ${readyMachines(c)} of ${declared(c)} machines are Ready`)
    // A pool or machines that a commit removed leave after their drain: after the release.
    const leaving = c.machines.filter((m) => m.metadata.deletionTimestamp !== undefined).length
    if (leaving > 0) out.push(`${c.name}: ${leaving === 1 ? '1 machine is' : `${leaving} machines are`} being deleted`)
    const edited = [...c.sets.map((s) => ['set', s] as const), ...c.machineSets.map((s) => ['machineset', s] as const)]
    for (const [noun, s] of edited)
      if (isTrue(s, 'UncommittedChange')) out.push(`${c.name}: ${noun}/${s.metadata.name ?? ''} was ${editOf(s)}`)
    for (const s of c.sets)
      if (!isTrue(s, 'Ready'))
        out.push(`${c.name}: set ${s.metadata.name ?? ''} is not rolled out${rateOf(s.status?.waitingFor)}`)
    const open = openJobs(c).length
    if (open > 0) out.push(`${c.name}: ${open === 1 ? '1 repair is' : `${open} repairs are`} open`)
  }
  return out
}
