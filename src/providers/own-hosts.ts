// A provider whose account several clusters use: its lists have the hosts of all of them. A cluster gets only the hosts of its own Machines, and no order of it
// reaches another host, whatever ids its objects name.
import type { HostList, MaintenanceList, Provider } from './port.ts'

type Call = (...args: readonly unknown[]) => Promise<unknown>
type Bound = (provider: Provider, ownUids: () => ReadonlySet<string>, call: Call) => Call

/** To a cluster that names it, a host of another one does not exist. */
const onOwnHost: Bound =
  (provider, ownUids, call) =>
  async (providerID, ...rest) => {
    const host = await provider.get(String(providerID))
    return host === undefined || ownUids().has(host.machineUid) ? call(providerID, ...rest) : 'Gone'
  }

const ownList: Bound = (_, ownUids, call) => async (signal) => {
  const list = (await call(signal)) as HostList
  const own = ownUids()
  return { ...list, hosts: list.hosts.filter(({ machineUid }) => own.has(machineUid)) }
}

async function ownMaintenance(
  provider: Provider,
  ownUids: () => ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<MaintenanceList | undefined> {
  const list = await provider.maintenance?.(signal)
  if (list === undefined) return undefined
  const { hosts } = await provider.list(signal)
  const own = ownUids()
  const ids = new Set(hosts.flatMap((h) => (own.has(h.machineUid) ? [h.providerID] : [])))
  return { ...list, events: list.events.filter(({ providerID }) => ids.has(providerID)) }
}

const BOUNDS: ReadonlyMap<string | symbol, Bound> = new Map<string, Bound>([
  ['list', ownList],
  ['delete', onOwnHost],
  ['reboot', onOwnHost],
  ['power', onOwnHost],
  ['reportFault', onOwnHost],
  ['maintenance', (provider, ownUids) => (signal) => ownMaintenance(provider, ownUids, signal as AbortSignal)],
  [
    'respond',
    // The event may be one that a person wrote down.
    (provider, ownUids, call) => async (eventId, answer, signal) => {
      const list = await ownMaintenance(provider, ownUids, signal as AbortSignal)
      return list?.events.some((e) => e.eventId === eventId) === true ? call(eventId, answer, signal) : 'Refused'
    },
  ],
])

/** `ownUids`: of the Machines of this cluster; throws while they are not known. Abilities of a provider in another program change at run time. */
export const ownHostsOf = (provider: Provider, ownUids: () => ReadonlySet<string>): Provider =>
  new Proxy(provider, {
    get: (target, key): unknown => {
      const found: unknown = Reflect.get(target, key, target)
      if (typeof found !== 'function') return found
      const call = found.bind(target) as Call
      return BOUNDS.get(key)?.(target, ownUids, call) ?? call
    },
  })
