// Tells a run as a person would, by what must be so in every order of events: which step follows which and with how many machines at most, what the Defender
// lets pass, what becomes of the machines, why it waits, and what there is at the end. No times, no drawn names, and no count that only the schedule decides.
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Commit } from '#test/doubles/kube/revisions.ts'

/** What a person would ask about; the rest is the ordinary course of a step. */
const TOLD: ReadonlySet<string> = new Set(['ZoneOutage', 'RevisionFailed', 'Paused'])
/** A ladder's first steps have exactly their machines, or it would be no ladder; later ones as many as may be disturbed just then. */
const EXACT_STEPS = 2

/** One step of a ladder, one batch of a canary, or one way back: all that was granted for it. */
interface Granted {
  readonly what: string
  readonly most: number | undefined
  readonly machines: Set<string>
}

export class Teller {
  readonly #lines: string[] = []
  /** Since the last declaration, each in its own order: which of two that wait for each other's caches is first means nothing. */
  #states: string[] = []
  #grants: Granted[] = []
  /** Machines by their outcome, regardless of their order. */
  #fates = new Map<string, Set<string>>()
  #setState: string | undefined
  /** The ladder. */
  #sizes: readonly number[] = []
  readonly #machines = new Map<string, Machine>()

  lines(): readonly string[] {
    this.#flush()
    return this.#lines
  }

  heading(name: string): void {
    this.#flush()
    this.#lines.push('', `== ${name}`)
  }

  hear(commit: Commit): void {
    const { kind, object, previous, type, key } = commit
    if (kind === 'kubenode.io/operationpermits') this.#permit(object as OperationPermit, previous as never)
    else if (kind === 'kubenode.io/machinecomponentsets') this.#set(object as MachineComponentSet, previous as never)
    else if (kind === 'kubenode.io/componentcanaries') this.#canary(object as ComponentCanary, previous as never)
    else if (kind === 'kubenode.io/machines') {
      if (type === 'DELETED') this.#machines.delete(key)
      else this.#machines.set(key, object as Machine)
      if (previous !== undefined) this.#machine(object as Machine, previous as Machine)
    }
  }

  #permit({ spec, status }: OperationPermit, before: OperationPermit | undefined): void {
    const { phase } = status ?? {}
    if (phase === undefined || phase === before?.status?.phase) return
    const names = spec.targets.map((t) => t.name)
    const version = spec.component?.version ?? 'nothing'
    if (phase === 'Denied' || phase === 'Expired') this.#say(`${phase}: ${spec.reason}`)
    if (phase !== 'Granted') return
    const [, stepText = 'NaN', of] = /: step (\d+) of (\d+)/.exec(spec.reason) ?? []
    const step = Number(stepText)
    // What is proven has one step; how many machines need it is a matter of who came back by itself.
    if (spec.recovery) this.#grant(`a way back to ${version}`, undefined, names)
    else if (of === '1') this.#grant(`the only step to ${version}`, undefined, names)
    else if (Number.isNaN(step))
      this.#grant(`${spec.operations.join()} for the ${spec.requester.kind}, ${version}`, undefined, names)
    else if (step <= EXACT_STEPS) this.#grant(`step ${step} to ${version}`, undefined, names)
    else if (step < this.#sizes.length) this.#grant(`step ${step} to ${version}`, this.#sizes[step - 1], names)
    // The last one repeats: how often is a matter of who was well in time.
    else this.#grant(`the rest to ${version}`, this.#sizes.at(-1), names)
  }

  #grant(what: string, most: number | undefined, names: readonly string[]): void {
    let granted = this.#grants.find((g) => g.what === what)
    if (granted === undefined) {
      granted = { what, most, machines: new Set() }
      this.#grants.push(granted)
    }
    for (const name of names) granted.machines.add(name)
  }

  #set({ spec, status }: MachineComponentSet, before: MachineComponentSet | undefined): void {
    this.#sizes = (spec.rollout?.steps ?? []).map(Number)
    const declared = spec.components.map((c) => c.version).join()
    if (before !== undefined && declared !== before.spec.components.map((c) => c.version).join()) {
      this.#flushCourse()
      this.#lines.push(`somebody declares ${declared}`)
      // What the status says is still about what was declared before.
      return
    }
    const since = (s: MachineComponentSet['status']) => s?.revisions?.blocked?.map((b) => b.since).join()
    if (since(status) !== since(before?.status))
      for (const b of status?.revisions?.blocked ?? []) this.#say(`the revision is blocked: ${b.reason}`)
    const waits = status?.waitingFor?.predicate ?? ''
    const state = `the set is ${status?.phase}${TOLD.has(waits) ? `, waits for ${waits}` : ''}`
    if (status?.phase !== undefined && state !== this.#setState && status.phase !== 'Complete') this.#say(state)
    this.#setState = state
  }

  #canary({ status }: ComponentCanary, before: ComponentCanary | undefined): void {
    if (status?.phase !== undefined && status.phase !== before?.status?.phase)
      this.#say(`the canary is ${status.phase}`)
  }

  #machine({ status, metadata: { name = '' } }: Machine, before: Machine): void {
    const [now] = status?.components ?? []
    const [old] = before.status?.components ?? []
    if (now?.state === 'RolledBack' && old?.state !== 'RolledBack') this.#befalls(name, `went back from ${now.desired}`)
    const silent = (m: Machine['status']) => m?.conditions?.find((c) => c.type === 'AgentReachable')?.status
    if (silent(status) === 'False' && silent(before.status) !== 'False') this.#befalls(name, 'fell silent')
    if (status?.phase === 'Lost' && before.status?.phase !== 'Lost') this.#befalls(name, 'was Lost')
  }

  #befalls(name: string, what: string): void {
    const those = this.#fates.get(what) ?? new Set()
    this.#fates.set(what, those.add(name))
  }

  /** Once in each phase and declaration: states may flap in any order. */
  #say(line: string): void {
    if (!this.#states.includes(line)) this.#states.push(line)
  }

  #flush(): void {
    if (this.#machines.size === 0) return
    this.#flushCourse()
    for (const [what, those] of [...this.#fates].toSorted(([a], [b]) => (a < b ? -1 : 1)))
      this.#lines.push(`${machines(those.size)} ${what}`)
    const end = Map.groupBy(this.#machines.values(), stateOf)
    this.#lines.push(`in the end ${this.#setState ?? 'there is no set'}`)
    for (const [what, those] of [...end].toSorted(([a], [b]) => (a < b ? -1 : 1)))
      this.#lines.push(`  ${machines(those.length)} ${what}`)
    this.#fates = new Map()
  }

  #flushCourse(): void {
    this.#lines.push(...this.#states, ...this.#grants.map(toldGrant))
    this.#states = []
    this.#grants = []
  }
}

function stateOf({ status }: Machine): string {
  const [runs] = status?.components ?? []
  const isSilent = status?.conditions?.find((c) => c.type === 'AgentReachable')?.status === 'False'
  return `with ${runs?.version} ${runs?.state}, ${status?.phase}${isSilent ? ', silent' : ''}`
}

/** A number within its limit is printed as the limit, because it varies; one beyond it is printed exactly. */
function toldGrant({ what, most, machines: { size } }: Granted): string {
  if (what.startsWith('a way back') || what.startsWith('the only step')) return `${what} is granted`
  return `${what}: ${most !== undefined && size <= most ? `at most ${machines(most)}` : machines(size)}`
}

const machines = (count: number): string => `${count} machine${count === 1 ? '' : 's'}`
