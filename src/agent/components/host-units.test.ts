// A component brings a unit that the host already has: the host's stays in force if it starts the component's program.
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { FakeNode, FakeProcesses, type TestOrder } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { inspectLinks } from '../drift/inspect.ts'
import { readSlot } from './slot.ts'
import { defined } from '#lib/defined.ts'

const publisher = newPublisher()
const PROGRAM = '/usr/bin/kubelet'
const OURS = '/etc/systemd/system/kubelet.service'
const OF_PACKAGE = '/usr/lib/systemd/system/kubelet.service'

const version = (v: string, existing?: 'Leave') =>
  release(publisher, {
    component: 'kubelet',
    version: v,
    entries: [{ name: 'kubelet', content: `kubelet ${v}`, mode: 0o755 }],
    spec: {
      install: { binaries: [{ source: 'kubelet', path: PROGRAM, mode: '0755' }] },
      files: [
        {
          path: OURS,
          mode: '0644',
          format: 'ini',
          template: `[Service]\nExecStart=${PROGRAM} --ours\n`,
          onChange: 'Restart',
          ...defined({ existing }),
        },
      ],
      service: { unit: 'kubelet.service', restart: 'Always', killMode: 'Process' },
      probes: [{ name: 'p', tcp: { port: 1 }, interval: '1s', timeout: '1s', settle: '2s' }],
    },
  })
const releases = [version('1.36.2', 'Leave'), version('1.36.3', 'Leave'), version('1.36.4')]

const UNIT = {
  unit: 'kubelet.service',
  active: 'active',
  file: 'enabled',
  main: { pid: 7, startTime: '9', bootId: 'b' },
  isDeclared: true,
} as const

const unitOf = (program: string): string => `[Service]\nExecStart=-${program} $ARGS\n`

async function put(files: MemoryFiles, path: string, content: string): Promise<void> {
  await files.makeFolder(`/node/root${dirname(path)}`)
  await files.remove(`/node/root${path}`)
  const writer = await files.create(`/node/root${path}`, 0o755)
  await writer.write(Buffer.from(content))
  await writer.sync()
}

async function host(units: Readonly<Record<string, string>>): Promise<MemoryFiles> {
  const files = new MemoryFiles()
  for (const [path, text] of Object.entries({ [PROGRAM]: 'kubelet 1.36.2', ...units })) await put(files, path, text)
  return files.durable()
}

async function run(
  disk: MemoryFiles,
  processes: FakeProcesses,
  order: TestOrder | undefined,
  change: (node: FakeNode) => void = () => undefined,
): Promise<FakeNode> {
  const clock = new VirtualClock()
  const node = new FakeNode(
    { publisher, releases, clock, disk, processes, adoption: 'Adopt', probe: () => ({ kind: 'Pass' }) },
    'kubelet',
  )
  change(node)
  await node.start()
  node.obey(order)
  await clock.advance(6_000)
  await node.worker.close()
  return node
}

const switched = (v: string, attempt: number): TestOrder => ({
  version: v,
  attempt,
  switch: { attempt, permit: 'p' },
})
const running = (): FakeProcesses => {
  const processes = new FakeProcesses()
  processes.foreign.set('kubelet', UNIT)
  return processes
}
const content = async (files: MemoryFiles, path: string) => (await files.read(`/node/root${path}`))?.toString()

describe.each([
  ['of a package', OF_PACKAGE],
  ['of an administrator', OURS],
])('F47 a unit %s', (_name, path) => {
  test('stays in force through adoption, upgrade and a way back, and nothing is restarted for its sake', async () => {
    const disk = await host({ [path]: unitOf(PROGRAM) })
    const processes = running()
    const staged = await run(disk, processes, switched('1.36.2', 1), (node) => (node.adoption = 'Preview'))
    expect(staged.worker.adoption).toEqual({
      equal: [PROGRAM],
      kept: [PROGRAM, 'kubelet.service (active, enabled)'],
      stays: [path],
      restarts: false,
    })
    await run(disk, processes, switched('1.36.2', 1))
    expect([processes.starts, await content(disk, path)]).toEqual([[], unitOf(PROGRAM)])
    await run(disk, processes, switched('1.36.3', 2))
    const back = await run(disk, processes, switched('1.36.2', 3))
    expect([processes.stops, back.worker.removal]).toEqual([2, { how: 'Restore', restarts: false }])
    await run(disk, processes, undefined)
    expect([await content(disk, path), await content(disk, PROGRAM)]).toEqual([unitOf(PROGRAM), 'kubelet 1.36.2'])
    if (path !== OURS) expect(await disk.stat(`/node/root${OURS}`)).toBeUndefined()
    expect(processes.stops).toBe(2)
  })

  test('is left alone when the newer version stays with the host', async () => {
    const disk = await host({ [path]: unitOf(PROGRAM) })
    const processes = running()
    await run(disk, processes, switched('1.36.2', 1))
    await run(disk, processes, switched('1.36.3', 2))
    await run(disk, processes, undefined)
    expect([await content(disk, path), await content(disk, PROGRAM)]).toEqual([unitOf(PROGRAM), 'kubelet 1.36.3'])
    if (path !== OURS) expect(await disk.stat(`/node/root${OURS}`)).toBeUndefined()
  })
})

test.each<[string, Readonly<Record<string, string>>, string, number]>([
  ['the host has none', {}, '1.36.2', 1],
  ['that of the host starts a program elsewhere', { [OF_PACKAGE]: unitOf('/usr/local/bin/kubelet') }, '1.36.2', 1],
  [
    'another unit before it starts a program elsewhere',
    { [OURS]: unitOf('/opt/k'), [OF_PACKAGE]: unitOf(PROGRAM) },
    '1.36.2',
    1,
  ],
  ['it replaces what exists', { [OF_PACKAGE]: unitOf(PROGRAM) }, '1.36.4', 1],
])('the unit of the component is used where %s', async (_name, units, v, starts) => {
  const disk = await host(units)
  const processes = running()
  await run(disk, processes, switched(v, 1))
  expect([await content(disk, OURS), processes.starts.length]).toEqual([
    `[Service]\nExecStart=${PROGRAM} --ours\n`,
    starts,
  ])
  // A package installed later does not take the unit away.
  await put(disk, OF_PACKAGE, unitOf(PROGRAM))
  const later = await run(disk, processes, switched(v, 1))
  expect([later.worker.record?.state, await content(disk, OURS)]).toEqual([
    'Healthy',
    `[Service]\nExecStart=${PROGRAM} --ours\n`,
  ])
})

test('an enabled unit of another name that starts the same program is reported before it is adopted, an alias is not', async () => {
  const disk = await host({
    '/etc/systemd/system/multi-user.target.wants/node-agent.service': unitOf('/usr/local/bin/kubelet'),
    '/etc/systemd/system/by-hand.service': unitOf(PROGRAM),
    '/etc/systemd/system/kubelet.service': unitOf(PROGRAM),
    '/etc/systemd/system/other.service': unitOf('/usr/bin/other'),
    '/usr/lib/systemd/system/idle.service': unitOf(PROGRAM),
  })
  await disk.link('/node/root/etc/systemd/system/kubeletd.service', '/etc/systemd/system/kubelet.service')
  await put(disk, '/etc/systemd/system/kubelet.service.wants/kubelet.service', unitOf(PROGRAM))
  const staged = await run(disk, running(), switched('1.36.2', 1), (node) => (node.adoption = 'Preview'))
  expect(staged.worker.adoption?.alsoStarted).toEqual([
    `by-hand.service (starts ${PROGRAM})`,
    'node-agent.service (starts /usr/local/bin/kubelet)',
  ])
})

async function inUse(node: FakeNode) {
  const slot = node.worker.record?.current?.id ?? ''
  const spec = await readSlot(node, 'kubelet', slot)
  if (spec === undefined) throw new Error('nothing is in use')
  return { slot, spec, manifest: { format: 1 as const, files: [] } }
}

const mask = async (disk: MemoryFiles): Promise<void> => {
  await disk.makeFolder('/node/root/etc/systemd/system')
  await disk.remove(`/node/root${OURS}`)
  await disk.link(`/node/root${OURS}`, '/dev/null')
}

test.each(['1.36.2', '1.36.4'])('a masked unit is not adopted, whatever the unit of %s does with others', async (v) => {
  const disk = await host({ [OF_PACKAGE]: unitOf(PROGRAM) })
  await mask(disk)
  const processes = running()
  const node = await run(disk, processes, switched(v, 1))
  expect([node.worker.record?.state, node.worker.waiting, processes.stops]).toEqual([
    'Staged',
    'KN8055: cannot start kubelet: unit kubelet.service is masked; to allow it to start, run systemctl unmask kubelet.service on the node',
    0,
  ])
  expect([await disk.readLink(`/node/root${OURS}`), (await disk.stat(`/node/root${PROGRAM}`))?.kind]).toEqual([
    '/dev/null',
    'File',
  ])
})

test.each(['1.36.2', '1.36.4'])(
  'F47 a unit that a person masks stays masked, and the rest of %s is handed back',
  async (v) => {
    const disk = await host({ [OF_PACKAGE]: unitOf(PROGRAM) })
    const processes = running()
    // The original, whichever unit it has.
    await put(disk, PROGRAM, `kubelet ${v}`)
    await run(disk, processes, switched(v, 1))
    await mask(disk)
    const started = processes.starts.length
    const managed = await run(disk, processes, switched(v, 1))
    expect([
      await inspectLinks(managed, { component: 'kubelet', ...(await inUse(managed)) }),
      managed.worker.removal,
    ]).toEqual([[], { how: 'Restore', restarts: false }])
    await run(disk, processes, undefined)
    expect([await disk.readLink(`/node/root${OURS}`), (await disk.stat(`/node/root${PROGRAM}`))?.kind]).toEqual([
      '/dev/null',
      'File',
    ])
    expect(processes.starts.length).toBe(started)
  },
)
