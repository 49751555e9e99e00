// A version with `disruption: Reboot` on a machine with systemd: it reboots for real, once forward, and once more on the way back from a bad version.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { bundleAgent } from '#agent/join/program-bundle.ts'
import { type Release, release } from '#test/doubles/node/release.ts'
import { AgentBench, eventually } from '../../integration/agent-bench.ts'
import { HostMachine, noMachines } from './machine.ts'

const ROOT = join(import.meta.dirname, '../../..')
const ARTIFACTS = '/mnt/artifacts'
const AGENT = '/mnt/agent'
const STARTS = 'var/lib/beacon-starts'
/** A busy machine takes ten times as long as an idle one. */
const PATIENCE_MS = 180_000
const BAD = '1.2.0'

const missing = noMachines()
const bench = new AgentBench()
let host: HostMachine | undefined
let attempt = 1
let reboots = 0

const machine = (): HostMachine => {
  if (host === undefined) throw new Error('there is no machine')
  return host
}

/** Writes down its version and the boot at each start. */
const program = (version: string): string => `#!/bin/sh
echo "${version} $(cat /proc/sys/kernel/random/boot_id)" >> /${STARTS}
${version === BAD ? 'exit 1' : 'exec sleep infinity'}
`

const beacon = (version: string): Release =>
  release(bench.publisher, {
    version,
    entries: [{ name: 'bin/beacon', content: program(version), mode: 0o755 }],
    spec: {
      disruption: 'Reboot',
      service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Group' },
      probes: [
        { name: 'unit', unit: { name: 'kubenode-beacon.service' }, interval: '1s', timeout: '3s', settle: '3s' },
      ],
    },
  })

/** Each version in each boot once, however often it was started in it. */
function starts(): readonly (readonly [version: string, boot: string])[] {
  const path = join(machine().root, STARTS)
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
  return [...new Set(lines)].map((line) => line.split(' ') as [string, string])
}

const agentLog = (): string =>
  machine().run('journalctl', '-u', 'kubenode-agent', '--no-pager', '-n', '60', '-o', 'cat').out

async function reaches(version: string, state: string): Promise<void> {
  try {
    await eventually(
      `${version} ${state}`,
      () => bench.component(),
      (c) => c?.state === state && c.version === version && c.attempt === attempt,
      PATIENCE_MS,
    )
  } catch (e) {
    throw new Error(agentLog(), { cause: e })
  }
}

async function order(version: string): Promise<void> {
  attempt++
  const permit = `p-${attempt}`
  await bench.permit(permit, ['SwitchComponent', 'Drain', 'Reboot'], 'Granted')
  await bench.order({ version, attempt, switch: { attempt, permit } })
}

beforeAll(async () => {
  if (missing !== undefined) return
  await bench.start()
  const bundle = join(bench.folder, 'agent')
  await bundleAgent({ root: ROOT, out: bundle, prefix: '/opt/kubenode', node: execPath })
  const binds = [`${join(bench.folder, 'artifacts')}:${ARTIFACTS}`, `${bundle}:${AGENT}`]
  host = new HostMachine(binds, { onReboot: () => reboots++ })
  await host.boot()
  for (const version of ['1.0.0', '1.1.0', BAD, '1.3.0']) await bench.publish(beacon(version))
  await bench.order({ version: '1.0.0' })
  const join64 = Buffer.from(JSON.stringify(bench.joinBundle(ARTIFACTS))).toString('base64')
  const joined = await host.runAside(`${AGENT}/join.sh`, join64)
  if (joined.code !== 0) throw new Error(joined.out)
  await reaches('1.0.0', 'Healthy')
}, 300_000)

afterAll(async () => {
  if (missing !== undefined) return
  await host?.remove()
  await bench.stop()
}, 120_000)

beforeEach((context) => {
  if (missing !== undefined) context.skip(missing)
})

test('F36 a new version: the machine reboots once, and the version first starts in the boot after', async () => {
  const before = starts()
  await order('1.1.0')
  await reaches('1.1.0', 'Healthy')
  const [old, young] = starts()
  expect([before.length, reboots, starts().length]).toEqual([1, 1, 2])
  expect([old?.[0], young?.[0], old?.[1] === young?.[1]]).toEqual(['1.0.0', '1.1.0', false])
  expect((await bench.machine())?.status?.bootID).toBe(young?.[1])
}, 300_000)

test('F36 a bad version: two reboots, and the old version runs in the last boot', async () => {
  await order(BAD)
  await reaches('1.1.0', 'RolledBack')
  const [bad, back] = starts().slice(-2)
  expect([reboots, bad?.[0], back?.[0], bad?.[1] === back?.[1]]).toEqual([3, BAD, '1.1.0', false])
}, 300_000)

test('F36 F30 a machine that hangs on its way down: after a power cut it boots with the new version, and nothing else reboots', async () => {
  const unit =
    '[Service]\\nType=oneshot\\nRemainAfterExit=yes\\nExecStart=true\\nExecStop=sleep infinity\\nTimeoutStopSec=infinity\\n'
  // The next boot starts with an empty /run.
  machine().run('sh', '-c', `printf '${unit}' > /run/systemd/system/hangs.service; systemctl start hangs`)
  await order('1.3.0')
  await eventually(
    'the agent to end for the reboot',
    () => machine().run('systemctl', 'is-active', 'kubenode-agent').out.trim(),
    (state) => state === 'inactive' || state === 'failed',
    PATIENCE_MS,
  )
  const report = await bench.component()
  expect([report?.state, report?.rebootingSince !== undefined, reboots]).toEqual(['Switching', true, 3])
  await machine().cutPower()
  await machine().boot()
  await reaches('1.3.0', 'Healthy')
  const last = starts().at(-1)
  expect([reboots, last?.[0], (await bench.machine())?.status?.bootID]).toEqual([3, '1.3.0', last?.[1]])
}, 300_000)
