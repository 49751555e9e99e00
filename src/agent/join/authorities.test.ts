// The agent accepts its cluster's published authorities only if they verify its server.
import { describe, expect, test } from 'vitest'
import { authorityPrints, signerPrint } from '#identity/authority-prints.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { followAuthorities } from './authorities.ts'

const HOUR = 3_600_000
const made = (name: string) => newAuthority(name, { now: Date.now(), days: 1 })
const [first, second] = [made('ca-1'), made('ca-2')]
const [old, next] = [first.certificate, second.certificate]

interface World {
  /** What the cluster publishes; null when it does not answer. */
  readonly published: string | undefined | null
  /** The authorities that verify the server. */
  readonly serves: string
  readonly tried: string[]
  readonly kept: string[]
  /** The authorities that the agent trusts, including the signer of its certificate. */
  readonly trusted?: string
  readonly signer?: string | undefined
  /** The signer of the next certificate. */
  readonly signs?: string
  renewals: number
}

async function after(hours: number, world: World): Promise<World> {
  const clock = new VirtualClock()
  const stop = new AbortController()
  let { signer } = world
  const deps = {
    clock,
    random: seededRandom(1),
    log: silentLogger,
    client: {
      get: async () => {
        if (world.published === null) throw new Error('no answer')
        const data = world.published === undefined ? {} : { 'ca.crt': world.published }
        return { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data } as unknown as KubeObject
      },
    },
    trusted: world.trusted ?? old,
    signer: () => (signer === undefined ? undefined : authorityPrints(signer)[0]),
    renewEarly: () => {
      world.renewals++
      signer = world.signs ?? signer
    },
    tryOut: async (authorities: string) => {
      world.tried.push(authorities)
      if (!authorities.includes(world.serves)) throw new Error('unable to verify the certificate')
    },
    keep: async (authorities: string) => void world.kept.push(authorities),
  } as unknown as Parameters<typeof followAuthorities>[0]
  const done = followAuthorities(deps, stop.signal).catch(() => undefined)
  await clock.advance(hours * HOUR)
  stop.abort(new Error('the test ends'))
  await done
  return world
}

const world = (published: World['published'], serves = old, more: Partial<World> = {}): World => ({
  published,
  serves,
  tried: [],
  kept: [],
  renewals: 0,
  ...more,
})

test('both authorities are trusted once both are published, and then the new one alone', async () => {
  expect((await after(2, world(`${old}${next}`))).kept).toEqual([`${old}${next}`])
  expect((await after(2, world(next, next))).kept).toEqual([next])
})

test('an agent that has just started looks within two minutes: a host that restarts again and again follows, too', async () => {
  expect((await after(1 / 30, world(`${old}${next}`))).kept).toEqual([`${old}${next}`])
})

test('authorities that the server cannot be verified with are tried, and never kept', async () => {
  const { tried, kept } = await after(5, world(next))
  expect([tried.length > 1, kept]).toEqual([true, []])
})

test.each([
  ['the same authority', old],
  ['the same authorities in another form', `\n${old.trim()}\n`],
  ['no list', undefined],
  ['a list without a certificate', 'nothing'],
  ['more authorities than any cluster has', old.repeat(9)],
  ['a server without an answer', null],
] as const)('%s changes nothing', async (_what, published) => {
  const { tried, kept } = await after(5, world(published))
  expect([tried, kept]).toEqual([[], []])
})

test('the authority that signed the certificate of the agent is found among those that it trusts', () => {
  const validity = { now: Date.now(), days: 1 }
  const { certificate } = issueCertificate(second, { subject: { commonName: 'x' }, validity, usage: 'client' })
  expect(signerPrint(certificate, `${old}${next}`)).toBe(authorityPrints(next)[0])
  expect([signerPrint(certificate, old), signerPrint('nothing', old)]).toEqual([undefined, undefined])
})

describe('with both authorities trusted, a new certificate is asked for', () => {
  const both = `${old}${next}`
  const renewals = async (serves: string, more: Partial<World>): Promise<number> =>
    (await after(24, world(both, serves, { trusted: both, signer: old, ...more }))).renewals

  test('once the server has one of the new authority, and only once', async () => {
    expect(await renewals(next, { signs: next })).toBe(1)
  })

  test('not while the server has one of the old authority', async () => {
    expect(await renewals(old, { signs: next })).toBe(0)
  })

  test('not when ours is of neither, as with a token', async () => {
    expect(await renewals(next, { signer: undefined })).toBe(0)
  })

  test('not when the server does not answer', async () => {
    expect(await renewals('nothing', { signs: next })).toBe(0)
  })

  test('a few times at most where the new authority never signs for agents', async () => {
    expect(await renewals(next, {})).toBe(4)
  })

  test('never with a single authority', async () => {
    expect((await after(24, world(old, old, { signer: old }))).renewals).toBe(0)
  })
})
