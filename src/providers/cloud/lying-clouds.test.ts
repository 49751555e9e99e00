// A cloud, or an impostor at its address, that sends false answers over its real API: both vendors' providers, guarded as in controllers, against servers with
// altered answers. An unreadable answer leaves it open whether a host exists, no host is lost or duplicated, and memory and time stay bounded.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Clock } from '#lib/clock.ts'
import { MIB } from '#lib/bytes.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { FakeRegion } from '#test/doubles/clouds/region.ts'
import { fakeRegion, hostRequest, OPEN_LIMITS, quickClock, VENDORS, type Vendor } from '#test/doubles/clouds/worlds.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { guarded } from '../guarded.ts'
import type { Host, Provider } from '../port.ts'

/** Does not wait half a minute for an answer. */
const hastyClock: Clock = { ...quickClock, after: (ms, fn) => systemClock.after(Math.min(ms, 50), fn) }
/** Sixteen kilobytes. */
const BOMB = gzipSync(Buffer.alloc(16 * MIB))

/** Sends anything in place of a true answer. */
type Lie = (text: string, response: ServerResponse) => void

const inBody =
  (change: (text: string) => string): Lie =>
  (text, response) =>
    void response.writeHead(200).end(change(text))

/** A fault in how an answer is sent. `isSlow`: it ends at the deadline. */
const WAYS: Readonly<Record<string, { readonly lie: Lie; readonly isSlow?: true }>> = {
  'sends kilobytes that become 256 MB': {
    lie: (_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' })
      for (let i = 0; i < 16; i++) response.write(BOMB)
      response.end()
    },
  },
  'sends what is not compressed as if it were': {
    lie: (text, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(text),
  },
  'sends headers without end': {
    lie: (text, response) => void response.writeHead(200, { 'x-more': 'x'.repeat(MIB) }).end(text),
  },
  'announces 100 MB': {
    lie: (_, response) => void response.writeHead(200, { 'content-length': 100 * MIB }).write(' '),
    isSlow: true,
  },
  'sends a byte now and then': {
    lie: (_, response) => {
      response.writeHead(200)
      const drip = setInterval(() => response.write(' '), 50)
      response.once('close', () => clearInterval(drip))
    },
    isSlow: true,
  },
  'breaks off in its answer': {
    lie: (text, response) => {
      response.writeHead(200, { 'content-length': text.length })
      response.write(text.slice(0, text.length / 2), () => response.destroy())
    },
  },
  'redirects elsewhere': {
    lie: (_, response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
  },
  'nests its answer a hundred thousand levels deep': {
    lie: inBody((text) =>
      text.startsWith('<')
        ? `${'<a>'.repeat(100_000)}${'</a>'.repeat(100_000)}`
        : `{"Instances":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
    ),
  },
}

/** A false claim in a readable answer. */
const CLAIMS: Readonly<Record<string, (text: string) => string>> = {
  'with a slash in the ids': (text) => text.replaceAll(/(?<=[">])i-0/g, 'i-0/../i-0'),
  'with ids of two lines': (text) => text.replaceAll(/(?<=[">])i-0/g, text.startsWith('<') ? 'i-0&#10;' : 'i-0\\n'),
  'with ids of another vendor': (text) => text.replaceAll(/(?<=[">])i-0/g, 'vm/0'),
  'without the list of hosts': (text) => text.replaceAll(/instancesSet|(?<=")Instance(?:IdSet)?(?=":)/g, 'other'),
  'without ids': (text) => text.replaceAll(/(?<=[">])i-0[0-9a-f]+(?=["<])/g, ''),
}

/** As both vendors name the tag. */
const retagged = (text: string, tag: string, value: string): string =>
  text
    .replaceAll(new RegExp(`(<key>kubenode.io/${tag}</key><value>)[^<]*`, 'g'), `$1${value}`)
    .replaceAll(new RegExp(`("TagKey":"kubenode.io/${tag}","TagValue":")[^"]*`, 'g'), `$1${value}`)

describe.each(VENDORS)('a cloud like $name', (v: Vendor) => {
  let region: FakeRegion
  let lie: Lie | undefined
  let url: string
  let close: () => Promise<void>
  beforeEach(async () => {
    region = fakeRegion(v, { clock: systemClock })
    lie = undefined
    const handler = v.fake(region)
    const answerTo = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      let body = ''
      for await (const chunk of request) body += String(chunk)
      const headers = Object.fromEntries(Object.entries(request.headers).map(([k, h]) => [k, String(h)]))
      const answer = handler({ method: request.method ?? '', path: request.url ?? '', headers, body })
      if (typeof answer === 'string') throw new Error(`the region answers ${answer}`)
      if (lie !== undefined && answer.status === 200) lie(answer.text, response)
      else response.writeHead(answer.status, { ...answer.headers }).end(answer.text)
    }
    const server = createServer((request, response) => void answerTo(request, response))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    close = async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  })
  afterEach(() => close())

  const start = (clock: Clock = quickClock): Provider =>
    guarded(v.provider({ clock, endpoint: url, limits: OPEN_LIMITS }), systemClock)
  const madeBy = async (provider: Provider, machine: string): Promise<Host> => {
    const made = await provider.create(hostRequest(v, machine))
    if (made.kind !== 'Host') throw new Error(JSON.stringify(made))
    return made.host
  }

  test.each(Object.entries(WAYS))(
    'that %s leaves it open whether there is a host, loses none and makes none twice',
    async (_, { lie: told, isSlow }) => {
      const patient = start()
      const { providerID } = await madeBy(patient, 'm')
      const provider = isSlow === true ? start(hastyClock) : patient
      lie = told
      const before = process.memoryUsage().arrayBuffers
      expect(await provider.create(hostRequest(v, 'n'))).toMatchObject({ kind: 'Unknown' })
      for (const ask of [() => provider.get(providerID), () => provider.list(), () => provider.delete(providerID)])
        await expect(ask()).rejects.toThrow(/KN110/)
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(128 * MIB)
      lie = undefined
      expect((await patient.get(providerID))?.machine).toBe('m')
      const n = await madeBy(patient, 'n')
      expect((await patient.list()).hosts.map((h) => h.machine).sort()).toEqual(['m', 'n'])
      expect(n.providerID).not.toBe(providerID)
    },
  )

  test.each(Object.entries(CLAIMS))('that answers %s is not believed, and nothing is gone', async (_, change) => {
    const provider = start()
    const { providerID } = await madeBy(provider, 'm')
    lie = inBody(change)
    expect(await provider.create(hostRequest(v, 'n'))).toMatchObject({ kind: 'Unknown' })
    await expect(provider.list()).rejects.toThrow(/KN110/)
    await expect(provider.get(providerID)).rejects.toThrow(/KN110/)
    await expect(provider.delete(providerID)).rejects.toThrow(/KN110/)
    lie = undefined
    await madeBy(provider, 'n')
    expect(region.alive()).toHaveLength(2)
  })

  test('that shows a new host as that of another Machine leaves it open, and gives the host with its true tags', async () => {
    const provider = start()
    lie = inBody((text) => retagged(text, 'machine-uid', 'uid-of-another'))
    expect(await provider.create(hostRequest(v, 'm'))).toMatchObject({ kind: 'Unknown' })
    lie = undefined
    expect((await madeBy(provider, 'm')).machineUid).toBe('uid-m')
    expect(region.alive()).toHaveLength(1)
  })

  test('that dates its hosts in the future, or in no time, makes none gone', async () => {
    const provider = start()
    const { providerID } = await madeBy(provider, 'm')
    const dated = (date: string) => inBody((text) => text.replaceAll(/20\d\d-\d\d-\d\dT[\d:.]+Z/g, date))
    lie = dated('2999-01-01T00:00:00Z')
    expect((await provider.list()).hosts.map((h) => h.createdAt)).toEqual(['2999-01-01T00:00:00Z'])
    expect((await provider.get(providerID))?.state).toBe('Running')
    for (const date of ['+020000-01-01T00:00:00Z', 'soon']) {
      lie = dated(date)
      await expect(provider.list()).rejects.toThrow(/KN110/)
      await expect(provider.get(providerID)).rejects.toThrow(/KN110/)
    }
    expect(region.alive()).toHaveLength(1)
  })

  test.each([
    [
      'an address of two lines',
      (text: string) => text.replaceAll(/10\.\d+\.\d+\.\d+/g, text.startsWith('<') ? '10.0.0.1&#10;x' : '10.0.0.1\\nx'),
    ],
    ['a machine that is none', (text: string) => retagged(text, 'machine', 'M y')],
  ])('that shows a host with %s is not believed, and nothing is gone', async (_, change) => {
    const provider = start()
    const { providerID } = await madeBy(provider, 'm')
    expect((await provider.list()).hosts).toHaveLength(1)
    lie = inBody(change)
    await expect(provider.list()).rejects.toThrow('KN11061')
    await expect(provider.get(providerID)).rejects.toThrow('KN11061')
    lie = undefined
    expect((await provider.get(providerID))?.machine).toBe('m')
  })

  test('that says its list is whole when it is not makes no host gone at once', async () => {
    const provider = start()
    const { providerID } = await madeBy(provider, 'm')
    lie = inBody((text) =>
      text.startsWith('<')
        ? text.replace(/<reservationSet>.*<\/reservationSet>/s, '<reservationSet></reservationSet>')
        : JSON.stringify({ ...(JSON.parse(text) as object), Instances: { Instance: [] } }),
    )
    expect((await provider.list()).hosts).toEqual([])
    // It is missing by name too, which is not yet proof.
    for (let asked = 0; asked < 3; asked++) {
      await expect(provider.get(providerID)).rejects.toThrow('KN11043')
      await expect(provider.reboot(providerID)).rejects.toThrow('KN11043')
    }
    lie = undefined
    expect((await provider.get(providerID))?.machine).toBe('m')
  })
})
