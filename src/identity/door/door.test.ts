// The door's limits, with an in-memory queue: one entry per machine, a full queue, remembered places, proofs of every kind.
import { beforeAll, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import {
  AGENTS_GROUP,
  ANNOTATIONS,
  DOOR_USER,
  agentKeyGroup,
  agentNodeGroup,
  agentUser,
  machineUidGroup,
} from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { fingerprintOfKey } from '#lib/key-fingerprint.ts'
import { silentLogger } from '#lib/log.ts'
import { newPrivateKey, signingRequest } from '#lib/x509/signing-request.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { keyRecord } from '../agent-key.ts'
import type { CertificateRequest } from '../certificate-request.ts'
import { DEFAULT_LIFE_SECONDS } from '../certificate-life.ts'
import { Door, REQUEST_BYTES } from './door.ts'
import { makeProof, parseProof, provedKey } from './proof.ts'
import { ALL_PLACES, DoorRates, EACH_PLACE, placeOf } from './rates.ts'

const MACHINES = ['m-1', 'm-2', 'm-3']
const keys = new Map<string, string>()
beforeAll(async () => {
  for (const name of MACHINES) keys.set(name, await newPrivateKey())
})

const keyOf = (name: string): string => keys.get(name) ?? ''
function machine(name: string): Machine {
  const bare: Machine = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name, uid: `uid-of-${name}` },
    spec: { channel: 'Agent' },
  }
  const record = keyRecord(bare, fingerprintOfKey(keyOf(name)))
  return { ...bare, metadata: { ...bare.metadata, annotations: { [ANNOTATIONS.agentKey]: record } } }
}

function world(most?: number) {
  const clock = new VirtualClock()
  const entries = new Map<string, CertificateRequest>()
  const machines = new Map(MACHINES.map((name) => [name, machine(name)]))
  let reads = 0
  const door = new Door({
    queue: {
      machine: async (name) => {
        reads++
        return machines.get(name)
      },
      request: async (name) => entries.get(name),
      waiting: async () =>
        [...entries].map(([name, r]) => ({ name, uid: r.metadata.annotations?.[ANNOTATIONS.machineUid] ?? '' })),
      add: async (r) => void entries.set(r.metadata.name ?? '', { ...r, spec: { ...r.spec, username: DOOR_USER } }),
      remove: async (name) => void entries.delete(name),
    },
    server: () => ['S'],
    seconds: () => DEFAULT_LIFE_SECONDS,
    clock,
    log: silentLogger,
    ...defined({ most }),
  })
  const bodyOf = async (name: string, { newKey = keyOf(name), place = name } = {}) => {
    const open = (await door.answer({ method: 'GET', body: '', place })).body
    const uid = `uid-of-${name}`
    const organizations = [
      AGENTS_GROUP,
      agentNodeGroup(name),
      machineUidGroup(uid),
      agentKeyGroup(fingerprintOfKey(newKey)),
    ]
    const request = await signingRequest(newKey, { commonName: agentUser(name), organizations })
    const nonce = 'nonce' in open ? open.nonce : ''
    return JSON.stringify({
      request,
      proof: makeProof(keyOf(name), { machine: name, uid, server: 'S', nonce }, request),
    })
  }
  const knock = async (name: string, newKey?: string) =>
    door.answer({ method: 'POST', body: await bodyOf(name, newKey === undefined ? {} : { newKey }), place: name })
  return { clock, entries, door, knock, bodyOf, reads: () => reads }
}

test('S26 a machine has one entry: another key takes its place, and at most once a minute', async () => {
  const w = world()
  const [first, second] = [await newPrivateKey(), await newPrivateKey()]
  expect((await w.knock('m-1', first)).status).toBe(202)
  const [entry] = w.entries.keys()
  expect((await w.knock('m-1', second)).body).toMatchObject({ state: 'Busy', retryAfterSeconds: 60 })
  expect([...w.entries.keys()]).toEqual([entry])
  await w.clock.advance(61_000)
  expect((await w.knock('m-1', second)).status).toBe(202)
  expect([w.entries.size, w.entries.has(entry ?? '')]).toEqual([1, false])
})

test('S26 a full queue says so to the next machine, keeps those that wait, and has room again when one was answered', async () => {
  const w = world(2)
  for (const name of ['m-1', 'm-2']) expect((await w.knock(name)).status).toBe(202)
  expect((await w.knock('m-3')).body).toMatchObject({ state: 'Busy', message: 'the queue is full: 2 machines wait' })
  expect((await w.knock('m-1')).status).toBe(202)
  w.entries.clear()
  await w.clock.advance(61_000)
  expect((await w.knock('m-3')).status).toBe(202)
})

test('S26 a machine that keeps making keys locks no other out', async () => {
  const w = world(2)
  for (let i = 0; i < 30; i++) await w.knock('m-1', await newPrivateKey())
  expect((await w.knock('m-2')).status).toBe(202)
  expect(w.entries.size).toBe(2)
})

test('S26 an approved entry gives its certificate to who proves the key, a denied one its reason', async () => {
  const w = world()
  const key = await newPrivateKey()
  await w.knock('m-1', key)
  const [[name = '', entry] = []] = w.entries
  if (entry === undefined) throw new Error('nothing queued')
  const answered = (type: string, certificate?: string) =>
    w.entries.set(name, {
      ...entry,
      status: { conditions: [{ type, status: 'True', message: 'because' }], ...(certificate && { certificate }) },
    })
  answered('Approved')
  expect((await w.knock('m-1', key)).status).toBe(202)
  answered('Approved', Buffer.from('PEM').toString('base64'))
  expect((await w.knock('m-1', key)).body).toEqual({ state: 'Approved', certificate: 'PEM' })
  answered('Denied')
  expect((await w.knock('m-1', key)).body).toEqual({ state: 'Denied', message: 'because' })
})

test('S26 a word of the door is good for five minutes, and only its own', async () => {
  const w = world()
  const body = await w.bodyOf('m-1')
  await w.clock.advance(5 * 60_000 + 1)
  expect((await w.door.answer({ method: 'POST', body, place: 'p' })).status).toBe(409)
  const others = await world().bodyOf('m-1')
  expect((await w.door.answer({ method: 'POST', body: others, place: 'p' })).status).toBe(409)
  expect(w.reads()).toBe(0)
})

test.each([
  ['nothing', ''],
  ['no JSON', '{'],
  ['no proof', JSON.stringify({ request: 'x' })],
  ['a long body', JSON.stringify({ request: 'x'.repeat(REQUEST_BYTES) })],
  ['a list', '[]'],
])('S26 %s is refused before anything is read', async (_, body) => {
  const w = world()
  expect((await w.door.answer({ method: 'POST', body, place: 'p' })).status).toBe(400)
  expect(w.reads()).toBe(0)
})

test('S24 a place has its bucket, all of them one more, and no more places are remembered than there is room for', async () => {
  let now = 0
  const rates = new DoorRates(() => now)
  const took = (place: string, times: number) =>
    Array.from({ length: times }, () => rates.take(place)).filter((wait) => wait === 0).length
  expect(took('one', 1_000)).toBe(EACH_PLACE.burst)
  expect(took('two', 1)).toBe(1)
  now += 1_000
  expect(took('one', 1_000)).toBe(EACH_PLACE.perSecond)
  for (let i = 0; i < 5_000; i++) rates.take(`place-${i}`)
  expect(rates.places).toBe(1_024)
  now += 3_600_000
  expect(Array.from({ length: 1_000 }, (_, i) => rates.take(`other-${i}`)).filter((w) => w === 0)).toHaveLength(
    ALL_PLACES.burst,
  )
})

test.each([
  ['10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::6', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
])('the place of %s is %s', (address, place) => expect(placeOf(address)).toBe(place))

test('S26 a proof with line breaks, of another kind of key or over another request proves nothing', async () => {
  const facts = { machine: 'm-1', uid: 'u', server: 'S', nonce: 'n' }
  const good = makeProof(keyOf('m-1'), facts, 'request')
  expect(provedKey(good, 'request')).toBe(fingerprintOfKey(keyOf('m-1')))
  expect(provedKey(good, 'another')).toBeUndefined()
  expect(provedKey({ ...good, machine: 'm-2' }, 'request')).toBeUndefined()
  expect(provedKey({ ...good, key: 'AAAA' }, 'request')).toBeUndefined()
  expect(parseProof(good)).toEqual(good)
  for (const wrong of [{ machine: 'm\n1' }, { uid: '' }, { nonce: 7 }, { key: 'x'.repeat(129) }])
    expect(parseProof({ ...good, ...wrong })).toBeUndefined()
})
