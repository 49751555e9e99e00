// What every infra provider must do, as cases that any test runner can run against any provider: repeatable calls, honest absence, no second host, no orphan unseen.
import type { JoinBundle } from '#api/join-bundle.ts'
import type { Host, HostRequest, Provider } from './port.ts'

export interface ConformanceTools {
  readonly provider: Provider
  /** Waits until the condition holds, for providers that take their time; throws when it never does. */
  readonly until: (holds: () => Promise<boolean>) => Promise<void>
  /** Parameters that the provider needs for a host. */
  readonly params?: Readonly<Record<string, string>>
  /** A provider that was started anew, as after a crash of ours; the same one where there is no difference. */
  readonly restarted?: () => Promise<Provider>
}

export interface ConformanceCase {
  readonly name: string
  /** About hosts that the provider makes and switches; not for one whose hosts are kept. */
  readonly isAboutPower?: true
  /** Throws when the provider does not conform. */
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

const requestFor = (
  machine: string,
  { params = {} }: ConformanceTools,
  clientToken = `token-${machine}`,
): HostRequest => ({
  clientToken,
  machine,
  params,
  join: join(machine),
})

class NotConforming extends Error {}

function must(holds: boolean, what: string): asserts holds {
  if (!holds) throw new NotConforming(what)
}

async function made(tools: ConformanceTools, machine: string, provider = tools.provider): Promise<Host> {
  const result = await provider.create(requestFor(machine, tools))
  must(result.kind === 'Host', `create of ${machine} answered ${result.kind}`)
  return result.host
}

async function gone({ provider, until }: ConformanceTools, providerID: string): Promise<void> {
  await provider.delete(providerID)
  await until(async () => (await provider.delete(providerID)) === 'Gone')
}

const hostsOf = async (provider: Provider, machine: string): Promise<readonly Host[]> =>
  (await provider.list()).filter((h) => h.machine === machine)

/** Enough at once that a provider with a limit shows it, and few enough for real machines. */
const BURST = 5

export const CONFORMANCE: readonly ConformanceCase[] = [
  {
    name: 'a host is found by its id and in the list, as it was asked for',
    run: async (tools) => {
      const host = await made(tools, 'found')
      const got = await tools.provider.get(host.providerID)
      must(got !== undefined, 'get does not know a host that create answered')
      must(got.clientToken === 'token-found' && got.machine === 'found', 'get answers another host')
      must((await hostsOf(tools.provider, 'found')).length === 1, 'list does not hold the host exactly once')
      await gone(tools, host.providerID)
    },
  },
  {
    name: 'a create that is repeated after a lost reply is the same host',
    run: async (tools) => {
      const first = await made(tools, 'again')
      const second = await made(tools, 'again')
      must(first.providerID === second.providerID, 'the same token made two hosts')
      must(first.createdAt === second.createdAt, 'the host was made anew')
      must((await hostsOf(tools.provider, 'again')).length === 1, 'a repeated create left a second host')
      await gone(tools, first.providerID)
    },
  },
  {
    name: 'two creates at the same time are one host',
    run: async (tools) => {
      const [a, b] = await Promise.all([made(tools, 'twice'), made(tools, 'twice')])
      must(a.providerID === b.providerID, 'the same token made two hosts')
      must((await hostsOf(tools.provider, 'twice')).length === 1, 'two creates left two hosts')
      await gone(tools, a.providerID)
    },
  },
  {
    name: 'a create that is repeated after our own restart is the same host',
    run: async (tools) => {
      const first = await made(tools, 'restart')
      const later = await tools.restarted?.()
      const second = await made(tools, 'restart', later ?? tools.provider)
      must(first.providerID === second.providerID, 'a restart made a second host')
      await gone(tools, first.providerID)
    },
  },
  {
    name: 'another token never gets the host of a machine',
    run: async (tools) => {
      const host = await made(tools, 'taken')
      const other = await tools.provider.create(requestFor('taken', tools, 'another-token'))
      const isSeparate = other.kind !== 'Host' || other.host.providerID !== host.providerID
      must(isSeparate, 'a second machine of the name was given the host of the first')
      if (other.kind === 'Host') await gone(tools, other.host.providerID)
      must((await tools.provider.get(host.providerID))?.clientToken === 'token-taken', 'the host changed its owner')
      await gone(tools, host.providerID)
    },
  },
  {
    name: 'what was deleted is gone from everywhere, and deleting it again says so',
    run: async (tools) => {
      const host = await made(tools, 'ended')
      must((await tools.provider.delete(host.providerID)) !== 'Gone', 'delete says Gone of a host that was there')
      await tools.until(async () => (await tools.provider.get(host.providerID)) === undefined)
      must((await hostsOf(tools.provider, 'ended')).length === 0, 'list still holds a host that get does not know')
      must((await tools.provider.delete(host.providerID)) === 'Gone', 'a second delete does not say Gone')
    },
  },
  {
    name: 'a name may be used again by another machine once its host is gone',
    run: async (tools) => {
      const first = await made(tools, 'reused')
      await gone(tools, first.providerID)
      const second = await tools.provider.create(requestFor('reused', tools, 'a-later-token'))
      must(second.kind === 'Host' && second.host.clientToken === 'a-later-token', 'the name stays taken')
      await gone(tools, second.host.providerID)
    },
  },
  {
    name: 'a create that was given up while it was slow ends in the same one host when it is repeated',
    run: async (tools) => {
      const { provider } = tools
      const stop = new AbortController()
      const slow = provider.create(requestFor('slow', tools), stop.signal).catch(() => undefined)
      stop.abort()
      const [, host] = await Promise.all([slow, made(tools, 'slow')])
      must((await hostsOf(provider, 'slow')).length === 1, 'a create that was given up left a second host')
      await gone(tools, host.providerID)
    },
  },
  {
    name: 'a delete that is repeated while the first is under way ends in Gone',
    run: async (tools) => {
      const host = await made(tools, 'going')
      await Promise.all([tools.provider.delete(host.providerID), tools.provider.delete(host.providerID)])
      await tools.until(async () => (await tools.provider.delete(host.providerID)) === 'Gone')
      must((await tools.provider.get(host.providerID)) === undefined, 'get knows a host that is gone')
    },
  },
  {
    name: 'a host that was told to go is never called running',
    run: async (tools) => {
      const host = await made(tools, 'leaving')
      await tools.provider.delete(host.providerID)
      const state = (await tools.provider.get(host.providerID))?.state ?? 'Deleting'
      must(state === 'Deleting', `a host that was deleted is ${state}`)
      await gone(tools, host.providerID)
    },
  },
  {
    name: 'asked for many at once, it makes each once or says when to ask again',
    run: async (tools) => {
      const { provider, until } = tools
      const names = Array.from({ length: BURST }, (_, i) => `burst-${i}`)
      const first = await Promise.all(names.map((n) => provider.create(requestFor(n, tools))))
      for (const answer of first)
        must(
          answer.kind !== 'Throttled' || (Number.isFinite(answer.retryAfterMs) && answer.retryAfterMs > 0),
          'it asks to slow down and does not say for how long',
        )
      const hosts: Host[] = []
      for (const n of names) {
        await until(async () => (await provider.create(requestFor(n, tools))).kind === 'Host')
        hosts.push(await made(tools, n))
        must((await hostsOf(provider, n)).length === 1, 'a request that was put off left a second host')
      }
      await Promise.all(hosts.map((h) => gone(tools, h.providerID)))
    },
  },
  {
    name: 'every id begins with the name of the provider, and none is in the list twice',
    run: async (tools) => {
      const host = await made(tools, 'named')
      const ids = (await tools.provider.list()).map((h) => h.providerID)
      must(
        ids.every((id) => id.startsWith(`${tools.provider.name}://`)),
        'an id does not tell its provider',
      )
      must(new Set(ids).size === ids.length, 'an id is in the list twice')
      await gone(tools, host.providerID)
    },
  },
  {
    name: 'a reboot shows as another boot id of the same host',
    isAboutPower: true,
    run: async (tools) => {
      const host = await made(tools, 'rebooted')
      must(host.bootID !== undefined, 'a host has no boot id')
      must((await tools.provider.reboot(host.providerID)) === 'Ordered', 'reboot does not know the host')
      await tools.until(async () => (await tools.provider.get(host.providerID))?.bootID !== host.bootID)
      const after = await tools.provider.get(host.providerID)
      must(after?.clientToken === host.clientToken, 'after a reboot it is another host')
      await gone(tools, host.providerID)
    },
  },
  {
    name: 'an id that never was is absent, and nothing can be done to it',
    run: async ({ provider }) => {
      const id = `${provider.name}://never-made`
      must((await provider.get(id)) === undefined, 'get knows a host that never was')
      must((await provider.delete(id)) === 'Gone', 'delete does not say Gone of a host that never was')
      must((await provider.reboot(id)) === 'Gone', 'reboot does not say Gone of a host that never was')
    },
  },
  {
    name: 'a host whose machine nobody remembers is still in the list, with its token',
    run: async (tools) => {
      const host = await made(tools, 'orphan')
      const later = (await tools.restarted?.()) ?? tools.provider
      const [orphan] = await hostsOf(later, 'orphan')
      must(orphan?.clientToken === 'token-orphan', 'an orphan cannot be found again')
      await gone({ ...tools, provider: later }, host.providerID)
    },
  },
]

/** Those that a provider has to pass. */
export const conformanceFor = ({ isHostKept }: Pick<Provider, 'isHostKept'>): readonly ConformanceCase[] =>
  isHostKept === true ? CONFORMANCE.filter((c) => c.isAboutPower !== true) : CONFORMANCE
