// The agents of a simulated cluster: which component of which machine switches until when, and how that ends. Stages at once, because that disrupts nothing.
import type { ComponentOrder, ComponentStatus, Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { isSwitching } from '#api/protocol/switch.ts'
import { timestamp } from '#lib/clock.ts'
import { permitAnswer } from '#permits/permits.ts'

export type SwitchEnd = 'Healthy' | 'RolledBack' | 'Failed'

/** How switches of a component go. */
export interface Switches {
  /** From the grant until the version counts as healthy, or has failed. */
  readonly ms: (set: string, component: string, machine: string) => number
  /** Left out: every version works. */
  readonly end?: (machine: string, component: string, version: string) => SwitchEnd
}

export interface Orders {
  readonly permits: readonly OperationPermit[]
  /** Previously ordered configurations, by component. */
  readonly before: ReadonlyMap<string, string | undefined>
}

export class Agents {
  readonly #switches: Switches
  /** When the switch of a machine's component ends, by both names. */
  readonly #ends = new Map<string, number>()

  constructor(switches: Switches) {
    this.#switches = switches
  }

  get ends(): Iterable<number> {
    return this.#ends.values()
  }

  get isAnySwitching(): boolean {
    return this.#ends.size > 0
  }

  /** Machines with a switch under way. */
  *switching(): Generator<string> {
    for (const key of this.#ends.keys()) yield key.slice(0, key.indexOf('\n'))
  }

  /** Machines of which a switch ends by this time. */
  *endedBy(now: number): Generator<string> {
    for (const [key, at] of this.#ends) if (at <= now) yield key.slice(0, key.indexOf('\n'))
  }

  turn(name: string, machine: Machine, { permits, before }: Orders, now: number): readonly ComponentStatus[] {
    const reports = machine.status?.components ?? []
    const uid = machine.metadata.uid ?? ''
    return (machine.spec.components ?? []).map((order): ComponentStatus => {
      const report = reports.find((r) => r.name === order.name)
      const key = `${name}\n${order.name}`
      if (report !== undefined && isSwitching(report.state)) return this.#switching(key, report, { name, order, now })
      const isKnown = report?.desired === order.version && report.attempt === order.attempt
      if (!isKnown) {
        const base = { name: order.name, desired: order.version, attempt: order.attempt, since: timestamp(now) }
        const running = report?.version === undefined ? {} : { version: report.version }
        // Another configuration is a switch too.
        const isRunning = report?.version === order.version && before.get(order.name) === order.config
        return { ...base, ...running, state: isRunning ? 'Healthy' : 'Staged' }
      }
      if (report.state === 'Fetching') return { ...report, state: 'Staged', since: timestamp(now) }
      // Asked last: most components of a machine are not about to switch.
      const isOrdered = report.state === 'Staged' && order.switch?.attempt === order.attempt
      if (!isOrdered || !isGranted(permits, order.switch.permit, uid)) return report
      this.#ends.set(key, now + this.#switches.ms(order.setRef ?? '', order.name, name))
      return { ...report, state: 'Switching', since: timestamp(now) }
    })
  }

  #switching(
    key: string,
    report: ComponentStatus,
    { name, order, now }: { readonly name: string; readonly order: ComponentOrder; readonly now: number },
  ): ComponentStatus {
    const end = this.#ends.get(key)
    if (end === undefined) this.#ends.set(key, now + this.#switches.ms(order.setRef ?? '', order.name, name))
    if (end === undefined || end > now) return report
    this.#ends.delete(key)
    const state = this.#switches.end?.(name, order.name, report.desired ?? order.version) ?? 'Healthy'
    if (state !== 'Healthy') return { ...report, since: timestamp(now), state }
    const { drifted: _, ...fresh } = report
    return { ...fresh, ...(report.desired && { version: report.desired }), since: timestamp(now), state }
  }
}

const isGranted = (permits: readonly OperationPermit[], name: string, uid: string): boolean =>
  permitAnswer(
    permits.find((p) => p.metadata.name === name),
    uid,
  ).kind === 'Granted'
