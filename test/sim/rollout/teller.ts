// Tells a run as a person would: who asks for what, what the Defender says, what becomes of the machines, and why it waits. No times and no names that are drawn.
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Commit } from '#kube/fake/revisions.ts'

const QUIET: ReadonlySet<string> = new Set(['Requested', 'Released'])
/** What a person would ask about; the rest is the ordinary course of a step. */
const TOLD: ReadonlySet<string> = new Set(['ZoneOutage', 'RevisionFailed', 'Paused'])

export class Teller {
  readonly #lines: string[] = []
  /** What many machines do one after the other is told as one. */
  #many: { readonly what: string; count: number } | undefined

  lines(): readonly string[] {
    this.#flush()
    return this.#lines
  }

  heading(name: string): void {
    this.#flush()
    this.#lines.push('', `== ${name}`)
  }

  hear(commit: Commit): void {
    const { kind, object, previous } = commit
    if (kind === 'kubenode.io/operationpermits') this.#permit(object as OperationPermit, previous as never)
    else if (kind === 'kubenode.io/machinecomponentsets') this.#set(object as MachineComponentSet, previous as never)
    else if (kind === 'kubenode.io/componentcanaries') this.#canary(object as ComponentCanary, previous as never)
    else if (kind === 'kubenode.io/machines' && previous !== undefined)
      this.#machine(object as Machine, previous as Machine)
  }

  /** That it was asked for and that its slots are free again says nothing that the grant and the machines do not say. */
  #permit({ spec, status }: OperationPermit, before: OperationPermit | undefined): void {
    const { phase } = status ?? {}
    if (phase === undefined || phase === before?.status?.phase || QUIET.has(phase)) return
    const what = `${spec.operations.join(', ')}${spec.component === undefined ? '' : ` to ${spec.component.version}`}`
    this.#count(
      `${phase}, ${what}, for the ${spec.requester.kind}${spec.recovery ? ', a recovery' : ''}`,
      spec.targets.length,
    )
  }

  #set({ spec, status }: MachineComponentSet, before: MachineComponentSet | undefined): void {
    const declared = spec.components.map((c) => c.version).join()
    if (before !== undefined && declared !== before.spec.components.map((c) => c.version).join())
      this.#say(`somebody declares ${declared}`)
    for (const b of status?.revisions?.blocked ?? [])
      if (before?.status?.revisions?.blocked?.some((o) => o.since === b.since) !== true)
        this.#say(`the revision is blocked: ${b.reason}`)
    const word = (s: MachineComponentSet['status']) => {
      const waits = s?.waitingFor?.predicate ?? ''
      return `the set is ${s?.phase}${TOLD.has(waits) ? `, waits for ${waits}` : ''}`
    }
    if (word(status) !== word(before?.status)) this.#say(word(status))
  }

  #canary({ status }: ComponentCanary, before: ComponentCanary | undefined): void {
    if (status?.phase !== before?.status?.phase) this.#say(`the canary is ${status?.phase}`)
  }

  #machine({ status }: Machine, before: Machine): void {
    const [now] = status?.components ?? []
    const [old] = before.status?.components ?? []
    if (now?.state === 'RolledBack' && old?.state !== 'RolledBack') this.#count(`back from ${now.desired}`)
    if (now?.state === 'Healthy' && now.version !== old?.version) this.#count(`${now.version} runs`)
    const silent = (m: Machine['status']) => m?.conditions?.find((c) => c.type === 'AgentReachable')?.status
    if (silent(status) === 'False' && silent(before.status) !== 'False') this.#count('silent')
    if (silent(status) === 'True' && silent(before.status) === 'False') this.#count('heard again')
    if (status?.phase === 'Lost' && before.status?.phase !== 'Lost') this.#count('Lost')
  }

  #count(what: string, by = 1): void {
    if (this.#many?.what === what) this.#many.count += by
    else {
      this.#flush()
      this.#many = { what, count: by }
    }
  }

  #say(line: string): void {
    this.#flush()
    this.#lines.push(line)
  }

  #flush(): void {
    if (this.#many !== undefined) this.#lines.push(`${machines(this.#many.count)}: ${this.#many.what}`)
    this.#many = undefined
  }
}

const machines = (count: number): string => `${count} machine${count === 1 ? '' : 's'}`
