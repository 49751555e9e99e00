// The latest host list of each provider. One list a minute shows hosts that stopped, disappeared, or belong to no machine, for all machines at once.
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { Host, Provider } from '#providers/port.ts'
import type { Part } from '#runtime/manager.ts'
import type { HostSeen } from '../seen.ts'

const LIST_EVERY_MS = 60_000
/** A list older than this is stale. */
const STALE_AFTER_MS = 3 * LIST_EVERY_MS

interface Listed {
  readonly at: number
  readonly hosts: ReadonlyMap<string, Host>
  readonly tokens: ReadonlyMap<string, Host>
}

export type ListedHost = Extract<HostSeen, { readonly kind: 'Host' | 'NotAsked' }> | { readonly kind: 'Missing' }

export interface HostListsOptions {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly providers: readonly Provider[]
  /** A host appeared, disappeared or changed. */
  readonly onChange: (machine: string, provider: string) => void
  /** The provider lists again after a failure. */
  readonly onBack: (provider: string) => void
  /** Called after each complete list. */
  readonly onList: (provider: Provider, hosts: readonly Host[], signal: AbortSignal) => Promise<void>
}

export class HostLists {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #lists = new Map<string, Listed>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Stores a list. Returns the machines whose entry changed. */
  note(provider: string, hosts: readonly Host[]): readonly string[] {
    const before = this.#lists.get(provider)?.hosts ?? new Map<string, Host>()
    const now = new Map(hosts.map((h) => [h.providerID, h]))
    const tokens = new Map(hosts.filter((h) => h.state !== 'Deleting').map((h) => [h.clientToken, h]))
    this.#lists.set(provider, { at: this.#clock.monotonic(), hosts: now, tokens })
    const changed = [...now.values()].filter((h) => isOther(before.get(h.providerID), h))
    const removed = [...before.values()].filter((h) => !now.has(h.providerID))
    return [...new Set([...changed, ...removed].map((h) => h.machine))]
  }

  /** `NotAsked` while no list is fresh: nothing can be concluded. */
  read(provider: string, providerID: string, machineUid: string): ListedHost {
    const list = this.#lists.get(provider)
    if (list === undefined || this.#clock.monotonic() - list.at > STALE_AFTER_MS) return { kind: 'NotAsked' }
    const host = list.hosts.get(providerID)
    return host?.machineUid === machineUid ? { kind: 'Host', host } : { kind: 'Missing' }
  }

  /** The host that an attempt created, if the latest list shows it already. */
  ofMachine(provider: string, machineUid: string, token: string | undefined): Host | undefined {
    if (token === undefined) return undefined
    const list = this.#lists.get(provider)
    if (list === undefined || this.#clock.monotonic() - list.at > STALE_AFTER_MS) return undefined
    return list.tokens.get(token)?.machineUid === machineUid ? list.tokens.get(token) : undefined
  }
}

const isOther = (a: Host | undefined, b: Host): boolean =>
  a === undefined || a.state !== b.state || a.machineUid !== b.machineUid || a.address !== b.address

/** One loop per provider, for as long as this process leads. */
export function hostListParts(lists: HostLists, options: HostListsOptions): readonly Part[] {
  return options.providers.map((provider): Part => {
    const stop = new AbortController()
    let running: Promise<void> | undefined
    return {
      name: `hosts of provider ${provider.name}`,
      start: () => {
        running = listForever(lists, provider, options, stop.signal)
      },
      stop: async () => {
        stop.abort()
        await running
      },
    }
  })
}

async function listForever(
  lists: HostLists,
  provider: Provider,
  { clock, random, log, onChange, onBack, onList }: HostListsOptions,
  signal: AbortSignal,
): Promise<void> {
  let isAway = false
  while (!signal.aborted) {
    try {
      const { hosts } = await provider.list(signal)
      if (isAway) onBack(provider.name)
      isAway = false
      for (const machine of lists.note(provider.name, hosts)) onChange(machine, provider.name)
      await onList(provider, hosts, signal)
    } catch (error) {
      isAway = true
      if (!signal.aborted) log.warn('cannot list the hosts of a provider', { provider: provider.name, error })
    }
    await clock.sleep(random.jitter(LIST_EVERY_MS), signal).catch(() => undefined)
  }
}
