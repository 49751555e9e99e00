// A unit from another program is released: it returns to its earlier state, except for what a user changed since.
import { expect, test } from 'vitest'
import { silentLogger } from '#lib/log.ts'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { writeDurably } from '../../files/durable.ts'
import { nodeDir, processFile } from '../../node-dir.ts'
import { parseShow, type Systemctl } from './systemctl.ts'
import { Systemd } from './systemd.ts'

const UNIT = 'lamp.service'
const PACKAGED = `/lib/systemd/system/${UNIT}`
const WANTS = `/etc/systemd/system/multi-user.target.wants/${UNIT}`
const service = { unit: UNIT, restart: 'Always', killMode: 'Group' } as const
/** Limit of starts, by any program. */
const BURST = 3
const dir = nodeDir('/node', '/')

interface State {
  readonly active: string
  readonly file: string
  readonly load?: string
}

/** A host whose unit is in a state that commands change; with `isTaken`, the agent has started it before. */
async function host(state: State, isTaken = true) {
  const files = new MemoryFiles()
  let now = state
  let starts = 0
  const commands: string[] = []
  const systemctl: Systemctl = {
    show: async (units) => {
      const { active, file, load = 'loaded' } = now
      const text = `LoadState=${load}\nActiveState=${active}\nUnitFileState=${file}\nFragmentPath=${PACKAGED}\nMainPID=0\nNRestarts=0`
      return parseShow(units.map(() => text).join('\n\n'), units)
    },
    run: async (...args) => {
      if (args[0] === 'reset-failed') starts = 0
      if (args[0] === 'restart' && ++starts > BURST) throw new Error('start of the service was attempted too often')
      if (args[0] === 'daemon-reload' || args[0] === 'reset-failed') return
      commands.push(args[0] ?? '')
      if (args[0] === 'enable') now = { ...now, file: 'enabled' }
    },
  }
  if (isTaken)
    await writeDurably(
      files,
      processFile(dir, 'lamp'),
      JSON.stringify({ unit: UNIT, slot: 's', restart: 'Always', ours: false }),
    )
  const clock = new VirtualClock()
  const systemd = new Systemd({ files, dir, clock, log: silentLogger, systemctl, environment: {} })
  await systemd.adopt()
  return { files, systemd, commands, set: (next: State) => void (now = next) }
}

const kept = (active: string, file: string) => ({ unit: UNIT, active, file, isDeclared: true })

test.each<[string, State, { readonly active: string; readonly file: string }, readonly string[]]>([
  [
    'runs and is enabled, as before',
    { active: 'active', file: 'enabled' },
    { active: 'active', file: 'enabled' },
    ['restart'],
  ],
  [
    'was disabled by a person',
    { active: 'active', file: 'disabled' },
    { active: 'active', file: 'enabled' },
    ['restart'],
  ],
  ['was stopped by a person', { active: 'inactive', file: 'enabled' }, { active: 'active', file: 'enabled' }, []],
  [
    'was masked by a person',
    { active: 'active', file: 'masked', load: 'masked' },
    { active: 'active', file: 'enabled' },
    [],
  ],
  [
    'was removed with its package',
    { active: 'active', file: '', load: 'not-found' },
    { active: 'active', file: 'enabled' },
    [],
  ],
  ['failed', { active: 'failed', file: 'enabled' }, { active: 'active', file: 'enabled' }, ['restart']],
  [
    'was enabled by a person',
    { active: 'active', file: 'enabled' },
    { active: 'active', file: 'disabled' },
    ['restart'],
  ],
  ['did not run before', { active: 'active', file: 'disabled' }, { active: 'inactive', file: 'disabled' }, ['stop']],
])('F47 a unit that %s is let go', async (_name, state, before, commands) => {
  const one = await host(state)
  const unit = kept(before.active, before.file)
  await one.systemd.release('lamp', service, { kind: 'Restore', unit, restarts: true })
  expect(one.commands).toEqual(commands)
  one.systemd.close()
})

test('F47 a unit that the agent stopped runs again', async () => {
  for (const [isTaken, isUndo] of [
    [false, false],
    [true, true],
  ] as const) {
    const { systemd, commands } = await host({ active: 'inactive', file: 'enabled' }, isTaken)
    const unit = kept('active', 'enabled')
    await systemd.release('lamp', service, { kind: 'Restore', unit, restarts: false, ...(isUndo && { isUndo }) })
    expect(commands).toEqual(['restart'])
    systemd.close()
  }
})

test('F47 a unit that the agent enabled is disabled again', async () => {
  const { systemd, commands, set } = await host({ active: 'inactive', file: 'disabled' }, false)
  await systemd.start({ component: 'lamp', slot: 's', service })
  expect(commands).toEqual(['enable', 'restart'])
  set({ active: 'active', file: 'enabled' })
  await systemd.release('lamp', service, { kind: 'Restore', unit: kept('active', 'disabled'), restarts: false })
  expect(commands).toEqual(['enable', 'restart', 'disable'])
  systemd.close()
})

test('F47 links that systemd made to the unit of the component lead to the unit of the host again', async () => {
  const { systemd, files } = await host({ active: 'active', file: 'enabled' })
  await files.makeFolder('/etc/systemd/system/multi-user.target.wants')
  await files.link(WANTS, `/etc/systemd/system/${UNIT}`)
  await files.link('/etc/systemd/system/lampd.service', `/node/state/components/lamp/slots/s/files/0/${UNIT}`)
  await files.link('/etc/systemd/system/other.service', '/lib/systemd/system/other.service')
  const unit = kept('active', 'enabled')
  await systemd.release('lamp', service, { kind: 'Restore', unit, restarts: false })
  expect(await Promise.all([WANTS, '/etc/systemd/system/lampd.service'].map((p) => files.readLink(p)))).toEqual([
    PACKAGED,
    PACKAGED,
  ])
  expect(await files.readLink('/etc/systemd/system/other.service')).toBe('/lib/systemd/system/other.service')
  systemd.close()
})

test('F33 a good version is started however often those before it were, by the agent or by systemd', async () => {
  const { systemd, commands } = await host({ active: 'inactive', file: 'enabled' })
  for (let n = 0; n <= BURST; n++) await systemd.start({ component: 'lamp', slot: `s${n}`, service })
  expect(commands).toHaveLength(BURST + 1)
  systemd.close()
})

test('a version that runs already needs no start, and so a mask refuses nothing', async () => {
  const { systemd, commands, set } = await host({ active: 'active', file: 'masked', load: 'masked' })
  await systemd.start({ component: 'lamp', slot: 's', service })
  set({ active: 'inactive', file: 'masked', load: 'masked' })
  await expect(systemd.start({ component: 'lamp', slot: 's', service })).rejects.toThrow(/^KN8055/)
  expect(commands).toEqual([])
  systemd.close()
})
