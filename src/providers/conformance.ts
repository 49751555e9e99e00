// What every infra provider must do, as cases for any test runner and any provider: repeatable calls, honest absence, no second host, no hidden orphan.
import type { JoinBundle } from '#api/join-bundle.ts'
import type { Capabilities, CreateResult, Host, HostRequest, Provider } from './port.ts'

export interface ConformanceTools {
  readonly provider: Provider
  /** Waits until the condition holds, for slow providers; throws if it never does. */
  readonly until: (holds: () => Promise<boolean>) => Promise<void>
  /** Parameters the provider needs for a host. */
  readonly params?: Readonly<Record<string, string>>
  /** The provider after a restart, as after a crash; the same one if that makes no difference. */
  readonly restarted?: () => Promise<Provider>
}

export interface ConformanceCase {
  readonly name: string
  /** For providers that create and switch hosts, not for ones whose hosts are kept. */
  readonly isAboutPower?: true
  /** False for a provider without the calls it tests. */
  needs?(provider: Provider): boolean
  /** Throws if the provider does not conform. */
  run(tools: ConformanceTools): Promise<void>
}

const join = (machine: string): JoinBundle => ({
  server: 'https://127.0.0.1:6443',
  caData: 'Q0E=',
  token: 'abcdef.0123456789abcdef',
  machine,
  node: machine,
  cluster: 'conformance',
  artifactBase: 'file:///nowhere/',
  trust: { sequence: 1, threshold: 1, keys: [] },
})

const requestFor = (machine: string, { params = {} }: ConformanceTools, owner = machine): HostRequest => ({
  clientToken: `token-${owner}`,
  machine,
  machineUid: `uid-${owner}`,
  params,
  join: join(machine),
})

class NotConforming extends Error {}

function must(holds: boolean, what: string): asserts holds {
  if (!holds) throw new NotConforming(what)
}

async function made(tools: ConformanceTools, machine: string, provider = tools.provider): Promise<Host> {
  const result = await provider.create(requestFor(machine, tools))
  must(result.kind === 'Host', `create of ${machine} returned ${answerText(result)}`)
  return result.host
}

/** The provider's message, such as about a parameter that the host needs. */
const answerText = (answer: CreateResult): string => {
  if (answer.kind === 'Refused' || answer.kind === 'Exhausted') return `${answer.kind}: ${answer.reason}`
  return answer.kind === 'Unknown' ? `${answer.kind}: ${answer.message}` : answer.kind
}

async function deleteAndWait({ provider, until }: ConformanceTools, providerID: string): Promise<void> {
  await provider.delete(providerID)
  await until(async () => (await provider.delete(providerID)) === 'Gone')
}

const hostsOf = async (provider: Provider, machine: string): Promise<readonly Host[]> =>
  (await provider.list()).hosts.filter((h) => h.machine === machine)

/** This many reads find a list that is sometimes incomplete, or a host that is absent once. */
const READS = 5

/** Enough at once to trigger a provider's limit, and few enough for real machines. */
const BURST = 5

export const CONFORMANCE: readonly ConformanceCase[] = [
  {
    name: 'get and list return the created host',
    run: async (tools) => {
      const host = await made(tools, 'found')
      const got = await tools.provider.get(host.providerID)
      must(got !== undefined, 'get does not find a host that create returned')
      must(
        got.clientToken === 'token-found' && got.machineUid === 'uid-found' && got.machine === 'found',
        'get returns a different host',
      )
      must((await hostsOf(tools.provider, 'found')).length === 1, 'list does not contain the host exactly once')
      await deleteAndWait(tools, host.providerID)
    },
  },
  {
    name: 'every read shows every host, however often it is repeated',
    run: async (tools) => {
      const { provider } = tools
      const hosts = [await made(tools, 'steady-0'), await made(tools, 'steady-1')]
      for (let i = 0; i < READS; i++) {
        const listed = new Set((await provider.list()).hosts.map((h) => h.providerID))
        for (const { providerID } of hosts) {
          must(listed.has(providerID), `a list does not contain ${providerID}, which another one contains`)
          const got = await provider.get(providerID)
          must(got !== undefined, `get does not find ${providerID}, which exists`)
          must(got.providerID === providerID, `get of ${providerID} returns ${got.providerID}`)
        }
      }
      for (const { providerID } of hosts) await deleteAndWait(tools, providerID)
    },
  },
  {
    name: 'a create repeated after a lost reply returns the same host',
    run: async (tools) => {
      const first = await made(tools, 'again')
      const second = await made(tools, 'again')
      must(first.providerID === second.providerID, 'the same token created two hosts')
      must(first.createdAt === second.createdAt, 'the host was created again')
      must((await hostsOf(tools.provider, 'again')).length === 1, 'a repeated create left a second host')
      await deleteAndWait(tools, first.providerID)
    },
  },
  {
    name: 'two concurrent creates return one host',
    run: async (tools) => {
      const [a, b] = await Promise.all([made(tools, 'twice'), made(tools, 'twice')])
      must(a.providerID === b.providerID, 'the same token created two hosts')
      must((await hostsOf(tools.provider, 'twice')).length === 1, 'two creates left two hosts')
      await deleteAndWait(tools, a.providerID)
    },
  },
  {
    name: 'a create repeated after a provider restart returns the same host',
    run: async (tools) => {
      const first = await made(tools, 'restart')
      const later = await tools.restarted?.()
      const second = await made(tools, 'restart', later ?? tools.provider)
      must(first.providerID === second.providerID, 'a restart created a second host')
      await deleteAndWait(tools, first.providerID)
    },
  },
  {
    name: 'another machine of the same name never gets the host of the first',
    run: async (tools) => {
      const host = await made(tools, 'taken')
      const other = await tools.provider.create(requestFor('taken', tools, 'another'))
      const isSeparate = other.kind !== 'Host' || other.host.providerID !== host.providerID
      must(isSeparate, 'a second machine with the same name got the host of the first')
      if (other.kind === 'Host') await deleteAndWait(tools, other.host.providerID)
      must((await tools.provider.get(host.providerID))?.machineUid === 'uid-taken', 'the host changed its owner')
      await deleteAndWait(tools, host.providerID)
    },
  },
  {
    name: 'a deleted host disappears from get and list, and a second delete returns Gone',
    run: async (tools) => {
      const host = await made(tools, 'ended')
      must((await tools.provider.delete(host.providerID)) !== 'Gone', 'delete returns Gone for an existing host')
      await tools.until(async () => (await tools.provider.get(host.providerID)) === undefined)
      must((await hostsOf(tools.provider, 'ended')).length === 0, 'list still contains a host that get does not find')
      must((await tools.provider.delete(host.providerID)) === 'Gone', 'a second delete does not return Gone')
    },
  },
  {
    name: 'another machine can reuse a name after its host was deleted',
    run: async (tools) => {
      const first = await made(tools, 'reused')
      await deleteAndWait(tools, first.providerID)
      const second = await tools.provider.create(requestFor('reused', tools, 'later'))
      must(second.kind === 'Host' && second.host.machineUid === 'uid-later', 'the name stays taken')
      await deleteAndWait(tools, second.host.providerID)
    },
  },
  {
    name: 'a slow create that timed out returns the same host when repeated',
    run: async (tools) => {
      const { provider } = tools
      const stop = new AbortController()
      const slow = provider.create(requestFor('slow', tools), stop.signal).catch(() => undefined)
      stop.abort()
      const [, host] = await Promise.all([slow, made(tools, 'slow')])
      must((await hostsOf(provider, 'slow')).length === 1, 'a create that timed out left a second host')
      await deleteAndWait(tools, host.providerID)
    },
  },
  {
    name: 'a delete repeated while the first is running ends in Gone',
    run: async (tools) => {
      const host = await made(tools, 'going')
      await Promise.all([tools.provider.delete(host.providerID), tools.provider.delete(host.providerID)])
      await tools.until(async () => (await tools.provider.delete(host.providerID)) === 'Gone')
      must((await tools.provider.get(host.providerID)) === undefined, 'get finds a deleted host')
    },
  },
  {
    name: 'a host being deleted is never reported as running',
    run: async (tools) => {
      const host = await made(tools, 'leaving')
      await tools.provider.delete(host.providerID)
      const state = (await tools.provider.get(host.providerID))?.state ?? 'Deleting'
      must(state === 'Deleting', `a deleted host is reported as ${state}`)
      await deleteAndWait(tools, host.providerID)
    },
  },
  {
    name: 'many concurrent requests each create one host or return a retry time',
    run: async (tools) => {
      const { provider, until } = tools
      const names = Array.from({ length: BURST }, (_, i) => `burst-${i}`)
      const first = await Promise.all(names.map((n) => provider.create(requestFor(n, tools))))
      for (const answer of first)
        must(
          answer.kind !== 'Throttled' || (Number.isFinite(answer.retryAfterMs) && answer.retryAfterMs > 0),
          'a throttled request has no retry time',
        )
      const hosts: Host[] = []
      for (const n of names) {
        await until(async () => {
          const answer = await provider.create(requestFor(n, tools))
          // The same request stays refused: waiting would only hide the reason.
          must(answer.kind !== 'Refused', `create of ${n} returned ${answerText(answer)}`)
          return answer.kind === 'Host'
        })
        hosts.push(await made(tools, n))
        must((await hostsOf(provider, n)).length === 1, 'a throttled request left a second host')
      }
      await Promise.all(hosts.map((h) => deleteAndWait(tools, h.providerID)))
    },
  },
  {
    name: 'every id begins with the provider name and is listed once',
    run: async (tools) => {
      const host = await made(tools, 'named')
      const ids = (await tools.provider.list()).hosts.map((h) => h.providerID)
      must(
        ids.every((id) => id.startsWith(`${tools.provider.name}://`)),
        'an id does not begin with the provider name',
      )
      must(new Set(ids).size === ids.length, 'an id is listed twice')
      await deleteAndWait(tools, host.providerID)
    },
  },
  {
    name: 'a reboot shows as another boot id of the same host, where boots can be seen',
    isAboutPower: true,
    run: async (tools) => {
      const host = await made(tools, 'rebooted')
      must((await tools.provider.reboot(host.providerID)) === 'Ordered', 'reboot does not find the host')
      // A provider that cannot observe boots never has a boot id.
      if (host.bootID !== undefined)
        await tools.until(async () => (await tools.provider.get(host.providerID))?.bootID !== host.bootID)
      const after = await tools.provider.get(host.providerID)
      must(after?.machineUid === host.machineUid, 'the host changed its owner after a reboot')
      await deleteAndWait(tools, host.providerID)
    },
  },
  {
    name: 'a host that was switched off is Stopped until it is switched on',
    isAboutPower: true,
    needs: (provider) => provider.power !== undefined,
    run: async (tools) => {
      const { provider, until } = tools
      if (provider.power === undefined) return
      const host = await made(tools, 'switched')
      const is = (state: Host['state']) => async () => (await provider.get(host.providerID))?.state === state
      must((await provider.power(host.providerID, 'Off', { hard: true })) === 'Ordered', 'power does not find the host')
      await until(is('Stopped'))
      must((await provider.power(host.providerID, 'Off')) === 'Ordered', 'a repeated power off does not find the host')
      must(await is('Stopped')(), 'a repeated power off started the host')
      must((await provider.power(host.providerID, 'On')) === 'Ordered', 'power does not find a stopped host')
      await until(is('Running'))
      must((await provider.get(host.providerID))?.machineUid === host.machineUid, 'the host changed its owner')
      await deleteAndWait(tools, host.providerID)
      must((await provider.power(host.providerID, 'On')) === 'Gone', 'power does not return Gone for a deleted host')
    },
  },
  {
    name: 'maintenance is a complete list with a time, and an answer to an unknown event has no effect',
    needs: (provider) => provider.maintenance !== undefined,
    run: async ({ provider }) => {
      if (provider.maintenance === undefined) return
      const { events, asOf } = await provider.maintenance()
      must(!Number.isNaN(Date.parse(asOf)), 'the list of maintenance has no time')
      must(new Set(events.map((e) => e.eventId)).size === events.length, 'an event is listed twice')
      const answered = await provider.respond?.('never-announced', { kind: 'Accept' })
      must(answered === undefined || answered !== 'Ordered', 'an answer to an unknown event was accepted')
    },
  },
  {
    name: 'an unknown id is absent, and operations on it have no effect',
    run: async ({ provider }) => {
      const id = `${provider.name}://never-made`
      must((await provider.get(id)) === undefined, 'get finds a host that never existed')
      must((await provider.delete(id)) === 'Gone', 'delete does not return Gone for a host that never existed')
      must((await provider.reboot(id)) === 'Gone', 'reboot does not return Gone for a host that never existed')
    },
  },
  {
    name: 'a host without a machine is still listed, with its token',
    run: async (tools) => {
      const host = await made(tools, 'orphan')
      const later = (await tools.restarted?.()) ?? tools.provider
      const [orphan] = await hostsOf(later, 'orphan')
      must(orphan?.clientToken === 'token-orphan', 'an orphaned host is not listed')
      await deleteAndWait({ ...tools, provider: later }, host.providerID)
    },
  },
]

/** The cases that a provider must pass. */
export const conformanceFor = ({ isHostKept }: Pick<Capabilities, 'isHostKept'>): readonly ConformanceCase[] =>
  isHostKept ? CONFORMANCE.filter((c) => c.isAboutPower !== true) : CONFORMANCE
