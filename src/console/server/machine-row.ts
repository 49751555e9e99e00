// What the console keeps of a Machine: one number a column and a few shared words, instead of the object. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { type Health, machineHealth } from '#defender/unit.ts'
import { findCondition } from '#kube/conditions.ts'
import type { KubeObject } from '#schema/object.ts'

/** Cached in place of the Machine. */
export interface MachineRow extends KubeObject {
  readonly row: MachineFacts
}

/** Texts are shared between machines wherever they are equal. */
interface MachineFacts {
  readonly node: string
  readonly phase: string
  readonly zone: string
  readonly rack: string
  readonly pool: string
  readonly class: string
  readonly versions: string
  readonly health: string
  readonly silent: 'Yes' | 'No' | 'Unknown'
  readonly reason: string
  /** Seconds since 1970. */
  readonly since: number
  readonly isReady: boolean
  /** As the Defender counts it, without its Node. */
  readonly service: Health
  /** Components that do not work, with their own words; empty for almost all. */
  readonly failures: readonly MachineFailure[]
  /** For the selectors of policies and sets. */
  readonly labels: Readonly<Record<string, string>>
}

interface MachineFailure {
  readonly component: string
  readonly set: string
  readonly text: string
  readonly since: string
}

const NO_FAILURES: readonly MachineFailure[] = []

const FAILED: ReadonlySet<string> = new Set(['Failed', 'Degraded', 'RolledBack'])

function failuresOf({ spec, status }: Machine): readonly MachineFailure[] {
  const failed = (status?.components ?? []).filter((c) => FAILED.has(c.state))
  if (failed.length === 0) return NO_FAILURES
  return failed.map(({ name, state, reason = '', message = '', since }) => ({
    component: name,
    set: spec.components?.find((c) => c.name === name)?.setRef ?? '',
    text: [state, reason, message].filter((part) => part !== '').join(': '),
    since,
  }))
}

/** Worst first: the state of a machine is that of its worst component. */
const WORST = ['Failed', 'Degraded', 'RolledBack', 'Probing', 'Switching', 'Fetching', 'Staged', 'Healthy']

function worstState(states: readonly string[]): string {
  const rank = (state: string): number => {
    const at = WORST.indexOf(state)
    // A state of a later version is worth a look.
    return at === -1 ? 0 : at
  }
  return states.reduce((worst, s) => (worst === '' || rank(s) < rank(worst) ? s : worst), '')
}

const seconds = (stamp: string | undefined): number => {
  const ms = Date.parse(stamp ?? '')
  return Number.isNaN(ms) ? 0 : Math.floor(ms / 1_000)
}

const SILENT = { True: 'No', False: 'Yes', Unknown: 'Unknown' } as const

function factsOf(machine: Machine): MachineFacts {
  const { metadata, spec, status = {} } = machine
  const { components = [], conditions } = status
  const ready = findCondition(conditions, 'Ready')
  const reachable = findCondition(conditions, 'AgentReachable')
  const nodeName = status.nodeRef?.name ?? ''
  const versions = components.map((c) => `${c.name}=${c.version ?? 'none'}`)
  return {
    node: nodeName === metadata.name ? '' : nodeName,
    phase: status.phase ?? 'Pending',
    zone: spec.zone ?? '',
    rack: spec.rack ?? '',
    pool: spec.pool ?? '',
    class: spec.class ?? '',
    versions: versions.toSorted().join(','),
    health: worstState(components.map((c) => c.state)),
    silent: SILENT[reachable?.status ?? 'Unknown'],
    reason: ready === undefined || ready.status === 'True' ? '' : ready.reason,
    since: seconds(ready?.lastTransitionTime),
    isReady: ready?.status === 'True',
    service: machineHealth(machine, undefined).health,
    failures: failuresOf(machine),
    labels: { ...spec.labels, ...metadata.labels },
  }
}

/** A pool of equal texts: 10,000 machines of one zone hold its name once. */
export class SharedTexts {
  readonly #texts = new Map<string, string>()
  readonly #labels = new Map<string, Readonly<Record<string, string>>>()

  text(value: string): string {
    const known = this.#texts.get(value)
    if (known !== undefined) return known
    if (this.#texts.size >= MOST_TEXTS) this.#texts.clear()
    this.#texts.set(value, value)
    return value
  }

  labels(value: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const key = JSON.stringify(value)
    const known = this.#labels.get(key)
    if (known !== undefined) return known
    if (this.#labels.size >= MOST_TEXTS) this.#labels.clear()
    this.#labels.set(key, value)
    return value
  }
}

/** More are forgotten and begun again: sharing saves memory and decides nothing. */
const MOST_TEXTS = 20_000

/** Differs for every machine and is selected by nothing. */
const OWN_LABEL = 'kubernetes.io/hostname'

/** Keeps what a cache needs of its objects: name, uid and version. */
export function machineRow(machine: Machine, texts: SharedTexts): MachineRow {
  const { name, uid, resourceVersion } = machine.metadata
  const facts = factsOf(machine)
  const { [OWN_LABEL]: _own, ...labels } = facts.labels
  return {
    apiVersion: machine.apiVersion,
    kind: machine.kind,
    metadata: {
      ...(name !== undefined && { name }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
    row: {
      ...facts,
      node: texts.text(facts.node),
      phase: texts.text(facts.phase),
      zone: texts.text(facts.zone),
      rack: texts.text(facts.rack),
      pool: texts.text(facts.pool),
      class: texts.text(facts.class),
      versions: texts.text(facts.versions),
      health: texts.text(facts.health),
      reason: texts.text(facts.reason),
      labels: texts.labels(labels),
    },
  }
}
