// An agent whose certificate lives for seconds: it requests the next one with its own identity, in time, and keeps running.
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { csrType } from '#agent/join/request.ts'
import { AgentBench, MACHINE, beaconRelease, eventually } from './agent-bench.ts'

const bench = new AgentBench()

beforeAll(async () => {
  await bench.start()
  for (const version of ['1.0.0', '1.1.0']) await bench.publish(beaconRelease(bench.publisher, version))
  await bench.order({ version: '1.0.0' })
  bench.certificateMs = 16_000
  bench.writeJoin()
})
afterAll(() => bench.stop())

const certificate = (): X509Certificate =>
  new X509Certificate(
    readFileSync(join(bench.nodeFolder, 'state/identity/agent.pem'), 'utf8').replace(/^[^]*?(?=-----BEGIN CERT)/, ''),
  )
const requests = async () => (await bench.client.list(csrType)).items

test('S2 a certificate is renewed by two thirds of its life with the one before, and the token is not used again', async () => {
  const agent = bench.run()
  await eventually(
    '1.0.0',
    () => bench.component(),
    (c) => c?.state === 'Healthy' && c.version === '1.0.0',
  )
  const first = certificate()
  const [from, to] = [Date.parse(first.validFrom), Date.parse(first.validTo)]
  await eventually('the second request', requests, (all) => all.length === 2, 20_000)
  const asked = (await requests()).map((r) => Date.parse(r.metadata.creationTimestamp ?? '')).sort((a, b) => a - b)
  // Times of objects are cut to seconds.
  expect((asked[1] ?? to) - from).toBeLessThanOrEqual((2 / 3) * (to - from) + 1_000)
  const users = bench.server.requests
    .filter((r) => r.method === 'POST' && r.path.includes('certificatesigningrequests'))
    .map((r) => r.user)
  expect(users).toEqual(['system:bootstrap:abcdef', `kubenode:agent:${MACHINE}`])
  bench.certificateMs = 3_600_000
  await eventually('the next certificate', certificate, (c) => c.serialNumber !== first.serialNumber)
  await eventually(
    'the end of the first',
    () => Date.now(),
    (now) => now > to,
    20_000,
  )
  await bench.permit('p2', 'SwitchComponent', 'Granted')
  await bench.order({ version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p2' } })
  await eventually(
    '1.1.0',
    () => bench.component(),
    (c) => c?.state === 'Healthy' && c.version === '1.1.0',
  )
  expect(bench.logOf(agent)).toContain('certificate renewed')
})
