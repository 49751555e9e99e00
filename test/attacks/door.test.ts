// Strangers at the rejoin endpoint, and thieves of machine keys, of old ones, and of the endpoint's own: only a host that proves the key on record of
// a live Machine gets a certificate or a place in the queue, and floods delay only their own requests.
import https from 'node:https'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { requestPem } from '#agent/join/request.ts'
import { machine as machineType, type Machine } from '#api/kinds/machine.ts'
import { AGENT_SIGNER, ANNOTATIONS, DOOR_USER } from '#api/names.ts'
import { issueCertificate } from '#lib/x509/certificates.ts'
import { readmit } from '#install/machines/readmit.ts'
import { systemClock } from '#lib/system-clock.ts'
import { newPrivateKey } from '#lib/x509/signing-request.ts'
import { revocation } from '#identity/agent-key.ts'
import { type CertificateRequest, certificateRequestType } from '#identity/certificate-request.ts'
import { authorityPrint, makeProof } from '#identity/door/proof.ts'
import { isOfDoor } from '#identity/door/queue.ts'
import { knockAs, knockBody, send } from '#test/support/worlds/door-knocks.ts'
import { DoorWorld, keyOfHost, type Host } from '#test/support/worlds/door-world.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'

const UNKNOWN = { status: 403, state: 'Refused', message: 'no machine of this name and uid has this key on record' }
let world: DoorWorld
let a: Host
let b: Host

beforeAll(async () => {
  world = await DoorWorld.start()
  ;[a, b] = [await world.host('m-a'), await world.host('m-b')]
  for (const host of [a, b]) host.stop()
})
afterAll(() => world.close())

const uidOf = ({ machine }: Host): string => machine.metadata.uid ?? ''
const nameOf = ({ machine }: Host): string => machine.metadata.name ?? ''
const of = (host: Host) => ({ machine: nameOf(host), uid: uidOf(host), oldKey: keyOfHost(host) })
const queued = async (): Promise<readonly CertificateRequest[]> => (await world.requests()).filter(isOfDoor)
const clearQueue = async (): Promise<void> => {
  for (const r of await queued()) await world.admin.delete(certificateRequestType, { name: r.metadata.name ?? '' })
}
const readmitted = (names: readonly string[]) => {
  const io = { out: () => undefined, err: () => undefined }
  return readmit({ client: world.admin, names, for: '24h', now: world.clock.now() }, io)
}

test('S26 a proof by the key of another machine is refused, and takes no place in the queue', async () => {
  expect(await knockAs(world.server, { ...of(a), oldKey: keyOfHost(b) })).toMatchObject(UNKNOWN)
  expect(await knockAs(world.server, { ...of(a), oldKey: await newPrivateKey() })).toMatchObject(UNKNOWN)
  expect(await knockAs(world.server, { ...of(a), machine: 'm-nobody', node: 'm-nobody' })).toMatchObject(UNKNOWN)
  expect(await queued()).toEqual([])
})

test('S26 a proof beside another request, for another node or another server is refused', async () => {
  const thiefs = await newPrivateKey()
  const swap = () => requestPem(thiefs, { machine: 'm-a', node: 'm-a', uid: uidOf(a) })
  expect(await knockAs(world.server, { ...of(a), swap })).toMatchObject(UNKNOWN)
  expect(await knockAs(world.server, { ...of(a), node: 'm-b' })).toMatchObject({ status: 400, state: 'Refused' })
  const { nonce } = await send(world.server, 'GET', {})
  const request = await requestPem(thiefs, { machine: 'm-a', node: 'm-a', uid: uidOf(a) })
  const proof = makeProof(keyOfHost(a), { machine: 'm-a', uid: uidOf(a), nonce, server: 'F'.repeat(64) }, request)
  const elsewhere = await send(world.server, 'POST', { body: JSON.stringify({ request, proof }) })
  expect(elsewhere).toMatchObject({ status: 409, state: 'Refused' })
  expect(await queued()).toEqual([])
})

test('S26 a proof that is sent again gets the place it has, and after some minutes nothing', async () => {
  const body = await knockBody(world.server, of(a))
  expect(await send(world.server, 'POST', { body })).toMatchObject({ status: 202, state: 'Waiting' })
  const [first, ...others] = await queued()
  expect(await send(world.server, 'POST', { body })).toMatchObject({ status: 202, state: 'Waiting' })
  expect([others, (await queued()).map((r) => r.metadata.uid)]).toEqual([[], [first?.metadata.uid]])
  world.clock.shift(6 * 60_000)
  expect(await send(world.server, 'POST', { body })).toMatchObject({ status: 409, state: 'Refused' })
  await clearQueue()
})

test('S26 the queue gives no rights: nothing is approved until a person says so', async () => {
  const wish = { ...of(b), newKey: await newPrivateKey() }
  await knockAs(world.server, wish)
  const [entry] = await queued()
  // The approver has processed it: it is requested by name, and another machine's readmission changes nothing.
  await readmitted(['m-a'])
  await systemClock.sleep(300)
  expect((await queued())[0]?.status?.conditions ?? []).toEqual([])
  expect(entry?.spec.username).toBe(DOOR_USER)
  await readmitted(['m-b'])
  const back = await eventually(
    () => knockAs(world.server, wish),
    (answer) => answer.state === 'Approved',
  )
  expect(back.certificate).toContain('BEGIN CERTIFICATE')
  await clearQueue()
})

test('S26 a revoked key is refused at the door, also when it waited already', async () => {
  const host = await world.host('m-revoked')
  host.stop()
  expect(await knockAs(world.server, of(host))).toMatchObject({ state: 'Waiting' })
  const now = (await world.admin.get(machineType, { name: 'm-revoked' })) as Machine
  const annotations = { [ANNOTATIONS.revoked]: revocation(now, systemClock.now(), 'stolen') }
  await world.admin.patch(
    machineType,
    { name: 'm-revoked' },
    { type: 'merge', value: { metadata: { annotations } } },
    { fieldManager: 'test' },
  )
  expect(await knockAs(world.server, of(host))).toMatchObject(UNKNOWN)
  // A user who readmits it by hand, bypassing the command's checks, admits no thief: the approver denies the waiting request.
  const readmit = JSON.stringify({
    uid: uidOf(host),
    until: new Date(world.clock.now() + 3_600_000).toISOString(),
    replaces: JSON.parse(now.metadata.annotations?.[ANNOTATIONS.agentKey] ?? '{}').key,
    token: false,
  })
  await world.admin.patch(
    machineType,
    { name: 'm-revoked' },
    { type: 'merge', value: { metadata: { annotations: { [ANNOTATIONS.readmit]: readmit } } } },
    { fieldManager: 'test' },
  )
  const decided = await eventually(queued, (all) => (all[0]?.status?.conditions ?? []).length > 0)
  expect(decided[0]?.status?.conditions?.map((c) => c.type)).toEqual(['Denied'])
  await clearQueue()
})

test('S26 the key of a deleted Machine, and of one that was created again under its name, is refused', async () => {
  const host = await world.host('m-again')
  host.stop()
  await world.admin.delete(machineType, { name: 'm-again' })
  await eventually(
    () => world.admin.get(machineType, { name: 'm-again' }),
    (m) => m === undefined,
  )
  expect(await knockAs(world.server, of(host))).toMatchObject(UNKNOWN)
  const again = await world.machine('m-again')
  expect(await knockAs(world.server, of(host))).toMatchObject(UNKNOWN)
  expect(await knockAs(world.server, { ...of(host), uid: again.metadata.uid ?? '' })).toMatchObject(UNKNOWN)
  expect(await queued()).toEqual([])
})

test('S25 S26 who stole the key of the door gets nothing approved, and touches no request but its own', async () => {
  const pair = issueCertificate(world.credentials.authority, {
    subject: { commonName: DOOR_USER },
    validity: { now: systemClock.now(), days: 1 },
    usage: 'client',
  })
  const door = world.as(pair)
  await readmitted(['m-a'])
  const thiefs = await newPrivateKey()
  const request = await requestPem(thiefs, { machine: 'm-a', node: 'm-a', uid: uidOf(a) })
  const facts = { machine: 'm-a', uid: uidOf(a), nonce: 'any', server: authorityPrint(world.server.ca) }
  const csr = (annotations: Readonly<Record<string, string>>, name: string): CertificateRequest => ({
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name, annotations: { [ANNOTATIONS.machine]: 'm-a', ...annotations } },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: AGENT_SIGNER,
      usages: ['client auth'],
      expirationSeconds: 3_600,
    },
  })
  const proof = { [ANNOTATIONS.doorProof]: JSON.stringify(makeProof(thiefs, facts, request)) }
  await expect(door.create(certificateRequestType, csr({}, 'no-proof'))).rejects.toThrow('with the proof of a host')
  await door.create(certificateRequestType, csr(proof, 'forged'))
  const decided = await eventually(
    () => world.admin.get(certificateRequestType, { name: 'forged' }),
    (r) => (r?.status?.conditions ?? []).length > 0,
  )
  expect(decided?.status?.conditions?.map((c) => [c.type, c.message?.includes('not on record')])).toEqual([
    ['Denied', true],
  ])
  await world.admin.create(certificateRequestType, csr({}, 'of-others'))
  await expect(door.delete(certificateRequestType, { name: 'of-others' })).rejects.toThrow('only its own')
  await expect(door.list(machineType)).rejects.toThrow('forbidden')
  await clearQueue()
})

test('S24 a flood of the door ends in 429, while other addresses, agents and people are served', async () => {
  // An entry of m-b was made a moment ago, and each machine makes one a minute.
  world.clock.shift(2 * 60_000)
  const flood = new https.Agent({ keepAlive: true, maxSockets: 16 })
  const flooding = new AbortController()
  const answers = new Map<number, number>()
  const body = () =>
    JSON.stringify({
      request: 'x'.repeat(1_000),
      proof: { machine: 'm-a', uid: randomUUID(), nonce: 'x', server: 'x' },
    })
  const floods = Array.from({ length: 16 }, async () => {
    while (!flooding.signal.aborted) {
      const { status } = await send(world.server, 'POST', { body: body(), agent: flood, from: '127.0.0.1' })
      answers.set(status, (answers.get(status) ?? 0) + 1)
    }
  })
  await eventually(
    async () => answers.get(429) ?? 0,
    (n) => n > 200,
  )
  try {
    // Another address, in the middle of it.
    expect(await knockAs(world.server, { ...of(b), from: '127.0.0.2' })).toMatchObject({ state: 'Waiting' })
    expect((await world.admin.list(machineType)).items.length).toBeGreaterThan(1)
  } finally {
    flooding.abort()
    await Promise.all(floods)
    flood.destroy()
  }
  expect((await queued()).map((r) => r.metadata.annotations?.[ANNOTATIONS.machine])).toEqual(['m-b'])
  const tooLong = await send(world.server, 'POST', { body: 'x'.repeat(100_000), from: '127.0.0.3' })
  expect(tooLong.status).toBe(413)
})
