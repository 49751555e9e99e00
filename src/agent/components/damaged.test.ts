// An adopted component leaves a host whose disk damaged the agent's records: no host file is lost, and nothing is half restored.
import { describe, expect, test } from 'vitest'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { FakeNode, FakeProcesses, type TestOrder } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { saveOriginals } from '../leave/save-originals.ts'
import { nodeDir } from '../node-dir.ts'

const publisher = newPublisher()
const PROGRAM = '/usr/bin/lamp'
const CONFIG = '/etc/lamp/lamp.conf'
const FOLDER = '/node/state/components/lamp'
const KEPT = '/node/state/kept/lamp'

const releases = ['1.0.0', '1.1.0'].map((version) =>
  release(publisher, {
    component: 'lamp',
    version,
    entries: [{ name: 'lamp', content: `lamp ${version}`, mode: 0o755 }],
    spec: {
      install: { binaries: [{ source: 'lamp', path: PROGRAM, mode: '0755' }] },
      files: [{ path: CONFIG, mode: '0600', format: 'plain', template: 'declared', onChange: 'None' }],
      service: { unit: 'lamp', restart: 'Always', killMode: 'Group' },
      probes: [{ name: 'p', tcp: { port: 1 }, interval: '1s', timeout: '1s', settle: '2s' }],
    },
  }),
)

const UNIT = { unit: 'lamp.service', active: 'active', file: 'enabled', isDeclared: true } as const

async function put(disk: MemoryFiles, path: string, content: string): Promise<void> {
  await disk.makeFolder(path.slice(0, path.lastIndexOf('/')))
  await disk.remove(path)
  const writer = await disk.create(path, 0o640)
  await writer.write(Buffer.from(content))
  await writer.sync()
}

const processes = new Map<MemoryFiles, FakeProcesses>()

async function run(disk: MemoryFiles, order: TestOrder | undefined): Promise<FakeNode> {
  const clock = new VirtualClock()
  const running = processes.get(disk) ?? new FakeProcesses()
  processes.set(disk, running)
  const options = { publisher, releases, clock, disk, processes: running, adoption: 'Adopt' } as const
  const node = new FakeNode({ ...options, probe: () => ({ kind: 'Pass' }) }, 'lamp')
  await node.start()
  node.obey(order)
  await clock.advance(6_000)
  await node.worker.close()
  return node
}

const switched = (version: string, attempt: number): TestOrder => ({
  version,
  attempt,
  switch: { attempt, permit: 'p' },
})

/** Files and a unit from a distribution, adopted by the agent. */
async function adopted(): Promise<MemoryFiles> {
  const files = new MemoryFiles()
  await put(files, `/node/root${PROGRAM}`, 'lamp 1.0.0')
  await put(files, `/node/root${CONFIG}`, 'by hand')
  const disk = files.durable()
  const running = new FakeProcesses()
  running.foreign.set('lamp', UNIT)
  processes.set(disk, running)
  const node = await run(disk, switched('1.0.0', 1))
  expect([node.worker.record?.state, await node.files.readLink(`/node/root${PROGRAM}`)]).toEqual([
    'Healthy',
    expect.stringContaining('/current/'),
  ])
  return disk
}

const text = async (disk: MemoryFiles, path: string): Promise<string | undefined> => {
  const stat = await disk.stat(`/node/root${path}`)
  return stat?.kind === 'File' ? (await disk.read(`/node/root${path}`))?.toString() : stat?.kind
}

const slotOf = async (disk: MemoryFiles): Promise<string> =>
  `${FOLDER}/slots/${(await disk.list(`${FOLDER}/slots`))[0]}`

describe('F47 what was adopted, with', () => {
  test.each<[string, (disk: MemoryFiles) => Promise<void>]>([
    ['a record that is cut off', (disk) => put(disk, `${FOLDER}/record.json`, '{"format":1,"comp')],
    ['an empty record', (disk) => put(disk, `${FOLDER}/record.json`, '')],
    ['a slot whose mark is cut off', async (disk) => put(disk, `${await slotOf(disk)}/slot.json`, '{"spec":')],
    ['a slot that is lost', async (disk) => disk.remove(await slotOf(disk))],
    [
      'a slot that is lost, and no link to it',
      async (disk) => {
        await disk.remove(await slotOf(disk))
        await disk.remove(`${FOLDER}/current`)
      },
    ],
  ])('%s is put back', async (_name, damage) => {
    const disk = await adopted()
    await damage(disk)
    const node = await run(disk, undefined)
    expect([node.worker.record, await text(disk, PROGRAM), await text(disk, CONFIG)]).toEqual([
      undefined,
      'lamp 1.0.0',
      'by hand',
    ])
    expect([processes.get(disk)?.stops, processes.get(disk)?.released.map((r) => r.release.kind)]).toEqual([
      0,
      ['Restore'],
    ])
  })

  test.each<[string, string]>([
    ['cut off', '{"format":1,"component":"lamp","orig'],
    ['empty', ''],
  ])('a list of originals that is %s stays in use as plain files, and the copies are saved', async (_name, content) => {
    const disk = await adopted()
    await put(disk, `${KEPT}/kept.json`, content)
    const managed = await run(disk, switched('1.0.0', 1))
    expect(managed.worker.removal).toEqual({
      how: 'Keep',
      restarts: false,
      message: expect.stringMatching(
        /^the original of \S+ is unknown, so lamp 1.0.0 stays.*\/var\/backups\/kubenode\/lamp$/,
      ) as string,
    })
    await run(disk, undefined)
    expect([await text(disk, PROGRAM), await text(disk, CONFIG), processes.get(disk)?.stops]).toEqual([
      'lamp 1.0.0',
      'declared',
      0,
    ])
    const saved = await saveOriginals({ files: disk, dir: nodeDir('/node') })
    expect(await Promise.all(saved.map((path) => text(disk, path)))).toEqual(expect.arrayContaining(['by hand']))
  })

  test('a list of originals that is lost before another version comes stays in use', async () => {
    const disk = await adopted()
    await put(disk, `${KEPT}/kept.json`, '')
    await run(disk, switched('1.1.0', 2))
    await run(disk, undefined)
    expect([await text(disk, PROGRAM), await text(disk, CONFIG)]).toEqual(['lamp 1.1.0', 'declared'])
  })
})

test('F31 F47 a hand-back on a full disk says so, puts nothing half in place, and ends when there is room', async () => {
  const disk = await adopted()
  const create = disk.create.bind(disk)
  const link = disk.link.bind(disk)
  let isFull = true
  const refused = (path: string): Error =>
    Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC', path })
  disk.copyWhole = async () => false
  disk.create = (path, mode, owner) => (isFull ? Promise.reject(refused(path)) : create(path, mode, owner))
  disk.link = (path, target, owner) => (isFull ? Promise.reject(refused(path)) : link(path, target, owner))
  const node = await run(disk, undefined)
  expect(node.worker.removalProblem).toMatch(
    /^cannot be handed back yet: KN8087: cannot write \S+ on this host: the disk is full \(ENOSPC\); /,
  )
  for (const path of [PROGRAM, CONFIG]) expect(await text(disk, path)).toBe('Link')
  isFull = false
  await run(disk, undefined)
  expect([await text(disk, PROGRAM), await text(disk, CONFIG)]).toEqual(['lamp 1.0.0', 'by hand'])
})
