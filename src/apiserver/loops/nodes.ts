// Node lifecycle: a node that said nothing new for a while becomes Unknown and is tainted; taints follow its conditions. What counts is that its heartbeat or its Lease
// changed, on the clock of this server: a clock of a node may be late, ahead, or set back, and the store may be as old as a snapshot.
// When most are silent at once it is the network, and nothing is tainted for eviction.
import { timestamp } from '#lib/clock.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ServerParts } from '../handlers/context.ts'
import { storeObject } from '../storage/internal-write.ts'
import type { Stored } from '../storage/stored.ts'

/** As the real node lifecycle controller has it. */
const GRACE_MS = 50_000
/** Of all nodes; above it many silent nodes are a network problem. */
const MOST = 0.55
const UNREACHABLE = 'node.kubernetes.io/unreachable'
const NOT_READY = 'node.kubernetes.io/not-ready'
const UNSCHEDULABLE = 'node.kubernetes.io/unschedulable'
const OWN = new Set([UNREACHABLE, NOT_READY, UNSCHEDULABLE])

type Fields = Readonly<Record<string, unknown>>
const fields = (v: unknown): Fields => (isObject(v) ? v : {})
const listOf = (v: unknown): readonly Fields[] => (Array.isArray(v) ? v.filter(isObject) : [])
const conditionsOf = (o: KubeObject): readonly Fields[] => listOf(fields(o['status'])['conditions'])
const readyOf = (o: KubeObject): string =>
  String(conditionsOf(o).find((c) => c['type'] === 'Ready')?.['status'] ?? 'Unknown')

/** The facts of one version of a node, read once: with thousands of nodes each run would otherwise parse them all. */
interface NodeFacts {
  /** A node that was never ready has no kubelet that could become silent. */
  readonly reports: boolean
  /** The time of its heartbeat, by its own clock. */
  readonly heartbeat: string
  /** The circumstances in which this version needs no change. */
  settled: Circumstances | undefined
}

type Circumstances = `${'silent' | 'heard'}, ${'as most' | 'most heard'}`

const textOf = (v: unknown): string => (typeof v === 'string' ? v : '')

function nodeFacts(node: KubeObject): NodeFacts {
  const ready = conditionsOf(node).find((c) => c['type'] === 'Ready')
  return {
    reports: ready !== undefined,
    heartbeat: textOf(ready?.['lastHeartbeatTime']),
    settled: undefined,
  }
}

/** Versions read in one turn of the event loop; a few milliseconds. */
const READ_AT_ONCE = 100
/**
 * Nodes written together: one commit, and one piece for each watcher, where a commit per node cost each watcher a write per node. Fewer
 * than a watcher may have unsent, so that a whole fleet that becomes ready does not leave its readers behind.
 */
const WRITTEN_AT_ONCE = 32

/** What a node said last, and when this server first saw that, on a clock that does not jump. */
interface News {
  readonly heartbeat: string
  readonly renewed: string
  readonly at: number
}

interface Seen {
  readonly stored: Stored
  readonly facts: NodeFacts
  readonly isSilent: boolean
}

export class NodeWatch {
  readonly #parts: Pick<ServerParts, 'store' | 'clock'>
  readonly #nodes = new WeakMap<Stored, NodeFacts>()
  /** The renewal time in each version of a lease. */
  readonly #leases = new WeakMap<Stored, string>()
  /** By node, of those that were there at the last look. */
  #news: ReadonlyMap<string, News> = new Map()

  constructor(parts: Pick<ServerParts, 'store' | 'clock'>) {
    this.#parts = parts
  }

  async look(): Promise<void> {
    const { store, clock } = this.#parts
    const [now, monotonic] = [clock.now(), clock.monotonic()]
    const seen: Seen[] = []
    const news = new Map<string, News>()
    let silent = 0
    let read = 0
    for (const stored of store.collection('/nodes').snapshot()) {
      let facts = this.#nodes.get(stored)
      if (facts === undefined) {
        facts = nodeFacts(stored.value)
        this.#nodes.set(stored, facts)
        if (++read % READ_AT_ONCE === 0) await nextTurn()
      }
      const { heartbeat } = facts
      const renewed = this.#renewed(stored.name)
      const before = this.#news.get(stored.name)
      const isSame = before?.heartbeat === heartbeat && before.renewed === renewed
      const last = isSame ? before : { heartbeat, renewed, at: monotonic }
      news.set(stored.name, last)
      const isSilent = facts.reports && monotonic - last.at > GRACE_MS
      if (isSilent) silent++
      seen.push({ stored, facts, isSilent })
    }
    this.#news = news
    const widespread = silent / Math.max(1, seen.length) > MOST && silent > 1
    const circumstancesOf = ({ isSilent }: Seen): Circumstances =>
      `${isSilent ? 'silent' : 'heard'}, ${widespread ? 'as most' : 'most heard'}`
    const unsettled = seen.filter((s) => s.facts.settled !== circumstancesOf(s))
    for (let i = 0; i < unsettled.length; i += WRITTEN_AT_ONCE) {
      const together = unsettled.slice(i, i + WRITTEN_AT_ONCE)
      await Promise.all(together.map((s) => this.#settle(s, now, !widespread)))
      for (const s of together) s.facts.settled = circumstancesOf(s)
      await nextTurn()
    }
  }

  async #settle({ stored, facts, isSilent }: Seen, now: number, evicts: boolean): Promise<void> {
    await storeObject(this.#parts.store, stored, (o) => {
      // a heartbeat may have arrived since
      const isStillSilent = isSilent && (o === stored.value || nodeFacts(o).heartbeat === facts.heartbeat)
      return tainted(isStillSilent ? unknownReady(o, now) : o, now, evicts)
    })
  }

  #renewed(name: string): string {
    const lease = this.#parts.store.get({
      resource: 'coordination.k8s.io/leases',
      namespace: 'kube-node-lease',
      name,
    })
    if (lease === undefined) return ''
    let at = this.#leases.get(lease)
    if (at === undefined) {
      at = textOf(fields(lease.value['spec'])['renewTime'])
      this.#leases.set(lease, at)
    }
    return at
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const REPORTED = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure']

function unknownReady(o: KubeObject, now: number): KubeObject {
  const conditions = conditionsOf(o)
  if (!conditions.some((c) => REPORTED.includes(String(c['type'])) && c['status'] !== 'Unknown')) return o
  const next = conditions.map((c) =>
    REPORTED.includes(String(c['type'])) && c['status'] !== 'Unknown'
      ? {
          ...c,
          status: 'Unknown',
          reason: 'NodeStatusUnknown',
          message: 'Kubelet stopped posting node status.',
          lastTransitionTime: timestamp(now),
        }
      : c,
  )
  return { ...o, status: { ...fields(o['status']), conditions: next } }
}

function tainted(o: KubeObject, now: number, evicts: boolean): KubeObject {
  const spec = fields(o['spec'])
  const before = listOf(spec['taints'])
  const ready = readyOf(o)
  const wanted: Fields[] = []
  const key = ready === 'True' ? undefined : ready === 'False' || conditionsOf(o).length === 0 ? NOT_READY : UNREACHABLE
  if (key !== undefined) {
    wanted.push({ key, effect: 'NoSchedule' })
    // a node that has not reported yet only gets no new pods
    if (evicts && conditionsOf(o).length > 0) wanted.push({ key, effect: 'NoExecute' })
  }
  if (spec['unschedulable'] === true) wanted.push({ key: UNSCHEDULABLE, effect: 'NoSchedule' })
  const kept = before.filter((t) => !OWN.has(String(t['key'])) || wanted.some((w) => same(w, t)))
  const added = wanted.filter((w) => !before.some((t) => same(w, t))).map((w) => ({ ...w, timeAdded: timestamp(now) }))
  const taints = [...kept, ...added]
  if (jsonEqual(taints, before)) return o
  const { taints: _, ...rest } = spec
  return { ...o, spec: taints.length === 0 ? rest : { ...rest, taints } }
}

const same = (a: Fields, b: Fields): boolean => a['key'] === b['key'] && a['effect'] === b['effect']
