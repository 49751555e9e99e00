// Another program's component is adopted, upgraded and handed back: content, mode, owner and links are as before, whatever interrupts it.
import { describe, expect, test } from 'vitest'
import { MemoryFiles, type CrashMode } from '#test/doubles/files/memory-files.ts'
import { FakeNode, FakeProcesses, type TestOrder } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { isFull } from '#test/support/tools/full.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { AdoptionMode } from './adoption.ts'
import { readKept } from './kept.ts'
import { inspectLinks } from '../drift/inspect.ts'
import { restoreLink } from '../drift/restore.ts'
import { saveOriginals } from '../leave/save-originals.ts'
import { nodeDir } from '../node-dir.ts'
import type { ProbeAnswer } from './probe.ts'
import { readSlot } from './slot.ts'

/** The quick run tests only every n-th disk change. */
const STRIDE = 13

const publisher = newPublisher()
const PROGRAM = '/usr/bin/kubelet'
const CONFIG = '/var/lib/kubelet/config.yaml'
const KEPT = '/node/state/kept/kubelet'
const DROP_IN = '/etc/systemd/system/kubelet.service.d/20-node.conf'

const version = (v: string, config = 'declared') =>
  release(publisher, {
    component: 'kubelet',
    version: v,
    entries: [{ name: 'kubelet', content: `kubelet ${v}`, mode: 0o755 }],
    spec: {
      install: { binaries: [{ source: 'kubelet', path: PROGRAM, mode: '0755' }] },
      files: [
        { path: CONFIG, mode: '0600', format: 'plain', template: config, onChange: 'Restart' },
        { path: DROP_IN, mode: '0644', format: 'plain', template: '[Service]\n', onChange: 'None' },
      ],
      service: { unit: 'kubelet', restart: 'Always', killMode: 'Process' },
      probes: [{ name: 'p', tcp: { port: 1 }, interval: '1s', timeout: '1s', settle: '2s' }],
    },
  })
const releases = [version('1.36.2'), version('1.36.3'), version('1.36.9')]

const UNIT = {
  unit: 'kubelet.service',
  active: 'active',
  file: 'enabled',
  main: { pid: 7, startTime: '9', bootId: 'b' },
  isDeclared: true,
} as const

interface Host {
  /** Content of the distribution's config. */
  readonly config?: string
  readonly program?: string
}

/** The host as kubeadm and a distribution leave it. */
async function host({ config = 'declared', program = 'kubelet 1.36.2' }: Host = {}): Promise<MemoryFiles> {
  // Every write has its own time.
  let now = 1_000
  const files = new MemoryFiles({ now: () => now++ })
  const put = async (path: string, content: string, mode: number, owner: { uid: number; gid: number }) => {
    await files.makeFolder(`/node/root${path.slice(0, path.lastIndexOf('/'))}`)
    const writer = await files.create(`/node/root${path}`, mode, owner)
    await writer.write(Buffer.from(content))
    await writer.sync()
  }
  await put('/opt/k8s/kubelet', program, 0o755, { uid: 0, gid: 0 })
  await files.makeFolder('/node/root/usr/bin')
  await put(PROGRAM, program, 0o755, { uid: 0, gid: 0 })
  await put(CONFIG, config, 0o640, { uid: 0, gid: 998 })
  return files.durable()
}

interface Machine {
  readonly clock: VirtualClock
  readonly node: FakeNode
}

function boot(disk: MemoryFiles, processes: FakeProcesses, adoption: AdoptionMode = 'Adopt'): Machine {
  const clock = new VirtualClock()
  processes.foreign.set('kubelet', UNIT)
  const probe = (): ProbeAnswer => ({ kind: 'Pass' })
  return { clock, node: new FakeNode({ publisher, releases, clock, disk, processes, adoption, probe }, 'kubelet') }
}

async function run({ clock, node }: Machine, order: TestOrder | undefined): Promise<void> {
  await node.start()
  node.obey(order)
  await clock.advance(6_000)
  await node.worker.close()
}

const switched = (v: string, attempt: number, more: Partial<TestOrder> = {}): TestOrder => ({
  version: v,
  attempt,
  switch: { attempt, permit: 'p' },
  ...more,
})

/** Everything outside the agent's own folders. */
async function tree(files: MemoryFiles, folder = '/node/root'): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const name of await files.list(folder)) {
    const path = `${folder}/${name}`
    const stat = await files.stat(path)
    if (stat?.kind === 'Directory') Object.assign(found, { [path]: 'folder' }, await tree(files, path))
    else {
      const content = (await files.readLink(path)) ?? (await files.read(path))?.toString()
      found[path] =
        `${stat?.kind} ${stat?.mode.toString(8)} ${JSON.stringify(stat?.owner)} ${stat?.modifiedMs} ${content}`
    }
  }
  return found
}

const content = async (files: MemoryFiles, path: string) => (await files.read(`/node/root${path}`))?.toString()

test('files of others are left alone, and a file that is moved away lets the component in within seconds', async () => {
  const disk = await host({ config: 'of kubeadm' })
  const before = await tree(disk)
  const machine = boot(disk, new FakeProcesses(), 'Refuse')
  await machine.node.start()
  machine.node.obey(switched('1.36.2', 1))
  await machine.clock.advance(60_000)
  const { worker } = machine.node
  expect(worker.waiting).toBe(
    `KN8023: cannot install kubelet: ${CONFIG} is not managed by KubeNode; run kubenode adopt n-1 to keep the original and replace it, or move it away; retried within seconds`,
  )
  expect([worker.record?.state, await tree(disk)]).toEqual(['Staged', before])
  expect(worker.adoption).toEqual({
    equal: [PROGRAM],
    differs: [`${CONFIG} (other content)`],
    kept: [PROGRAM, CONFIG, 'kubelet.service (active, enabled)'],
    replaced: [CONFIG],
    restarts: true,
  })
  await disk.remove(`/node/root${CONFIG}`)
  await machine.clock.advance(5_000)
  expect(['Probing', 'Healthy']).toContain(worker.record?.state)
  await worker.close()
})

test('a preview stages and compares, and changes nothing even with an order', async () => {
  const disk = await host({ config: 'of kubeadm' })
  const before = await tree(disk)
  const machine = boot(disk, new FakeProcesses(), 'Preview')
  await run(machine, switched('1.36.2', 1))
  expect([machine.node.worker.record?.state, machine.node.worker.adoption?.restarts, await tree(disk)]).toEqual([
    'Staged',
    true,
    before,
  ])
})

describe.each([
  ['the same files', {}, []],
  ['another configuration', { config: 'of kubeadm' }, [1]],
] as const)('a kubelet with %s', (_name, given, starts) => {
  test('is adopted and restored as it was', async () => {
    const disk = await host(given)
    const before = await tree(disk)
    const processes = new FakeProcesses()
    await run(boot(disk, processes), switched('1.36.2', 1))
    expect(processes.starts.length).toBe(starts.length)
    expect([await content(disk, PROGRAM), await content(disk, CONFIG)]).toEqual(['kubelet 1.36.2', 'declared'])
    const again = boot(disk, processes)
    await run(again, undefined)
    expect(await tree(disk)).toEqual(before)
    expect([again.node.worker.record, processes.stops, processes.released]).toEqual([
      undefined,
      0,
      [{ component: 'kubelet', release: { kind: 'Restore', unit: UNIT, restarts: starts.length > 0 } }],
    ])
    expect(await readKept(again.node, 'kubelet')).toBeUndefined()
  })
})

test('an adoption whose start fails puts the files and the unit back', async () => {
  const disk = await host({ config: 'of kubeadm' })
  const before = await tree(disk)
  const processes = new FakeProcesses()
  processes.refuses = () => 'no'
  const machine = boot(disk, processes)
  await run(machine, switched('1.36.2', 1))
  expect([machine.node.worker.record?.state, await tree(disk)]).toEqual(['RolledBack', before])
  expect(processes.released.map((r) => r.release.kind)).toEqual(['Restore'])
})

test('a path that nothing can replace, such as a mount point, ends the adoption and keeps nothing beside it', async () => {
  const disk = await host({ config: 'of kubeadm' })
  const before = await tree(disk)
  const rename = disk.rename.bind(disk)
  disk.rename = (from, to) =>
    to === `/node/root${CONFIG}` ? Promise.reject(new Error('EBUSY: resource busy or locked')) : rename(from, to)
  const machine = boot(disk, new FakeProcesses())
  await run(machine, switched('1.36.2', 1))
  expect([machine.node.worker.record?.state, machine.node.worker.record?.message, await tree(disk)]).toEqual([
    'RolledBack',
    expect.stringContaining('EBUSY'),
    before,
  ])
})

test('F31 a disk that gets full while the originals are copied is not left full', async () => {
  const disk = await host({ config: 'of kubeadm' })
  const before = await tree(disk)
  const create = disk.create.bind(disk)
  let wasFull = false
  disk.copyWhole = async () => false
  disk.create = async (path, mode, owner) => {
    const writer = await create(path, mode, owner)
    if (!path.startsWith(KEPT)) return writer
    const write = async (chunk: Buffer): Promise<void> => {
      wasFull = true
      await writer.write(chunk.subarray(0, 1))
      throw new Error('ENOSPC: no space left on device')
    }
    return { ...writer, write }
  }
  const machine = boot(disk, new FakeProcesses())
  await run(machine, switched('1.36.2', 1))
  expect([wasFull, await tree(disk), await disk.list(KEPT)]).toEqual([true, before, []])
})

test('a link to a path of 3,000 characters is reported in short: a server refuses a text that is too long', async () => {
  const disk = await host()
  await disk.remove(`/node/root${CONFIG}`)
  await disk.link(`/node/root${CONFIG}`, `/etc/${'d/'.repeat(1_500)}config.yaml`)
  const machine = boot(disk, new FakeProcesses(), 'Preview')
  await run(machine, switched('1.36.2', 1))
  const { differs = [] } = machine.node.worker.adoption ?? {}
  expect(differs.map((line) => line.length)).toEqual([512])
})

test('an adoption that fails before anything was restarted puts the files back, and restarts nothing', async () => {
  const disk = await host()
  const before = await tree(disk)
  const link = disk.link.bind(disk)
  disk.link = (path, target, owner) =>
    path.startsWith('/node/root/usr/')
      ? Promise.reject(new Error('EROFS: read-only file system'))
      : link(path, target, owner)
  const processes = new FakeProcesses()
  const machine = boot(disk, processes)
  await run(machine, switched('1.36.2', 1))
  expect([machine.node.worker.record?.state, await tree(disk)]).toEqual(['RolledBack', before])
  expect(processes.released.map((r) => r.release)).toEqual([
    { kind: 'Restore', unit: UNIT, restarts: false, isUndo: true },
  ])
})

test.each<[string, (m: Machine) => void | Promise<void>, string]>([
  ['the version that was kept is revoked', ({ node }) => void (node.refusal = 'it is revoked'), 'kubelet 1.36.2'],
  [
    'a file was changed since',
    async ({ node }) => {
      await node.files.remove(`/node/root${CONFIG}`)
      await (await node.files.create(`/node/root${CONFIG}`, 0o600)).write(Buffer.from('by hand'))
    },
    'kubelet 1.36.2',
  ],
  ['the machine is only observed from now on', ({ node }) => void (node.isObserved = true), 'kubelet 1.36.2'],
])('nothing older is put over what runs: %s', async (_name, change, program) => {
  const disk = await host({ config: 'of kubeadm' })
  const processes = new FakeProcesses()
  await run(boot(disk, processes), switched('1.36.2', 1))
  const again = boot(disk, processes)
  await change(again)
  const config = await content(disk, CONFIG)
  await run(again, undefined)
  expect([await content(disk, PROGRAM), await content(disk, CONFIG)]).toEqual([program, config])
  expect(await disk.readLink(`/node/root${PROGRAM}`)).toBeUndefined()
  expect([processes.stops, processes.released.map((r) => r.release.kind)]).toEqual([0, ['Keep']])
})

test('after an upgrade the newer version stays, as plain files, and comes back under management without consent', async () => {
  const disk = await host({ config: 'original' })
  const processes = new FakeProcesses()
  await run(boot(disk, processes), switched('1.36.2', 1))
  const upgraded = boot(disk, processes)
  await run(upgraded, switched('1.36.3', 2))
  const starts = processes.starts.length
  const planned = upgraded.node.worker.removal
  expect(planned).toEqual({
    how: 'Keep',
    restarts: false,
    message:
      'another version runs than the one that was adopted, so kubelet 1.36.3 stays; originals: /var/backups/kubenode/kubelet',
  })
  await run(boot(disk, processes), undefined)
  expect([await content(disk, PROGRAM), processes.starts.length, processes.stops]).toEqual([
    'kubelet 1.36.3',
    starts,
    1,
  ])
  expect((await disk.stat(`/node/root${PROGRAM}`))?.kind).toBe('File')
  const saved = ['/var/backups/kubenode/kubelet/usr/bin/kubelet', `/var/backups/kubenode/kubelet${CONFIG}`]
  const left = disk.durable()
  const leaving = { files: left, dir: nodeDir('/node') }
  expect([await saveOriginals(leaving), await saveOriginals(leaving)]).toEqual([saved, saved])
  expect(await Promise.all(saved.map((path) => content(left, path)))).toEqual(['kubelet 1.36.2', 'original'])
  // A damaged copy is left out, and does not keep the agent on the host.
  const [copy = ''] = (await left.list('/node/state/kept/kubelet')).filter((name) => name !== 'kept.json')
  const damaged = disk.durable()
  await damaged.remove(`/node/state/kept/kubelet/${copy}`)
  expect(await saveOriginals({ ...leaving, files: damaged })).toHaveLength(1)
  const back = boot(disk, processes, 'Refuse')
  await run(back, switched('1.36.2', 3))
  expect([back.node.worker.record?.state, await content(disk, PROGRAM)]).toEqual(['Healthy', 'kubelet 1.36.2'])
})

test.each<[string, string, string, readonly string[]]>([
  [
    'another version is kept for the host',
    'kubelet 1.36.7',
    'kubelet 1.36.2',
    ['/var/backups/kubenode/kubelet/usr/bin/kubelet'],
  ],
  ['the same version is put back', 'kubelet 1.36.2', 'kubelet 1.36.2', []],
])('F47 a program that a package replaced meanwhile is the original: %s', async (_name, packaged, program, backups) => {
  const disk = await host()
  const processes = new FakeProcesses()
  await run(boot(disk, processes), switched('1.36.2', 1))
  const path = `/node/root${PROGRAM}`
  await disk.remove(path)
  const writer = await disk.create(path, 0o755)
  await writer.write(Buffer.from(packaged))
  await writer.sync()
  const machine = boot(disk, processes)
  const slot = await inUse(machine.node)
  const [finding] = await inspectLinks(machine.node, slot)
  if (finding?.kind !== 'Link') throw new Error('no difference')
  await restoreLink({ ...machine.node, platform: { os: 'linux', arch: 'amd64' } }, slot, finding)
  expect((await disk.stat(path))?.kind).toBe('Link')
  await run(machine, undefined)
  const saved = await saveOriginals({ files: disk, dir: nodeDir('/node') })
  expect([await content(disk, PROGRAM), (await disk.stat(path))?.kind, saved]).toEqual([program, 'File', backups])
  expect(await Promise.all(saved.map((p) => content(disk, p)))).toEqual(backups.map(() => packaged))
})

async function inUse(node: FakeNode) {
  await node.worker.load()
  const slot = node.worker.record?.current?.id ?? ''
  const spec = await readSlot(node, 'kubelet', slot)
  if (spec === undefined) throw new Error('nothing is in use')
  return { component: 'kubelet', slot, spec, manifest: { format: 1 as const, files: [] } }
}

test('what a way back would do is reported of the version in use only, and together with its health', async () => {
  const disk = await host()
  const processes = new FakeProcesses()
  await run(boot(disk, processes), switched('1.36.2', 1))
  const machine = boot(disk, processes)
  await machine.node.start()
  machine.node.obey(switched('1.36.2', 1))
  await machine.clock.advance(1_000)
  expect(machine.node.worker.removal?.how).toBe('Restore')
  machine.node.obey(switched('1.36.3', 2))
  const seen: (readonly [string | undefined, string | undefined])[] = []
  for (let n = 0; n < 60; n++) {
    await machine.clock.advance(100)
    const { record, removal } = machine.node.worker
    seen.push([record?.current?.version, removal?.how])
  }
  expect(machine.node.worker.record?.state).toBe('Healthy')
  expect(new Set(seen.map(([version, how]) => `${version} ${how}`))).toEqual(
    new Set(['1.36.3 undefined', '1.36.3 Keep']),
  )
  await machine.node.worker.close()
})

test.each(['Uninstall', undefined] as const)('a kubelet that we brought is never removed (%s)', async (onRemoval) => {
  const disk = new MemoryFiles()
  const processes = new FakeProcesses()
  const first = boot(disk, processes)
  processes.foreign.clear()
  await run(first, switched('1.36.2', 1, onRemoval === undefined ? {} : { onRemoval }))
  expect(first.node.worker.removal?.message).toMatch(/makes this host a node/)
  await run(boot(disk, processes), undefined)
  expect([await content(disk, PROGRAM), processes.stops]).toEqual(['kubelet 1.36.2', 0])
})

/** Replaces content with other bytes of the same length, as a failing disk does. */
async function damage(disk: MemoryFiles, path: string): Promise<void> {
  const size = (await disk.stat(path))?.size ?? 0
  await disk.remove(path)
  const writer = await disk.create(path, 0o600)
  await writer.write(Buffer.alloc(size, '#'))
  await writer.sync()
}

test.each([
  ['is damaged', damage],
  [
    'became a folder',
    async (disk: MemoryFiles, path: string) => {
      await disk.remove(path)
      await disk.makeFolder(path)
    },
  ],
])(
  'F47 an original whose copy %s is not put back: what runs stays as plain files, and the hand-back ends',
  async (_name, spoil) => {
    const disk = await host({ config: 'original' })
    const processes = new FakeProcesses()
    await run(boot(disk, processes), switched('1.36.2', 1))
    const kept = await readKept({ files: disk, dir: nodeDir('/node') }, 'kubelet')
    const config = kept?.originals.find((o) => o.path === CONFIG)
    const copy = (await disk.list(KEPT)).find((name) => config?.kind === 'File' && name.startsWith(config.sha256)) ?? ''
    await spoil(disk, `${KEPT}/${copy}`)
    const machine = boot(disk, processes)
    await run(machine, undefined)
    expect([machine.node.worker.record, await content(disk, PROGRAM), await content(disk, CONFIG)]).toEqual([
      undefined,
      'kubelet 1.36.2',
      'declared',
    ])
    expect([(await disk.stat(`/node/root${PROGRAM}`))?.kind, processes.stops]).toEqual(['File', 0])
  },
)

test('F47 a restore that finds its originals gone after an interruption removes no program', async () => {
  const disk = await host({ config: 'original' })
  const processes = new FakeProcesses()
  await run(boot(disk, processes), switched('1.36.2', 1))
  for (let at = 0, isOver = false; !isOver; at += 1) {
    const copy = disk.durable()
    copy.crashBefore(at)
    await run(boot(copy, processesAfter('Kill', processes)), undefined).catch(() => undefined)
    isOver = !copy.isDead
    const after = copy.afterCrash('Kill')
    await after.remove(KEPT)
    const next = boot(after, processesAfter('Kill', processes))
    await run(next, undefined)
    expect([at, await content(after, PROGRAM), next.node.worker.record]).toEqual([at, 'kubelet 1.36.2', undefined])
    expect([at, ['original', 'declared'].includes((await content(after, CONFIG)) ?? '')]).toEqual([at, true])
  }
})

interface Story {
  readonly name: string
  readonly before: readonly TestOrder[]
  readonly order: TestOrder | undefined
  /** Allowed contents of the program and of its configuration, at any moment. */
  readonly programs: readonly string[]
  readonly configs: readonly string[]
  readonly end: readonly [string, string]
  readonly isAsBefore?: boolean
}

const STORIES: readonly Story[] = [
  {
    name: 'an adoption',
    before: [],
    order: switched('1.36.2', 1),
    programs: ['kubelet 1.36.2'],
    configs: ['of kubeadm', 'declared'],
    end: ['kubelet 1.36.2', 'declared'],
  },
  {
    name: 'a restore',
    before: [switched('1.36.2', 1)],
    order: undefined,
    programs: ['kubelet 1.36.2'],
    configs: ['of kubeadm', 'declared'],
    end: ['kubelet 1.36.2', 'of kubeadm'],
    isAsBefore: true,
  },
  {
    name: 'a hand-back with the newer version in place',
    before: [switched('1.36.2', 1), switched('1.36.3', 2)],
    order: undefined,
    programs: ['kubelet 1.36.3'],
    configs: ['declared'],
    end: ['kubelet 1.36.3', 'declared'],
  },
]

function processesAfter(mode: CrashMode, before: FakeProcesses): FakeProcesses {
  const next = new FakeProcesses()
  if (mode !== 'Kill') return next
  for (const [component, request] of before.running) {
    next.running.set(component, request)
    next.readings.set(component, 'Running')
  }
  for (const one of before.originals) next.originals.add(one)
  return next
}

describe.each(STORIES.map((s) => [s.name, s] as const))('%s', (_name, story) => {
  test.each(['Kill', 'Power', 'Reordered'] as const)(
    'F47 F30 survives the end at every change of the disk: %s',
    async (mode) => {
      const disk = await host({ config: 'of kubeadm' })
      const before = await tree(disk)
      const processes = new FakeProcesses()
      for (const order of story.before) await run(boot(disk, processes), order)
      let crashes = 0
      for (let at = 0; ; at += isFull ? 1 : STRIDE) {
        const copy = disk.durable()
        const running = processesAfter('Kill', processes)
        copy.crashBefore(at)
        await run(boot(copy, running), story.order).catch(() => undefined)
        const isOver = !copy.isDead
        const after = copy.afterCrash(mode)
        expect(story.programs, `cut off before change ${at}`).toContain(await content(after, PROGRAM))
        expect(story.configs, `cut off before change ${at}`).toContain(await content(after, CONFIG))
        const next = boot(after, processesAfter(mode, running))
        await run(next, story.order)
        expect([at, await content(after, PROGRAM), await content(after, CONFIG)]).toEqual([at, ...story.end])
        if (story.isAsBefore === true) expect([at, await tree(after)]).toEqual([at, before])
        if (isOver) break
        crashes++
      }
      expect(crashes).toBeGreaterThan(isFull ? 20 : 2)
    },
  )
})
