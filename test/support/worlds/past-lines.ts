// A recorded history in a few words: nodes, their conditions over time, rules and policies. Lines come out in the order of observation.
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { defined } from '#lib/defined.ts'
import { timestamp } from '#lib/clock.ts'
import { factsOf } from '#history/facts/facts.ts'
import { shapeOfKind } from '#history/facts/shapes.ts'
import { EXPORT_FORMAT, type GapLine, type HistoryLine, type RowLine } from '#history/lines/line.ts'

export const PAST_START = Date.UTC(2026, 9, 1)
const CLUSTER = 'prod-1'

type Line = Exclude<HistoryLine, { readonly line: 'head' }>

interface Known {
  readonly id: number
  object: KubeObject
  facts: ReadonlyMap<string, string>
}

export class PastLines {
  readonly #lines: { readonly at: number; readonly line: Line }[] = []
  readonly #known = new Map<string, Known>()

  /** Adds what differs from the last state of the object. */
  put(at: number, object: KubeObject): void {
    const shape = shapeOfKind(object.kind)
    if (shape === undefined) throw new Error(`${object.kind} is not recorded`)
    const { name = '', namespace = '', uid = `uid-${object.kind}-${name}` } = object.metadata
    const key = `${object.kind}/${uid}`
    const whole = { ...object, metadata: { ...object.metadata, uid } }
    const facts = factsOf(whole, shape)
    const before = this.#known.get(key)
    const id = before?.id ?? this.#known.size + 1
    if (before === undefined) this.#add(at, { line: 'subject', id, kind: object.kind, namespace, name, uid })
    const now = new Map(facts.map((f) => [f.topic, `${f.value} ${f.reported ?? ''}`]))
    for (const { topic, value, reported } of facts)
      if (before?.facts.get(topic) !== now.get(topic))
        this.#add(at, {
          line: 'row',
          observed: at,
          subject: id,
          topic,
          value,
          ...defined({ reported }),
        })
    for (const topic of before?.facts.keys() ?? [])
      if (!now.has(topic)) this.#add(at, { line: 'row', observed: at, subject: id, topic })
    this.#known.set(key, { id, object: whole, facts: now })
  }

  node(at: number, name: string, { zone = 'a', rack = 'r1' } = {}): void {
    this.put(at, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, uid: `uid-${name}`, creationTimestamp: timestamp(at) },
      status: { conditions: [conditionOf('Ready', 'True', at)] },
    })
    this.put(at, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name, uid: `machine-${name}`, creationTimestamp: timestamp(at) },
      spec: { pool: 'workers', zone, rack },
      status: {
        phase: 'Ready',
        inServiceSince: timestamp(at),
        nodeRef: { name, uid: `uid-${name}` },
        conditions: [conditionOf('AgentReachable', 'True', at), conditionOf('Ready', 'True', at)],
      },
    })
  }

  condition(at: number, node: string, type: string, status: 'True' | 'False' | 'Unknown'): void {
    const known = this.#known.get(`Node/uid-${node}`)
    if (known === undefined) throw new Error(`no node ${node}`)
    const { conditions = [] } = known.object['status'] as { readonly conditions?: readonly { readonly type: string }[] }
    const others = conditions.filter((c) => c.type !== type)
    this.put(at, { ...known.object, status: { conditions: [...others, conditionOf(type, status, at)] } })
  }

  gap(starts: number, ends: number): void {
    this.#add(starts, { line: 'gap', starts, ends, why: 'RecorderAway' } satisfies GapLine)
  }

  /** A person did something to a node. */
  deed(at: number, who: string, node: string, what: string): void {
    const n = this.#lines.length + 1
    const object = `node/${node}`
    const deed = { who, did: 'changed', object, what, n, cluster: CLUSTER, observed: at, prev: '', digest: '' } as const
    this.#add(at, { line: 'deed', deed })
  }

  lines(): readonly Line[] {
    return this.#lines.toSorted((a, b) => a.at - b.at).map(({ line }) => line)
  }

  /** With the head of an exported file. */
  file(to: number): readonly HistoryLine[] {
    const head = { format: EXPORT_FORMAT, cluster: CLUSTER, from: PAST_START, to } as const
    return [{ line: 'head', ...head, isRedacted: false, isSample: false }, ...this.lines()]
  }

  #add(at: number, line: Line): void {
    this.#lines.push({ at, line })
  }
}

const conditionOf = (type: string, status: string, at: number) => ({
  type,
  status,
  reason: 'Reported',
  message: '',
  lastTransitionTime: timestamp(at),
})

export const isRow = (line: HistoryLine): line is RowLine => line.line === 'row'

/** True while the condition is; with whatever else is given. */
export function remedierOf(name: string, type: string, spec: object = {}): NodeRemedier {
  const when = { all: [{ fact: 'conditions', path: `/${type}/status`, operator: 'equal', value: 'True' }] }
  const ladder = [
    { operations: [{ restartComponent: { component: 'kubelet' } }], timeout: '5m', verify: { stableFor: '30s' } },
  ]
  return applyDefaults(nodeRemedier.schema, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'NodeRemedier',
    metadata: { name, uid: `uid-${name}`, generation: 1 },
    spec: { when, ladder, for: '10s', ...spec },
  }) as NodeRemedier
}

export const policyOf = (name: string, spec: object): DefenderPolicy =>
  applyDefaults(defenderPolicy.schema, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'DefenderPolicy',
    metadata: { name, uid: `uid-${name}`, generation: 1 },
    spec,
  }) as DefenderPolicy
