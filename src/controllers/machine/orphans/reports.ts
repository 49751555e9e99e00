// The list of hosts without a Machine, for people: a ConfigMap with a key per provider. A person approves a host's deletion on the same object, by
// its id and the uid of the Machine it was created for.
import { objectIn } from '#lib/fields.ts'
import { ANNOTATIONS, FIELD_MANAGERS, ORPHAN_HOSTS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { type OrphanApprovals, orphanApprovalsIn, orphanApprovalsText } from '#api/protocol/orphan-approvals.ts'
import { type Clock, timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Host } from '#providers/port.ts'
import type { ControllerContext } from '../../module.ts'
import { configMapType, type ConfigMap } from '../secrets/config-map.ts'

/** Beyond this, hosts are only counted: a list that long means the Machines were lost. */
const MOST_LISTED = 200

const fieldManager = FIELD_MANAGERS.machine
const key = { namespace: SYSTEM_NAMESPACE, name: ORPHAN_HOSTS }
const identity = { apiVersion: 'v1', kind: 'ConfigMap', metadata: key }

export interface OrphanEntry {
  readonly host: Host
  /** When it was first listed without a Machine. */
  readonly sinceMs: number
  readonly why: string | undefined
  /** Its Node or agent that was observed. */
  readonly heard: string | undefined
}

export interface OrphanReportTools {
  readonly client: KubeClient
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  readonly events: Pick<ControllerContext['events'], 'record'>
}

export class OrphanReports {
  readonly #tools: OrphanReportTools
  /** The object's content per provider, as last read or written. Undefined: not known yet. */
  readonly #published = new Map<string, string>()
  /** By provider: the hosts of the previous list. */
  readonly #reported = new Map<string, ReadonlySet<string>>()
  /** By provider and host: what an earlier process observed. */
  readonly #heard = new Map<string, ReadonlyMap<string, string>>()
  #approved: OrphanApprovals = new Map()

  constructor(tools: OrphanReportTools) {
    this.#tools = tools
  }

  /** As of the last read of the object. An approval does not count if its id was given to another host since. */
  isApproved({ providerID, machineUid }: Host): boolean {
    return this.#approved.get(providerID)?.machineUid === machineUid
  }

  /** Reads once what earlier processes observed. False: the read failed, so no host is known to be unused. */
  async begin(provider: string, signal: AbortSignal): Promise<boolean> {
    if (this.#heard.has(provider)) return true
    try {
      const found = await this.#read(signal)
      this.#heard.set(provider, sightingsIn(found?.data?.[provider]))
      return true
    } catch (error) {
      const { log } = this.#tools
      if (!signal.aborted) log.warn('cannot read the list of hosts without a Machine', { provider, error })
      return false
    }
  }

  /** What was observed of this host before this process started. */
  recordedSighting(provider: string, { providerID }: Host): string | undefined {
    return this.#heard.get(provider)?.get(providerID)
  }

  /** Asks the server: an approval may be withdrawn at any time. */
  async isStillApproved(host: Host, signal: AbortSignal): Promise<boolean> {
    await this.#read(signal)
    return this.isApproved(host)
  }

  /** Without orphans, nothing is read or written after the first time. */
  async publish(provider: string, entries: readonly OrphanEntry[], signal: AbortSignal): Promise<void> {
    const { log } = this.#tools
    if (entries.length === 0 && this.#published.get(provider) === '') return
    try {
      await this.#write(provider, entries, signal)
      this.#log(provider, entries)
    } catch (error) {
      if (!signal.aborted) log.warn('cannot publish the list of hosts without a Machine', { provider, error })
    }
  }

  async #write(provider: string, entries: readonly OrphanEntry[], signal: AbortSignal): Promise<void> {
    const { client } = this.#tools
    const text = entriesText(entries)
    const found = await this.#read(signal)
    const before = found?.data?.[provider] ?? ''
    this.#published.set(provider, before)
    const annotations = this.#withdrawn(provider, entries, found)
    if (before === text && annotations === undefined) return
    if (found === undefined)
      await client.create(configMapType, { ...identity, data: { [provider]: text } }, { fieldManager, signal })
    else {
      const { resourceVersion } = found.metadata
      // Does not overwrite an approval made at this moment.
      const metadata = annotations !== undefined && {
        metadata: { ...defined({ resourceVersion }), annotations },
      }
      const value = { ...metadata, data: { [provider]: text === '' ? null : text } }
      await client.patch(configMapType, key, { type: 'merge', value }, { fieldManager, signal })
    }
    this.#published.set(provider, text)
  }

  /**
   * Removes approvals of hosts that are in use, deleted, or claimed for another Machine, and approvals given too early. Undefined if there are none.
   */
  #withdrawn(
    provider: string,
    entries: readonly OrphanEntry[],
    found: ConfigMap | undefined,
  ): Readonly<Record<string, string | null>> | undefined {
    const text = found?.metadata.annotations?.[ANNOTATIONS.approvedOrphans]
    if (text === undefined) return undefined
    const claims = new Map(entries.map(({ host }) => [host.providerID, host.machineUid]))
    const isOther = (host: string) => !host.startsWith(`${provider}://`)
    const kept = new Map(
      [...this.#approved].filter(([host, { machineUid }]) => isOther(host) || claims.get(host) === machineUid),
    )
    const next = orphanApprovalsText(kept)
    return next === text ? undefined : { [ANNOTATIONS.approvedOrphans]: kept.size === 0 ? null : next }
  }

  async #read(signal: AbortSignal): Promise<ConfigMap | undefined> {
    const { client, clock } = this.#tools
    const found = await client.get<ConfigMap>(configMapType, key, { signal })
    this.#approved = orphanApprovalsIn(found?.metadata.annotations?.[ANNOTATIONS.approvedOrphans], clock.now())
    return found
  }

  #log(provider: string, entries: readonly OrphanEntry[]): void {
    const before = this.#reported.get(provider)
    for (const { host } of entries.slice(0, MOST_LISTED))
      if (before?.has(host.providerID) !== true)
        this.#tools.events.record(identity, {
          type: 'Warning',
          reason: 'HostWithoutMachine',
          action: 'Reconcile',
          note: `host ${host.providerID}, made for machine ${host.machine}, belongs to no Machine; see kubenode provider orphans`,
        })
    this.#reported.set(provider, new Set(entries.map((e) => e.host.providerID)))
  }
}

function entriesText(entries: readonly OrphanEntry[]): string {
  if (entries.length === 0) return ''
  const hosts = entries
    .toSorted((a, b) => (a.host.providerID < b.host.providerID ? -1 : 1))
    .slice(0, MOST_LISTED)
    .map(({ host, sinceMs, why, heard }) => ({
      host: host.providerID,
      machine: host.machine,
      machineUid: host.machineUid,
      state: host.state,
      // Rounded to the minute: otherwise a list every minute would write each time.
      since: timestamp(Math.round(sinceMs / 60_000) * 60_000),
      ...defined({ why }),
      // The next process reads it from here.
      ...defined({ heard }),
    }))
  return JSON.stringify({ total: entries.length, hosts })
}

function sightingsIn(text: string | undefined): ReadonlyMap<string, string> {
  const value = objectIn(text)['hosts']
  const hosts: readonly unknown[] = Array.isArray(value) ? value : []
  return new Map(
    hosts.flatMap((h) => {
      const { host, heard } = isObject(h) ? h : {}
      return typeof host === 'string' && typeof heard === 'string' ? [[host, heard] as const] : []
    }),
  )
}
