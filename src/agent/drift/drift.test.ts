// Installed files are modified on a node in memory.
import { describe, expect, test } from 'vitest'
import { defined } from '#lib/defined.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { writeDurably } from '../files/durable.ts'
import type { OnName, WatchFolder } from '../files/folder-watch.ts'
import { MANIFEST } from '../components/manifest.ts'
import { currentLink, foreignFolder, slotFolder } from '../node-dir.ts'
import { FakeNode } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { type DriftDeps, DriftWatch } from './drift-watch.ts'
import type { Finding } from './inspect.ts'
import { HEAL_WINDOW_MS, MAX_HEALS, planDrift } from './plan.ts'

const publisher = newPublisher()
const one = release(publisher, {
  version: '1.0.0',
  spec: {
    service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' },
    files: [{ path: '/etc/beacon.conf', mode: '0644', format: 'ini', template: 'port = 1\n', onChange: 'Restart' }],
  },
})

const CONFIG = '/node/root/etc/beacon.conf'
const PROGRAM = '/node/root/opt/beacon/bin/beacon'

/** As a started agent watches the node. */
function watchOf(
  { node, clock, files }: { readonly node: FakeNode; readonly clock: VirtualClock; readonly files: MemoryFiles },
  more: Partial<DriftDeps> = {},
): DriftWatch {
  const watch = new DriftWatch({
    files,
    dir: node.dir,
    platform: { os: 'linux', arch: 'amd64' },
    clock,
    random: seededRandom(1),
    log: silentLogger,
    processes: node.processes,
    workers: () => [node.worker],
    inspectRunning: async () => [],
    onHealed: () => undefined,
    onLeft: () => undefined,
    ...more,
  })
  watch.start()
  return watch
}

async function installed(watchFolder?: WatchFolder) {
  const clock = new VirtualClock()
  const files = new MemoryFiles({ now: () => clock.now() })
  const node = new FakeNode({ publisher, releases: [one], clock, disk: files })
  await node.start()
  node.obey({ version: '1.0.0', attempt: 1 })
  await clock.advance(20_000)
  expect(node.worker.record?.state).toBe('Healthy')
  const running: Finding[] = []
  const told: string[] = []
  watchOf(
    { node, clock, files },
    {
      inspectRunning: async () => running,
      onHealed: (component, what) => told.push(`healed ${component}: ${what}`),
      onLeft: (component, what) => told.push(`left ${component}: ${what}`),
      ...defined({ watchFolder }),
    },
  )
  const read = async (path: string) => (await files.read(path))?.toString()
  /** Like `sed -i`: a file replaces the link. */
  const replace = (path: string, text: string) => writeDurably(files, path, text, 0o644)
  /** Like an editor that follows links. */
  const edit = async (path: string, text: string) => {
    const target = (await files.readLink(path)) ?? path
    const real = target.replace('/current/', `/slots/${node.worker.record?.current?.id}/`)
    await writeDurably(files, real, text, 0o644)
  }
  const programInSlot = PROGRAM.replace(
    '/node/root/opt/beacon/',
    `/node/state/components/beacon/slots/${node.worker.record?.current?.id}/tree/`,
  )
  return { clock, files, node, running, told, read, replace, edit, programInSlot }
}

describe('a file that another program changed', () => {
  test.each([
    ['a file in place of a link', 'replace', 'is no longer a link'],
    ['the text behind a link', 'edit', 'has different content'],
  ] as const)(
    '%s is put right within seconds, nothing is started again, what was there is kept, and users are told',
    async (_what, how, says) => {
      const { clock, files, node, told, read, ...change } = await installed()
      const starts = node.processes.starts.length
      await change[how](CONFIG, 'port = 666\n')
      await clock.advance(6_000)
      expect([await read(CONFIG), node.processes.starts.length, node.worker.drift]).toEqual([
        'port = 1\n',
        starts,
        undefined,
      ])
      expect(told).toEqual([`healed beacon: /etc/beacon.conf ${says}`])
      const [name = ''] = await files.list(foreignFolder(node.dir, 'beacon'))
      expect(await read(`${foreignFolder(node.dir, 'beacon')}/${name}`)).toBe('port = 666\n')
    },
  )

  test('a program is taken out of the artifact again', async () => {
    const { clock, files, node, read, programInSlot } = await installed()
    await writeDurably(files, programInSlot, 'beacon 6.6.6', 0o755)
    await clock.advance(6_000)
    expect([await read(PROGRAM), (await files.list(foreignFolder(node.dir, 'beacon'))).length]).toEqual([
      'beacon 1.0.0',
      1,
    ])
  })

  test('a program that is exchanged in the moment in which it was put right is put right again', async () => {
    const { clock, files, read, programInSlot } = await installed()
    const rename = files.rename.bind(files)
    const exchanges = ['beacon 6.6.6', 'beacon 6.6.7']
    const exchange = async () => {
      files.rename = rename
      await writeDurably(files, programInSlot, exchanges.shift() ?? '', 0o755)
      files.rename = async (from, to) => {
        await rename(from, to)
        if (to === programInSlot && exchanges.length > 0) await exchange()
      }
    }
    await exchange()
    await clock.advance(12_000)
    expect([exchanges, await read(PROGRAM)]).toEqual([[], 'beacon 1.0.0'])
  })

  test('a thing that is gone comes back', async () => {
    const { clock, files, read, programInSlot } = await installed()
    await files.remove(CONFIG)
    await files.remove(programInSlot)
    await clock.advance(6_000)
    expect([await read(CONFIG), await read(PROGRAM)]).toEqual(['port = 1\n', 'beacon 1.0.0'])
  })

  test.each([
    ['is gone', async (files: MemoryFiles, path: string) => files.remove(path)],
    [
      'points elsewhere',
      async (files: MemoryFiles, path: string) => {
        await files.remove(path)
        await files.link(path, '/tmp')
      },
    ],
  ])('F30 the link to the version in use that %s comes back', async (_, harm) => {
    const { clock, files, node, read } = await installed()
    const path = currentLink(node.dir, 'beacon')
    const before = await files.readLink(path)
    await harm(files, path)
    await clock.advance(6_000)
    expect([await files.readLink(path), await read(PROGRAM), node.worker.drift]).toEqual([
      before,
      'beacon 1.0.0',
      undefined,
    ])
  })

  test('again and again is left as it is, and reported without its content', async () => {
    const { clock, node, told, read, replace } = await installed()
    for (let n = 0; n <= MAX_HEALS; n++) {
      await replace(CONFIG, `port = ${n}\n`)
      await clock.advance(6_000)
    }
    expect(await read(CONFIG)).toBe(`port = ${MAX_HEALS}\n`)
    expect([node.worker.drift, node.worker.foreign]).toEqual([
      `/etc/beacon.conf is no longer a link; not repaired again after ${MAX_HEALS} repairs`,
      ['/etc/beacon.conf'],
    ])
    await clock.advance(2 * HEAL_WINDOW_MS)
    expect(await read(CONFIG)).toBe(`port = ${MAX_HEALS}\n`)
    const healed = Array.from({ length: MAX_HEALS }, () => 'healed beacon: /etc/beacon.conf is no longer a link')
    expect(told).toEqual([...healed, 'left beacon: /etc/beacon.conf is no longer a link'])
  })

  test('F31 that cannot be put right for hours comes back once it can, and until then the cause is reported', async () => {
    const { clock, files, node, told, read, replace } = await installed()
    const rename = files.rename.bind(files)
    let tries = 0
    files.rename = async (from, to) => {
      if (to === CONFIG && ++tries > 0)
        throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC', path: from, dest: to })
      await rename(from, to)
    }
    await files.remove(CONFIG)
    await clock.advance(2 * HEAL_WINDOW_MS)
    expect(node.worker.drift).toMatch(/^KN8087: cannot write .* on this host: the disk is full \(ENOSPC\)/)
    expect(tries).toBeLessThan(40)
    files.rename = rename
    await clock.advance(70_000)
    expect([await read(CONFIG), node.worker.drift, told]).toEqual([
      'port = 1\n',
      undefined,
      ['healed beacon: /etc/beacon.conf is missing'],
    ])
    await replace(CONFIG, 'port = 2\n')
    await clock.advance(6_000)
    expect(await read(CONFIG)).toBe('port = 1\n')
  })

  test('F31 a folder in place of a link that is moved away is replaced within seconds', async () => {
    const { clock, files, node, read } = await installed()
    await files.remove(CONFIG)
    await files.makeFolder(CONFIG)
    await clock.advance(HEAL_WINDOW_MS)
    expect(node.worker.drift).toMatch(/^KN8023: .*move the folder away/)
    await files.remove(CONFIG)
    await clock.advance(6_000)
    expect([await read(CONFIG), node.worker.drift]).toEqual(['port = 1\n', undefined])
  })

  test('while it ran is not started again without an order, and a switch to a fresh copy ends it', async () => {
    const { clock, node, running } = await installed()
    const starts = node.processes.starts.length
    const before = node.worker.record?.current?.id
    running.push({ kind: 'Running', key: 'running', what: 'process 7 runs another program' })
    await clock.advance(60_000)
    expect([node.worker.drift, node.worker.record?.state, node.processes.starts.length]).toEqual([
      'process 7 runs another program; waiting for a switch order',
      'Healthy',
      starts,
    ])
    node.obey({ version: '1.0.0', attempt: 2 })
    await clock.advance(60_000)
    expect([node.worker.record?.state, node.processes.starts.length]).toEqual(['Staged', starts])
    node.obey({ version: '1.0.0', attempt: 2, switch: { attempt: 2, permit: 'p' } })
    await clock.advance(100)
    running.length = 0
    await clock.advance(60_000)
    expect([node.worker.record?.state, node.worker.drift, node.processes.starts.length]).toEqual([
      'Healthy',
      undefined,
      starts + 1,
    ])
    expect(node.worker.record?.current?.id).not.toBe(before)
  })
})

/** A file system that reports every change. */
function telling() {
  const listeners = new Set<{ readonly folder: string; readonly onName: OnName }>()
  const watchFolder: WatchFolder = (folder, onName) => {
    const listener = { folder, onName }
    listeners.add(listener)
    return { close: () => void listeners.delete(listener) }
  }
  const touch = (name: string | undefined): void => {
    for (const { onName } of listeners) onName(name)
  }
  return { listeners, watchFolder, touch }
}

describe('where the file system tells of touches', () => {
  test('nothing is read for a minute while no file is touched', async () => {
    const { clock, files } = await installed(telling().watchFolder)
    await clock.advance(10_000)
    let looks = 0
    const stat = files.stat.bind(files)
    files.stat = (path) => {
      looks++
      return stat(path)
    }
    await clock.advance(45_000)
    expect(looks).toBe(0)
    await clock.advance(20_000)
    expect(looks).toBeGreaterThan(0)
  })

  test.each([
    ['by its name', 'beacon.conf'],
    ['without a name', undefined],
  ])('a change that is reported %s is undone within a second', async (_what, name) => {
    const { watchFolder, touch } = telling()
    const { clock, read, replace } = await installed(watchFolder)
    await clock.advance(10_000)
    await replace(CONFIG, 'port = 666\n')
    touch(name)
    await clock.advance(1_000)
    expect(await read(CONFIG)).toBe('port = 1\n')
  })

  test('other names of the same folder are ignored, and unreported changes are found within the minute', async () => {
    const { watchFolder, touch } = telling()
    const { clock, read, replace } = await installed(watchFolder)
    await clock.advance(10_000)
    await replace(CONFIG, 'port = 666\n')
    touch('something.else')
    await clock.advance(5_000)
    expect(await read(CONFIG)).toBe('port = 666\n')
    await clock.advance(60_000)
    expect(await read(CONFIG)).toBe('port = 1\n')
  })

  test('another process of the component is looked at soon, and listeners go with their component', async () => {
    const { watchFolder, listeners } = telling()
    const { clock, node, running } = await installed(watchFolder)
    await clock.advance(10_000)
    running.push({ kind: 'Running', key: 'running', what: 'process 8 runs another program' })
    await clock.advance(20_000)
    expect(node.worker.drift).toBeUndefined()
    Object.assign(node.processes, { main: () => 8 })
    await clock.advance(6_000)
    expect(node.worker.drift).toMatch(/^process 8 runs another program/)
    expect(listeners.size).toBeGreaterThan(0)
    node.obey(undefined)
    await clock.advance(20_000)
    expect(node.worker.record).toBeUndefined()
  })
})

const finding: Finding = { kind: 'Unit', key: 'unit', what: 'it is not as it was written' }

test.each([
  ['nothing', [], [], 0, 0, undefined],
  ['one', [finding], [], 1, 0, undefined],
  ['one that was put right often, long ago', [finding], [0, 1, 2], 1, 0, undefined],
  [
    'one that was put right often',
    [finding],
    [HEAL_WINDOW_MS, HEAL_WINDOW_MS + 1, HEAL_WINDOW_MS + 2],
    0,
    1,
    /not repaired again after 3/,
  ],
] as const)('the plan for %s', (_what, findings, heals, heal, giveUp, report) => {
  const plan = planDrift(
    findings,
    { heals: new Map([['unit', heals]]), left: new Set(), failures: new Map() },
    HEAL_WINDOW_MS + 10,
  )
  expect([plan.heal.length, plan.giveUp.length]).toEqual([heal, giveUp])
  if (report === undefined) expect(plan.report).toBeUndefined()
  else expect(plan.report).toMatch(report)
})

test.each([
  ['slot', 'slot.json'],
  ['list of files', MANIFEST],
])(
  'F47 a %s that a restarted agent cannot read is drift after two minutes, and none once it can be read again',
  async (_, name) => {
    const { clock, node, files } = await installed()
    const mark = `${slotFolder(node.dir, 'beacon', node.worker.record?.current?.id ?? '')}/${name}`
    const whole = (await files.read(mark)) ?? ''
    await writeDurably(files, mark, '{"spec":')
    const watch = watchOf({ clock, node, files })
    await clock.advance(100_000)
    expect(node.worker.drift).toBeUndefined()
    await clock.advance(60_000)
    expect(node.worker.drift).toMatch(
      /^what was installed of 1\.0\.0 cannot be read on the disk \(slot [0-9a-f]{16}-0\)$/,
    )
    await writeDurably(files, mark, whole)
    await clock.advance(60_000)
    expect(node.worker.drift).toBeUndefined()
    await watch.close()
  },
)
