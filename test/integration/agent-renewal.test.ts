// An agent whose clock the test moves: it requests the next certificate with its own identity, in time, and keeps running.
import { X509Certificate } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { csrType } from '#agent/join/request.ts'
import { AgentBench, MACHINE, beaconRelease, eventually } from './agent-bench.ts'

const bench = new AgentBench()
const minutes = join(bench.folder, 'minutes')

/** Whole at once: the agent reads it at any moment. */
function shiftAgentBy(ms: number): void {
  writeFileSync(`${minutes}.new`, String(ms / 60_000))
  renameSync(`${minutes}.new`, minutes)
}

beforeAll(async () => {
  await bench.start()
  for (const version of ['1.0.0', '1.1.0']) await bench.publish(beaconRelease(bench.publisher, version))
  await bench.order({ version: '1.0.0' })
  shiftAgentBy(0)
  bench.environment = {
    NODE_OPTIONS: `--import=${join(import.meta.dirname, '../support/clocks/shifted-time.ts')}`,
    KUBENODE_TEST_TIME: minutes,
    KUBENODE_TEST_TIME_PASSES: '1',
  }
  bench.writeJoin()
})
afterAll(() => bench.stop())

const certificate = (): X509Certificate =>
  new X509Certificate(
    readFileSync(join(bench.nodeFolder, 'state/identity/agent.pem'), 'utf8').replace(/^[^]*?(?=-----BEGIN CERT)/, ''),
  )
const requests = async () => (await bench.client.list(csrType)).items

/** An agent that starts on a loaded machine. */
const WITHIN_MS = 200_000

test('S2 a certificate is renewed by two thirds of its life with the one before, and the token is not used again', async () => {
  const agent = bench.run()
  const runs = (version: string) =>
    eventually(
      version,
      () => bench.component(),
      (c) => c?.state === 'Healthy' && c.version === version,
      WITHIN_MS,
    )
  await runs('1.0.0')
  expect(await requests()).toHaveLength(1)
  const first = certificate()
  const [from, to] = [Date.parse(first.validFrom), Date.parse(first.validTo)]
  shiftAgentBy(from + (2 / 3) * (to - from) - Date.now())
  await eventually('the second request', requests, (all) => all.length === 2, WITHIN_MS)
  const users = bench.server.requests
    .filter((r) => r.method === 'POST' && r.path.includes('certificatesigningrequests'))
    .map((r) => r.user)
  expect(users).toEqual(['system:bootstrap:abcdef', `kubenode:agent:${MACHINE}`])
  await eventually('the next certificate', certificate, (c) => c.serialNumber !== first.serialNumber, WITHIN_MS)
  await bench.permit('p2', 'SwitchComponent', 'Granted')
  await bench.order({ version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p2' } })
  await runs('1.1.0')
  expect(bench.logOf(agent)).toContain('certificate renewed')
})
