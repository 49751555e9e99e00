import { X509Certificate } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  bundleOf,
  certificateData,
  certificateIn,
  type CertificateState,
  newServingCertificate,
  rotated,
  type RotationSeen,
  TRUSTED_AFTER_USE_MS,
  TRUSTED_BEFORE_USE_MS,
} from './serving-certificate.ts'

const DAY = 86_400_000
const NOW = Date.parse('2026-01-05T00:00:00Z')
const names = { commonName: 'kubenode-test', hosts: ['kubenode-webhook.kubenode-system.svc'] }
const made = (daysAgo: number, hosts = names.hosts) => newServingCertificate({ ...names, hosts }, NOW - daysAgo * DAY)
const [YOUNG, OLD, EXPIRED, OTHER, FOREIGN] = [made(1), made(300), made(400), made(2), made(1, ['elsewhere.svc'])]
/** Made by a clock that was ten days ahead. */
const EARLY = made(-10)

const seen = (change: Partial<RotationSeen> = {}): RotationSeen => ({
  ...names,
  now: NOW,
  trustedMs: () => 0,
  keptMs: () => 0,
  ...change,
})
const NEW = expect.objectContaining({ ca: expect.any(String) as string }) as unknown

test.each<[string, CertificateState | undefined, Partial<RotationSeen>, unknown]>([
  ['there is none', undefined, {}, { current: NEW }],
  ['it is young', { current: YOUNG }, {}, { current: YOUNG }],
  ['its life runs out', { current: OLD }, {}, { current: OLD, next: NEW }],
  [
    'the next one is not trusted by all yet',
    { current: OLD, next: YOUNG },
    { trustedMs: () => TRUSTED_BEFORE_USE_MS - 1 },
    { current: OLD, next: YOUNG },
  ],
  [
    'the next one is trusted by all',
    { current: OLD, next: YOUNG },
    { trustedMs: () => TRUSTED_BEFORE_USE_MS },
    { current: YOUNG, previousCa: OLD.ca },
  ],
  ['it expired before that', { current: EXPIRED, next: YOUNG }, {}, { current: YOUNG, previousCa: EXPIRED.ca }],
  ['it expired', { current: EXPIRED }, {}, { current: NEW, previousCa: EXPIRED.ca }],
  ['it is for another name', { current: FOREIGN }, {}, { current: NEW, previousCa: FOREIGN.ca }],
  ['it is damaged', { current: { ...YOUNG, cert: 'x' } }, {}, { current: NEW, previousCa: YOUNG.ca }],
  ['its key is another', { current: { ...YOUNG, key: OTHER.key } }, {}, { current: NEW, previousCa: YOUNG.ca }],
  ['its authority is another', { current: { ...YOUNG, ca: OTHER.ca } }, {}, { current: NEW, previousCa: OTHER.ca }],
  ['its authority expired', { current: { ...YOUNG, ca: EXPIRED.ca } }, {}, { current: NEW, previousCa: EXPIRED.ca }],
  ['it is not valid yet', { current: EARLY }, {}, { current: NEW, previousCa: EARLY.ca }],
  [
    'the next one was written by half',
    { current: YOUNG, next: { ...OTHER, key: YOUNG.key } },
    { trustedMs: () => TRUSTED_BEFORE_USE_MS },
    { current: YOUNG },
  ],
  ['the next one expired while it waited', { current: YOUNG, next: EXPIRED }, {}, { current: YOUNG }],
  [
    'the authority from before is young',
    { current: YOUNG, previousCa: OTHER.ca },
    { keptMs: () => TRUSTED_AFTER_USE_MS - 1 },
    { current: YOUNG, previousCa: OTHER.ca },
  ],
  [
    'the authority from before is of no more use',
    { current: YOUNG, previousCa: OTHER.ca },
    { keptMs: () => TRUSTED_AFTER_USE_MS },
    { current: YOUNG },
  ],
])('a step of the change: %s', (_, state, change, expected) => {
  const next = rotated(state, seen(change))
  expect(next).toEqual(expected)
  expect(certificateIn(certificateData(next))).toEqual(next)
})

test('a damaged authority is left out of the bundle, since servers refuse a bundle for it', () => {
  const damaged = YOUNG.ca.replace(/\n.{40}/, '\nMIIB')
  expect(bundleOf({ current: YOUNG, next: { ...OTHER, ca: damaged }, previousCa: 'nothing' })).toBe(YOUNG.ca)
  expect(bundleOf({ current: YOUNG, previousCa: OTHER.cert })).toBe(YOUNG.ca)
})

test('a Secret of before is read as it is', () => {
  const data = { 'ca.crt': YOUNG.ca, 'tls.crt': YOUNG.cert, 'tls.key': YOUNG.key }
  expect(certificateIn(data)).toEqual({ current: YOUNG })
  expect(certificateIn({ ...data, 'tls.key': undefined as never })).toBeUndefined()
})

const isSignedBy = (cert: string, bundle: string): boolean =>
  bundle.split(/(?=-----BEGIN)/).some((ca) => new X509Certificate(cert).verify(new X509Certificate(ca).publicKey))

test('what any replica serves is trusted by every client, however late each of them learns of a change', () => {
  // A client knows the bundle as of at most ten minutes ago, a replica the certificate as of at most a day ago.
  const events = fc.array(
    fc.record({ hours: fc.integer({ min: 0, max: 900 }), minutes: fc.integer({ min: 0, max: 30 }) }),
    {
      minLength: 5,
      maxLength: 25,
    },
  )
  fc.assert(
    fc.property(events, (ticks) => {
      let now = NOW
      let state: CertificateState | undefined
      const history: { readonly at: number; readonly state: CertificateState }[] = []
      const since = new Map<string, number>()
      const known = (ca: string) => (since.has(ca) ? now - (since.get(ca) ?? now) : 0)
      for (const { hours, minutes } of ticks) {
        now += hours * 3_600_000 + minutes * 60_000
        const before = state
        state = rotated(state, seen({ now, trustedMs: known, keptMs: (ca) => known(`previous ${ca}`) }))
        // A certificate that expired between two looks is replaced at once: no other way is left.
        if (before !== undefined && state.previousCa === before.current.ca && before.next === undefined)
          history.length = 0
        for (const ca of [state.current.ca, state.next?.ca, `previous ${state.previousCa}`])
          if (ca !== undefined && !since.has(ca)) since.set(ca, now)
        history.push({ at: now, state })
        const bundles = history.filter(
          ({ at }, i) => (history[i + 1]?.at ?? now) >= now - TRUSTED_BEFORE_USE_MS + 1 || at === now,
        )
        const served = history.filter((_, i) => (history[i + 1]?.at ?? now) > now - TRUSTED_AFTER_USE_MS + 1)
        const newest = history.at(-1)
        for (const bundle of bundles) expect(isSignedBy(state.current.cert, bundleOf(bundle.state))).toBe(true)
        for (const { state: s } of served)
          if (newest !== undefined) expect(isSignedBy(s.current.cert, bundleOf(newest.state))).toBe(true)
      }
    }),
    { numRuns: 25 },
  )
})
