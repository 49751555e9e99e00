// Machines that reboot for a component: the provider that restarts them, and what must hold of it.
import { operationPermit, type OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Clock } from '#lib/clock.ts'
import type { World } from '../world.ts'
import type { Agents } from './fleet.ts'

/** Longer than a controller calls an agent silent. */
const BOOT_MS = 90_000
/** To the new version, and back. */
const MOST_OF_ATTEMPT = 2

interface Request {
  readonly machine: string
  readonly permit: string | undefined
}

export class Reboots {
  /** Requested and not judged yet. */
  #requests: Request[] = []
  readonly #under = new Set<string>()
  readonly #ofAttempt = new Map<string, number>()
  #agents: Agents | undefined
  #clock: Pick<Clock, 'after'> | undefined
  count = 0

  begin(agents: Agents, clock: Pick<Clock, 'after'>): void {
    this.#agents = agents
    this.#clock = clock
  }

  request(machine: string): void {
    const records = this.#agents?.fleet?.node(machine)?.records() ?? []
    const record = records.find((r) => r.open?.reboot !== undefined)
    const attempt = `${machine} ${record?.component} ${record?.target.attempt}`
    this.#requests.push({ machine, permit: record?.open?.permit })
    this.#ofAttempt.set(attempt, (this.#ofAttempt.get(attempt) ?? 0) + 1)
    this.#under.add(machine)
    this.#agents?.silence([machine])
    const boot = `boot-${++this.count}`
    this.#clock?.after(BOOT_MS, () => {
      this.#under.delete(machine)
      this.#agents?.silent.delete(machine)
      void this.#agents?.fleet?.reboot?.(machine, boot)
    })
  }

  /** What is wrong with the reboots until now. */
  problem({ fake }: World, limit: number): string | undefined {
    const requests = this.#requests
    this.#requests = []
    for (const { machine, permit: name = '' } of requests) {
      const permit = fake.peek(operationPermit, { name }) as OperationPermit | undefined
      // It was read right before, and may have ended since.
      const isGranted = permit?.status?.verdicts?.some((v) => v.verdict === 'Granted') === true
      if (!isGranted || !permit?.spec.operations.includes('Reboot'))
        return `${machine} reboots without a permit for it: ${name}`
    }
    if (this.#under.size > limit) return `${this.#under.size} machines reboot, ${limit} may`
    const often = [...this.#ofAttempt].find(([, times]) => times > MOST_OF_ATTEMPT)
    return often && `${often[0]}: ${often[1]} reboots`
  }
}
