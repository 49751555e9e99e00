// Cases of holds, each with what every reader of holds answers. A stop is a Pause or Freeze; a start is a Retry or Unprotect.
import type { OperationalHold } from '#api/kinds/operational-hold.ts'

/** `yes`: the hold binds. `no`: it does not. `throws`: the reader cannot answer at all. */
export type Answer = 'yes' | 'no' | 'throws'

export interface Answers {
  /** What a controller of sets or canaries reads on the set itself. */
  readonly set: Answer
  /** What a repair, and the machine controller, read. */
  readonly repair: Answer
  readonly defender: Answer
  /** What sync reads on a source or release. */
  readonly sync: Answer
}

/** The object that is asked about; each reader has a kind of its own. */
export interface Self {
  readonly kind: OperationalHold['spec']['target']['kind']
  readonly name: string
  readonly namespace?: string
}

/** The labels of every object that is asked about. */
export const LABELS_OF_SELF = { pool: 'a' }
/** The moment of the question. */
export const NOW = Date.parse('2026-01-05T10:00:00Z')
const LATER = '2026-01-05T11:00:00Z'

export interface HoldCase {
  readonly what: string
  readonly spec: (self: Self) => object | undefined
  readonly metadata?: object
}

const named = ({ kind, name }: Self) => ({ kind, name })
const spec = (target: unknown, more: object = {}) => ({
  target,
  reason: 'incident 4711',
  author: 'ada',
  until: LATER,
  ...more,
})
const until = (what: string, value: unknown): HoldCase => ({ what, spec: (s) => spec(named(s), { until: value }) })
const aim = (what: string, target: (self: Self) => unknown): HoldCase => ({ what, spec: (s) => spec(target(s)) })

export const CASES: readonly HoldCase[] = [
  until('ends in an hour', LATER),
  until('ends now', '2026-01-05T10:00:00Z'),
  until('ended an hour ago', '2026-01-05T09:00:00Z'),
  until('has no end', undefined),
  until('has an end that is no time', 'soon'),
  until('has an empty end', ''),
  until('has a number for its end', 1),
  { what: 'is being deleted', spec: (s) => spec(named(s)), metadata: { deletionTimestamp: '2026-01-05T09:59:00Z' } },
  aim('names another object', ({ kind }) => ({ kind, name: 'other' })),
  aim('names an object of another kind', ({ name }) => ({ kind: 'DefenderPolicy', name })),
  aim('names the object in another namespace', (s) => ({ ...named(s), namespace: 'elsewhere' })),
  aim('selects the object', ({ kind }) => ({ kind, selector: { matchLabels: LABELS_OF_SELF } })),
  aim('selects other objects', ({ kind }) => ({ kind, selector: { matchLabels: { pool: 'b' } } })),
  aim('selects all of the kind', ({ kind }) => ({ kind, selector: {} })),
  aim('has a selector with an unknown operator', ({ kind }) => ({
    kind,
    selector: { matchExpressions: [{ key: 'pool', operator: 'Near', values: ['b'] }] },
  })),
  aim('has a selector with a bad key', ({ kind }) => ({ kind, selector: { matchLabels: { '-': 'b' } } })),
  aim('has neither name nor selector', ({ kind }) => ({ kind })),
  aim('has a text for its selector', ({ kind }) => ({ kind, selector: 'pool=b' })),
  aim('names this cluster', () => ({ kind: 'Cluster', name: 'here' })),
  aim('names another cluster', () => ({ kind: 'Cluster', name: 'other' })),
  aim('selects every cluster', () => ({ kind: 'Cluster', selector: {} })),
  aim('has a target without a kind', ({ name }) => ({ name })),
  aim('has no target', () => undefined),
  { what: 'has no spec', spec: () => undefined },
  { what: 'has an effect of a later version', spec: (s) => spec(named(s), { effect: 'Quarantine' }) },
]

/** Which hold reaches the machine `m-0` on the Node `n-0`, one of the MachineSet `pool-a`, and who sees that. */
export const MACHINE_CASES: readonly { readonly what: string; readonly target: object }[] = [
  { what: 'names the machine', target: { kind: 'Machine', name: 'm-0' } },
  { what: 'selects the machine', target: { kind: 'Machine', selector: { matchLabels: LABELS_OF_SELF } } },
  { what: 'names its Node', target: { kind: 'Node', name: 'n-0' } },
  { what: 'selects its Node', target: { kind: 'Node', selector: { matchLabels: { rack: '1' } } } },
  { what: 'names its MachineSet', target: { kind: 'MachineSet', name: 'pool-a' } },
  { what: 'names another machine', target: { kind: 'Machine', name: 'm-1' } },
  { what: 'names another Node', target: { kind: 'Node', name: 'n-1' } },
  { what: 'names another MachineSet', target: { kind: 'MachineSet', name: 'pool-b' } },
  { what: 'names this cluster', target: { kind: 'Cluster', name: 'here' } },
  { what: 'selects every cluster', target: { kind: 'Cluster', selector: {} } },
]
