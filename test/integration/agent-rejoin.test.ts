// A cluster that was unreachable for longer than a certificate lives, or that moved: its machines rejoin with another bundle, and lose nothing.
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { processesOfNode } from '#agent/supervise/mark.ts'
import { AgentBench, beaconRelease, eventually } from './agent-bench.ts'

const bench = new AgentBench()
const path = join(bench.nodeFolder, 'join.json')

beforeAll(async () => {
  await bench.start()
  for (const version of ['1.0.0', '1.1.0']) await bench.publish(beaconRelease(bench.publisher, version))
  await bench.order({ version: '1.0.0' })
  bench.certificateMs = 8_000
  bench.writeJoin()
})
afterAll(() => bench.stop())

const certificate = (): X509Certificate =>
  new X509Certificate(
    readFileSync(join(bench.nodeFolder, 'state/identity/agent.pem'), 'utf8').replace(/^[^]*?(?=-----BEGIN CERT)/, ''),
  )
const pids = (): readonly number[] => processesOfNode(bench.nodeFolder).map((p) => p.process.pid)

test('S2 an agent whose certificate ran out takes the next bundle, and what it runs goes on', async () => {
  const first = bench.run()
  await eventually(
    '1.0.0',
    () => bench.component(),
    (c) => c?.state === 'Healthy',
  )
  first.kill('SIGKILL')
  await once(first, 'exit')
  const [old, running] = [certificate(), pids()]
  await eventually(
    'its end',
    () => Date.now(),
    (now) => now > Date.parse(old.validTo),
  )
  bench.certificateMs = 3_600_000
  const bundle = { ...bench.joinBundle(), token: 'ghijkl.0123456789abcdef' }
  writeFileSync(path, JSON.stringify(bundle))
  const deaf = bench.run()
  // A token that the server does not know yet does not stop the agent from managing the node.
  await eventually(
    'a warning',
    () => bench.logOf(deaf),
    (log) => log.includes('cannot join again') && log.includes('agent started'),
  )
  expect([certificate().serialNumber, existsSync(path), deaf.exitCode]).toEqual([old.serialNumber, true, null])
  deaf.kill('SIGKILL')
  await once(deaf, 'exit')
  bench.server.tokens.set(bundle.token, 'system:bootstrap:ghijkl')
  bench.run()
  await bench.permit('p2', 'SwitchComponent', 'Granted')
  await eventually('another certificate', certificate, (c) => c.serialNumber !== old.serialNumber)
  await eventually(
    'the bundle gone',
    () => existsSync(path),
    (there) => !there,
  )
  expect(pids()).toEqual(running)
  await bench.order({ version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p2' } })
  await eventually(
    '1.1.0',
    () => bench.component(),
    (c) => c?.state === 'Healthy' && c.version === '1.1.0',
  )
})
