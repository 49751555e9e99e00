// The machines of one cluster as a topic: rows from the cache, with the repairs and the blames that other objects tell of them.
import type { MachinesTopic, Topic } from '../protocol.ts'
import { topicOf } from '../topic-name.ts'
import type { ClusterState } from './cluster-cache.ts'
import type { MachineRow } from './machine-row.ts'
import { MachineTable, type MachineTexts } from './machine-table.ts'
import { TopicLog } from './topic-log.ts'
import { blameText } from './views/budgets.ts'

type Blame = Parameters<typeof blameText>[0]

export class ClusterMachines {
  readonly topic: Topic
  readonly audience: string
  readonly #cluster: ClusterState
  readonly #start: string
  readonly #table: MachineTable
  readonly #changed = new Set<string>()
  #repairs: ReadonlyMap<string, string> = new Map()
  #blames: readonly Blame[] = []
  #isTouched = true
  #log: TopicLog | undefined

  /** `audience`: those who may read what this cluster is, as `readAs` shows it. */
  constructor(cluster: ClusterState, start: string, audience: string) {
    this.#cluster = cluster
    this.audience = audience
    this.#start = start
    this.topic = topicOf('machines', cluster.name)
    this.#table = new MachineTable(this.topic)
    for (const { metadata } of cluster.list('machines')) this.changed(metadata.name ?? '')
  }

  /** A Machine was created, changed or deleted. */
  changed(name: string): void {
    this.#changed.add(name)
  }

  /** Repairs or blames may have changed. */
  touch(): void {
    this.#isTouched = true
  }

  /** The log follows what is taken: called right after `takeChanges`. */
  snapshot(revision: string, at: number): MachinesTopic {
    return this.#table.snapshot(revision, at)
  }

  logAt(revision: string, at: number): TopicLog {
    this.#log ??= new TopicLog(this.#start, this.snapshot(revision, at))
    return this.#log
  }

  /** The delta as it is sent. */
  takeChanges(named: string, revision: number, at: number): { readonly json: string } | 'Nothing' | 'Renewed' {
    if (!this.#isTouched && this.#changed.size === 0) return 'Nothing'
    const isSideChanged = this.#isTouched && this.#readSides()
    this.#isTouched = false
    const all = isSideChanged ? this.#cluster.list('machines').map((m) => m.metadata.name ?? '') : []
    for (const name of new Set([...all, ...this.#changed])) {
      const now = this.#cluster.machine(name)
      if (now === undefined) this.#table.remove(name)
      else this.#table.put(name, this.#textsOf(name, now))
    }
    this.#changed.clear()
    const delta = this.#table.takeDelta()
    if (delta === undefined) return 'Nothing'
    if (delta === 'Renewed') {
      this.#log?.restart(this.snapshot(named, at))
      return 'Renewed'
    }
    return { json: this.#log === undefined ? JSON.stringify(delta) : this.#log.put(delta, revision, at) }
  }

  #readSides(): boolean {
    const open = this.#cluster.list('jobs').filter((j) => j.status?.phase !== 'Done' && !j.spec.dryRun)
    const repairs = new Map(open.map((j) => [j.spec.machine ?? j.spec.node.name, j.status?.phase ?? 'Pending']))
    const blames = this.#cluster.list('ledgers')[0]?.spec.blames ?? []
    const before = JSON.stringify([[...this.#repairs], this.#blames.map(blameText)])
    this.#repairs = repairs
    this.#blames = blames
    return before !== JSON.stringify([[...repairs], blames.map(blameText)])
  }

  #textsOf(name: string, { row }: MachineRow): MachineTexts {
    return {
      node: row.node,
      phase: row.phase,
      zone: row.zone,
      rack: row.rack,
      pool: row.pool,
      class: row.class,
      versions: row.versions,
      health: row.health,
      repair: this.#repairs.get(name) ?? '',
      silent: row.silent,
      blame: this.#blameOf(row),
      reason: row.reason,
      since: row.since,
    }
  }

  #blameOf(row: MachineRow['row']): string {
    const found = this.#blames.find(
      ({ kind, component, value }) =>
        (kind === 'Zone' && value === row.zone) ||
        (kind === 'Rack' && value === row.rack) ||
        (kind === 'Component' && `,${row.versions},`.includes(`,${component}=${value},`)),
    )
    return found === undefined ? '' : blameText(found)
  }
}
