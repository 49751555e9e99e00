// The unit that starts the agent is removed, disabled or masked on a host in memory.
import { expect, test } from 'vitest'
import { silentLogger } from '#lib/log.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { writeDurably } from '../files/durable.ts'
import { agentUnit } from '../join/unit.ts'
import { UNIT_PATH, WANTED_BY } from '../leave/leave-host.ts'
import { nodeDir } from '../node-dir.ts'
import { AgentUnitWatch } from './agent-unit.ts'
import { HEAL_WINDOW_MS, MAX_HEALS } from './plan.ts'

const TEXT = agentUnit({ node: '/opt/kubenode/bin/node', folder: '/opt/kubenode', root: '/var/lib/kubenode' })

async function host(more: { readonly isEnabled?: boolean; readonly text?: string } = {}) {
  const { isEnabled = true, text = TEXT } = more
  const clock = new VirtualClock()
  const files = new MemoryFiles({ now: () => clock.now() })
  const dir = nodeDir('/var/lib/kubenode', '/')
  const ran: string[] = []
  const told: string[] = []
  const enable = async () => {
    if ((await files.readLink(WANTED_BY)) === undefined) await files.link(WANTED_BY, UNIT_PATH)
  }
  const systemctl = {
    refuses: false,
    run: async (...args: readonly string[]) => {
      if (systemctl.refuses) throw new Error('systemd says no')
      ran.push(args.join(' '))
      if (args[0] === 'enable') await enable()
    },
  }
  await files.makeFolder('/var/lib/kubenode/state')
  await files.makeFolder('/etc/systemd/system/multi-user.target.wants')
  await writeDurably(files, UNIT_PATH, text, 0o644)
  if (isEnabled) await enable()
  const watchOf = () =>
    new AgentUnitWatch({
      files,
      dir,
      clock,
      log: silentLogger,
      systemctl,
      onHealed: (what) => told.push(`healed: ${what}`),
      onLeft: (what) => told.push(`left: ${what}`),
    })
  let watch = watchOf()
  const inspect = async () => {
    await clock.advance(60_000)
    await watch.inspect()
  }
  await inspect()
  const unit = async () => [(await files.read(UNIT_PATH))?.toString(), (await files.readLink(WANTED_BY)) !== undefined]
  return { clock, files, ran, told, systemctl, inspect, unit, restart: () => (watch = watchOf()) }
}

test('a unit that is as it was joined is left alone', async () => {
  const { inspect, ran, told } = await host()
  await inspect()
  expect([ran, told]).toEqual([[], []])
})

test('a unit that is removed from the host comes back, enabled, also by a later agent', async () => {
  const { files, inspect, unit, ran, told, restart } = await host()
  await files.remove(UNIT_PATH)
  await files.remove(WANTED_BY)
  restart()
  await inspect()
  expect(await unit()).toEqual([TEXT, true])
  expect(ran).toEqual(['daemon-reload', 'enable -- kubenode-agent.service'])
  expect(told).toEqual(['healed: unit kubenode-agent.service is missing'])
})

test('a unit that is disabled is enabled, and one that never was enabled stays so', async () => {
  const { files, inspect, unit, told } = await host()
  await files.remove(WANTED_BY)
  await inspect()
  expect([await unit(), told]).toEqual([[TEXT, true], ['healed: unit kubenode-agent.service is disabled']])
  const other = await host({ isEnabled: false })
  await other.inspect()
  expect([await other.unit(), other.ran]).toEqual([[TEXT, false], []])
})

test('what a person changes in it is what comes back', async () => {
  const { files, inspect, unit } = await host()
  const changed = TEXT.replace('LimitNOFILE=4096', 'LimitNOFILE=8192')
  await writeDurably(files, UNIT_PATH, changed, 0o644)
  await inspect()
  await files.remove(UNIT_PATH)
  await inspect()
  expect(await unit()).toEqual([changed, true])
})

test('a person who masks it wins, and it is reported once', async () => {
  const { files, inspect, told, ran } = await host()
  await files.remove(UNIT_PATH)
  await files.link(UNIT_PATH, '/dev/null')
  await inspect()
  await inspect()
  expect(ran).toEqual([])
  expect(told).toEqual(['left: unit kubenode-agent.service is masked: the agent does not start at the next boot'])
})

test('a program that removes it again and again wins, and that is reported', async () => {
  const { files, inspect, unit, told } = await host()
  for (let n = 0; n < HEAL_WINDOW_MS / 60_000; n++) {
    await files.remove(UNIT_PATH)
    await inspect()
  }
  expect(await unit()).toEqual([undefined, true])
  expect(told).toEqual([
    ...Array.from({ length: MAX_HEALS }, () => 'healed: unit kubenode-agent.service is missing'),
    'left: unit kubenode-agent.service is missing',
  ])
})

test('a unit that cannot be put back is tried again', async () => {
  const { files, inspect, told, systemctl, unit } = await host()
  await files.remove(UNIT_PATH)
  await files.remove(WANTED_BY)
  systemctl.refuses = true
  await inspect()
  expect(told).toEqual([])
  systemctl.refuses = false
  await inspect()
  await inspect()
  expect(await unit()).toEqual([TEXT, true])
})

test.each([
  ['of another program', '[Service]\nExecStart=/bin/sleep 1000\n'],
  [
    'that removes an agent which has left',
    "[Service]\nExecStart=/bin/sh -ec 'rm -rf -- /opt/kubenode/supervisor.mjs'\n",
  ],
])('a unit %s is neither remembered nor put back', async (_, text) => {
  const { files, inspect, unit, told } = await host({ text })
  await files.remove(UNIT_PATH)
  await inspect()
  expect([await unit(), told]).toEqual([[undefined, true], []])
})
