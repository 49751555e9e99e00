// The differences between two moments, in the views' terms: each object by name with the changed facts. Pure.
import { applied, isMachines } from '../../delta.ts'
import type { Delta, MachinesTopic, PipelineTopic, SetsTopic, Snapshot } from '../../protocol.ts'
import type { SetRow } from '../../set-topics.ts'
import type { PipelineRow } from '../../topics.ts'
import { machineAt } from '../heat/machines.ts'
import type { Machine } from '../heat/machines.ts'

export interface Moment {
  readonly phase: string
  /** In addition to the phase; unchanged facts are left out. */
  readonly facts: readonly string[]
}

export interface Change {
  readonly id: string
  readonly name: string
  /** Undefined if it did not exist. */
  readonly before: Moment | undefined
  readonly after: Moment | undefined
}

interface Shown extends Moment {
  readonly name: string
}

export function changesIn(snapshot: Snapshot, delta: Delta): readonly Change[] {
  const [old, next] = [shownIn(snapshot), shownIn(applied(snapshot, delta, snapshot.revision, snapshot.at))]
  const set = 'machines' in delta ? delta.machines.map(([name]) => name) : delta.set.map(({ id }) => id)
  return [...set, ...delta.removed].map((id) => {
    const [before, after] = [old.get(id), next.get(id)]
    return { id, name: (after ?? before)?.name ?? id, before: without(before, after), after: without(after, before) }
  })
}

const without = (one: Shown | undefined, other: Shown | undefined): Moment | undefined =>
  one && { phase: one.phase, facts: one.facts.filter((fact) => fact !== '' && !other?.facts.includes(fact)) }

function shownIn(snapshot: Snapshot): ReadonlyMap<string, Shown> {
  if (isMachines(snapshot)) return new Map(snapshot.names.map((name, place) => [name, ofMachine(snapshot, place)]))
  const rows = (snapshot as PipelineTopic | SetsTopic).rows
  const releases = new Map(rows.flatMap((r) => ('row' in r && r.row === 'Release' ? [[r.id, r.object.name]] : [])))
  return new Map(rows.map((r) => [r.id, 'row' in r ? ofPipeline(r, releases) : ofSet(r)]))
}

function ofMachine(topic: MachinesTopic, place: number): Shown {
  const machine = machineAt(topic, place)
  return { name: machine.name, phase: machine.phase, facts: factsOf(machine) }
}

const factsOf = ({ reason, health, versions, repair, silent, blame, pool, zone, rack }: Machine): readonly string[] => [
  reason,
  health === '' ? '' : `components ${health}`,
  ...versions.split(',').map((v) => v.replace('=', ' ')),
  repair === '' ? '' : `repair ${repair}`,
  silent === 'Yes' ? 'silent' : '',
  blame === '' ? '' : `blamed: ${blame}`,
  ...[pool, zone, rack].filter((place) => place !== ''),
]

function ofPipeline(row: PipelineRow, releases: ReadonlyMap<string, string>): Shown {
  if (row.row === 'Release')
    return {
      name: `Release ${row.object.name}`,
      phase: row.phase,
      facts: row.holds.map(({ effect, author }) => `${effect} by ${author}`),
    }
  const release = releases.get(row.release) ?? row.release
  if (row.row === 'Place')
    return {
      name: `Cluster ${row.cluster} in ${release}`,
      phase: row.phase,
      facts: [row.message ?? row.wait?.seen ?? ''],
    }
  const { name, phase, healthy, failed, total } = row
  return {
    name: `Stage ${name} of ${release}`,
    phase,
    facts: [total === 0 ? '' : `${healthy} of ${total} healthy`, failed === 0 ? '' : `${failed} failed`],
  }
}

const ofSet = ({ object, phase, components, updated, total, failed, skipped }: SetRow): Shown => ({
  name: object.name,
  phase,
  facts: [
    ...components.map((c) => `${c.name} ${c.version}`),
    `${updated} of ${total} up to date`,
    failed === 0 ? '' : `${failed} failed`,
    skipped === 0 ? '' : `${skipped} skipped`,
  ],
})
