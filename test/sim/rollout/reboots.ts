// Machines that reboot for a component: how their boots go, the provider that restarts them and may lie about it, and what must hold of it.
import { operationPermit, type OperationPermit } from '#api/kinds/operation-permit.ts'
import { RETURNS_WITHIN_MS } from '#api/protocol/rebooting.ts'
import type { Clock } from '#lib/clock.ts'
import { seededRandom } from '#lib/random.ts'
import type { Host, Provider } from '#providers/port.ts'
import { overridden } from '#test/doubles/providers/memory-provider.ts'
import type { World } from '../world.ts'
import type { Agents } from './fleet.ts'

const MINUTE_MS = 60_000
/** Longer than a controller calls an agent silent. */
const BOOT_MS = 90_000
/** A person starts a host that has not come back. After the machine is Lost. */
const PERSON_MS = 34 * MINUTE_MS
/** What an agent needs to go back to the old version, with another reboot that it waits for ten minutes at most. */
const SETTLED_MS = 15 * MINUTE_MS

/** How a machine comes back from one reboot that its agent requested. */
export type Boot =
  | 'Returns'
  /** Ten minutes and more, still within the limit. */
  | 'Slow'
  /** Down until the provider restarts it, or a person does. */
  | 'Hangs'
  /** By itself, when it was given up. */
  | 'TooLate'
  /** The reboot never happens: another agent starts in the same boot. */
  | 'SameBoot'
  /** Up in time, but what the version is for does not show: as with the old kernel. */
  | 'OldKernel'
  /** Up in time, but its agent starts only now. */
  | 'LateAgent'
  /** Up in time and well, but it reaches no API server for a while. */
  | 'NoNetwork'
  /** Up in time and well, and no machine reaches the API server for longer than a hang takes. */
  | 'Outage'
  /** Up, the version starts, and all stops in its settle window. */
  | 'HangsLater'

/** What a provider does with an order to restart a host. */
export type Power = 'Does' | 'Lies' | 'Refuses' | 'Unclear' | 'Late' | 'Twice'

/** What a provider says about the power of a host: off and it is not, on and it is not, or it does not answer. */
export type Told = 'Truth' | 'Off' | 'On' | 'Nothing'

export interface Weather {
  readonly boot: () => Boot
  readonly power: () => Power
  readonly told: () => Told
  /** A planted bug: agents take the request for the beginning of the boot. */
  readonly forgets?: boolean
  /** A planted bug: a kernel is the default before it was healthy. */
  readonly armsForGood?: boolean
}

export const BOOTS: readonly Boot[] = [
  'Returns',
  'Slow',
  'Hangs',
  'TooLate',
  'SameBoot',
  'OldKernel',
  'LateAgent',
  'NoNetwork',
  'Outage',
  'HangsLater',
]
export const POWERS: readonly Power[] = ['Does', 'Lies', 'Refuses', 'Unclear', 'Late', 'Twice']

const TOLD: readonly Told[] = ['Truth', 'Off', 'On', 'Nothing']
export const TALES = { Off: 'said to be off and is not', On: 'said to be on and is not' }

/** Half of the boots are fine, or no rollout would get anywhere. */
export function badWeather(seed: number): Weather {
  const random = seededRandom(seed * 6_997 + 5)
  const tales = seededRandom(seed * 6_991 + 7)
  return {
    boot: () => (random.below(2) === 0 ? 'Returns' : (BOOTS[random.below(BOOTS.length)] ?? 'Returns')),
    power: () => POWERS[random.below(POWERS.length)] ?? 'Does',
    told: () => TOLD[tales.below(TOLD.length)] ?? 'Truth',
  }
}

/** As the fleet of a rollout begins. */
const FIRST_BOOT = 'boot'
const LAST_REPORT_MS = 1_000

/** Until the first report of a new boot is known to the controllers: they may have decided before. */
const FIRST_REPORT_MS = 1_000
/** A provider notices in the end that a host is up. */
const TALE_MS = 10 * MINUTE_MS

const GOOD_WEATHER: Weather = { boot: () => 'Returns', power: () => 'Does', told: () => 'Truth' }

interface Request {
  readonly machine: string
  readonly permit: string | undefined
}

/** One reboot of a machine to a version or back, from the request until its agent is heard again. */
interface Reboot {
  /** The attempt of a component. */
  readonly attempt: string
  readonly isBack: boolean
  readonly at: number
  readonly boot: string
}

export class Reboots {
  /** Requested and not judged yet. */
  #requests: Request[] = []
  readonly #under = new Map<string, Reboot>()
  /** Boots in which a reboot for this attempt was requested, by attempt and direction. */
  readonly #bootsOf = new Map<string, Set<string>>()
  /** Attempts whose machine did not return in time, and when it did. */
  readonly #overdue = new Map<string, { readonly machine: string; readonly at: number }>()
  /** The version that a machine was rebooted for and that its boot did not bring. */
  readonly #oldKernel = new Map<string, string | undefined>()
  readonly #generation = new Map<string, number>()
  /** Machines whose next boot follows an orderly shutdown. */
  readonly #isShutDown = new Set<string>()
  readonly #told = new Map<string, Told>()
  readonly #upAt = new Map<string, number>()
  /** To the provider, by reboot. */
  readonly #orders = new Map<string, number>()
  /** What happened and was not counted yet. */
  #happened: string[] = []
  #agents: Agents | undefined
  #clock: Pick<Clock, 'after' | 'now'> | undefined
  #nodeReady: (machine: string, isReady: boolean) => void = () => undefined
  #wrong: string | undefined
  /** Networks that are lost. */
  #cutOffs = 0
  weather = GOOD_WEATHER
  count = 0

  begin(agents: Agents, clock: Pick<Clock, 'after' | 'now'>): void {
    this.#agents = agents
    this.#clock = clock
  }

  /** Nodes tell whether their machine is up. */
  showOn(nodeReady: (machine: string, isReady: boolean) => void): void {
    this.#nodeReady = nodeReady
  }

  /** Machines are away, or may still be cut off. */
  get isPending(): boolean {
    return this.#under.size + this.#cutOffs > 0
  }

  isOldKernelFor(machine: string, version: string): boolean {
    return this.#oldKernel.get(machine) === version
  }

  request(machine: string): void {
    const [agents, clock] = [this.#agents, this.#clock]
    if (agents === undefined || clock === undefined) return
    const records = agents.fleet?.node(machine)?.records() ?? []
    const record = records.find((r) => r.open?.reboot !== undefined)
    const isBack = record?.open?.phase === 'GoingBack'
    const attempt = `${machine} ${record?.component} ${record?.target.attempt}`
    this.#requests.push({ machine, permit: record?.open?.permit })
    this.#noteBoot(`${attempt}${isBack ? ' back' : ''}`, this.#bootOf(machine))
    if (!isBack && this.#overdue.has(attempt)) this.#wrong ??= `${attempt}: rebooted again for a version that hung`
    this.#under.set(machine, { attempt, isBack, at: clock.now(), boot: this.#bootOf(machine) })
    this.count++
    this.#isShutDown.add(machine)
    this.#told.set(machine, this.weather.told())
    this.#go(machine, this.weather.boot())
  }

  /** What the provider makes of an order. */
  provider(provider: Provider): Provider {
    return overridden(provider, {
      reboot: async (providerID) => {
        const host = this.#agents?.hosts.get(providerID)
        if (host === undefined) return 'Gone'
        return this.#order(host.machine)
      },
      get: async (providerID) => {
        const host = await provider.get(providerID)
        return host && this.#shown(host)
      },
      list: async () => {
        const { hosts, asOf } = await provider.list()
        return { hosts: hosts.map((h) => this.#shown(h)), asOf }
      },
    })
  }

  #shown(host: Host): Host {
    const told = this.#told.get(host.machine) ?? 'Truth'
    if (told === 'Nothing') throw new Error('the rack controller does not answer')
    const isOn = !this.#under.has(host.machine)
    const isShownOn = told === 'Truth' ? isOn : told === 'On'
    if (isShownOn !== isOn) this.#happened.push(isOn ? TALES.Off : TALES.On)
    return { ...host, state: isShownOn ? 'Running' : 'Stopped' }
  }

  #noteBoot(way: string, boot: string): void {
    const boots = this.#bootsOf.get(way) ?? new Set()
    this.#bootsOf.set(way, boots.add(boot))
    if (boots.size > 1) this.#wrong ??= `${way}: reboots in ${boots.size} boots`
  }

  #noteOrder(reboot: string): void {
    const orders = (this.#orders.get(reboot) ?? 0) + 1
    this.#orders.set(reboot, orders)
    if (orders > 1) this.#wrong ??= `${reboot}: ${orders} orders to its provider`
  }

  #bootOf(machine: string): string {
    const boot = this.#generation.get(machine)
    return boot === undefined ? FIRST_BOOT : `boot-${boot}`
  }

  #go(machine: string, way: Boot): void {
    this.#happened.push(`boot ${way}`)
    const [clock, own] = [this.#clock, this.#generation.get(machine)]
    // Whatever was on its way ends with the power.
    const later = (ms: number, then: () => void) =>
      void clock?.after(ms, () => this.#generation.get(machine) === own && then())
    const bootedAt = (clock?.now() ?? 0) + BOOT_MS
    // It has sent its last report by then.
    later(LAST_REPORT_MS, () => this.#under.has(machine) && this.#down(machine))
    later(PERSON_MS, () => this.#under.has(machine) && this.#boot(machine))
    switch (way) {
      case 'Returns':
        return later(BOOT_MS, () => this.#boot(machine))
      case 'Slow':
        return later((10 + (this.count % 4)) * MINUTE_MS, () => this.#boot(machine))
      case 'Hangs':
        // The boot loader has booted it once.
        return this.#start(machine)
      case 'TooLate':
        return later(19 * MINUTE_MS, () => this.#boot(machine))
      case 'SameBoot':
        return later(BOOT_MS, () => this.#up(machine, this.#bootOf(machine)))
      case 'OldKernel':
        return later(BOOT_MS, () => {
          if (this.#agents?.kernels !== undefined) return this.#boot(machine, bootedAt, true)
          const { open } =
            this.#agents?.fleet
              ?.node(machine)
              ?.records()
              .find((r) => r.open?.reboot) ?? {}
          this.#oldKernel.set(machine, open?.phase === 'GoingBack' ? undefined : open?.to.version)
          return this.#boot(machine, bootedAt, true)
        })
      case 'LateAgent':
        return later(15.8 * MINUTE_MS, () => this.#boot(machine, bootedAt))
      case 'NoNetwork':
        return later(BOOT_MS, () => {
          this.#boot(machine, bootedAt)
          this.#cutOff([machine], 12 * MINUTE_MS)
        })
      case 'Outage':
        return later(BOOT_MS, () => {
          this.#boot(machine, bootedAt)
          this.#cutOff(
            [...(this.#agents?.hosts.values() ?? [])].map((h) => h.machine),
            25 * MINUTE_MS,
          )
        })
      case 'HangsLater':
        return later(BOOT_MS, () => {
          this.#boot(machine, bootedAt)
          // Within its settle window of a second.
          this.#clock?.after(500, () => this.#hangAgain(machine))
        })
      default:
        return way satisfies never
    }
  }

  #hangAgain(machine: string): void {
    const record = this.#agents?.fleet
      ?.node(machine)
      ?.records()
      .find((r) => r.open?.reboot?.boot !== undefined)
    if (record === undefined || record.open?.phase !== 'Probing') return
    this.#happened.push('hung in the settle window')
    const attempt = `${machine} ${record.component} ${record.target.attempt}`
    const boot = this.#bootOf(machine)
    this.#under.set(machine, { attempt, isBack: false, at: this.#clock?.now() ?? 0, boot })
    this.#down(machine)
    void this.#agents?.fleet?.node(machine)?.close()
    const own = this.#generation.get(machine)
    this.#clock?.after(PERSON_MS, () => this.#generation.get(machine) === own && this.#boot(machine))
  }

  #down(machine: string): void {
    this.#agents?.silence([machine])
    this.#nodeReady(machine, false)
  }

  #start(machine: string, panics = false): void {
    this.#agents?.kernels?.boot(machine, this.#isShutDown.delete(machine) ? 'Shutdown' : 'PowerCut', panics)
  }

  #boot(machine: string, bootedAt = this.#clock?.now() ?? 0, isOldKernel = false): void {
    this.#start(machine, isOldKernel)
    const boot = (this.#generation.get(machine) ?? 0) + 1
    this.#generation.set(machine, boot)
    if (!isOldKernel) this.#oldKernel.delete(machine)
    const under = this.#under.get(machine)
    if (under !== undefined && !under.isBack && bootedAt - under.at > RETURNS_WITHIN_MS) {
      this.#happened.push('returned too late')
      this.#overdue.set(under.attempt, { machine, at: this.#clock?.now() ?? 0 })
    }
    this.#up(machine, `boot-${boot}`, bootedAt)
  }

  #up(machine: string, boot: string, bootedAt?: number): void {
    const agents = this.#agents
    const under = this.#under.get(machine)
    this.#under.delete(machine)
    this.#upAt.set(machine, this.#clock?.now() ?? 0)
    this.#isShutDown.delete(machine)
    this.#told.set(machine, this.weather.told())
    const own = this.#generation.get(machine)
    this.#clock?.after(TALE_MS, () => this.#generation.get(machine) === own && this.#told.delete(machine))
    agents?.silent.delete(machine)
    this.#nodeReady(machine, true)
    const told = this.weather.forgets === true ? under?.at : bootedAt
    void agents?.fleet?.reboot?.(machine, boot, told === undefined ? {} : { bootedAt: told })
  }

  /** Up and well, but silent. */
  #cutOff(machines: readonly string[], ms: number): void {
    for (const machine of machines) if (!this.#under.has(machine)) this.#down(machine)
    this.#cutOffs++
    this.#clock?.after(ms, () => {
      this.#cutOffs--
      for (const machine of machines) {
        if (this.#under.has(machine)) continue
        this.#nodeReady(machine, true)
        this.#agents?.silent.delete(machine)
        this.#agents?.fleet?.node(machine)?.noteAnswer()
      }
    })
  }

  #order(machine: string): 'Ordered' {
    const under = this.#under.get(machine)
    const upMs = (this.#clock?.now() ?? 0) - (this.#upAt.get(machine) ?? -Infinity)
    if (under === undefined && upMs < FIRST_REPORT_MS) this.#happened.push('ordered as it came back')
    else if (under === undefined) this.#wrong ??= `${machine} is restarted by its provider although it is up`
    else this.#noteOrder(`${under.attempt}${under.isBack ? ' back' : ''} in ${under.boot}`)
    const how = this.weather.power()
    this.#happened.push(`power ${how}`)
    const own = this.#generation.get(machine)
    const cut = (ms: number, isSure = false) =>
      void this.#clock?.after(ms, () => {
        // An order that comes late cuts off whatever runs by then.
        if (!isSure && this.#generation.get(machine) !== own) return
        this.#down(machine)
        this.#boot(machine)
      })
    switch (how) {
      case 'Does':
        cut(MINUTE_MS)
        return 'Ordered'
      case 'Lies':
        return 'Ordered'
      case 'Refuses':
        throw new Error('the rack controller refuses')
      case 'Unclear':
        cut(MINUTE_MS)
        throw new Error('the rack controller does not answer')
      case 'Late':
        cut(9 * MINUTE_MS, true)
        return 'Ordered'
      case 'Twice':
        cut(MINUTE_MS)
        cut(2 * MINUTE_MS, true)
        return 'Ordered'
      default:
        return how satisfies never
    }
  }

  /** What is wrong with the reboots until now. */
  problem(world: World, limit: number): string | undefined {
    const { fake } = world
    for (const what of this.#happened.splice(0)) world.count(what)
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
    return this.#wrong ?? this.#keptAnyway() ?? this.#bootsAnother()
  }

  #bootsAnother(): string | undefined {
    const { kernels, fleet, hosts } = this.#agents ?? {}
    // A machine that is down has no agent that decides.
    const up = [...(hosts?.values() ?? [])].map((h) => h.machine).filter((machine) => !this.#under.has(machine))
    return kernels?.problem(new Map(up.map((machine) => [machine, fleet?.node(machine)?.records() ?? []])))
  }

  /** The old version first: whatever hung is not what the machine ends with. */
  #keptAnyway(): string | undefined {
    const now = this.#clock?.now() ?? 0
    for (const [attempt, { machine, at }] of this.#overdue) {
      if (now - at < SETTLED_MS || this.#under.has(machine)) continue
      const records = this.#agents?.fleet?.node(machine)?.records() ?? []
      const record = records.find((r) => `${machine} ${r.component} ${r.target.attempt}` === attempt)
      if (record?.state === 'Healthy') return `${attempt}: keeps ${record.target.version}, which had hung`
      this.#overdue.delete(attempt)
    }
    return undefined
  }
}
