// The disk is full, read-only or broken for a while, or has state files that KubeNode did not write.
import { describe, expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { inFull } from '#test/support/tools/full.ts'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import type { FileWriter } from '../files/port.ts'
import { writeDurably } from '../files/durable.ts'
import { recordFile } from '../node-dir.ts'
import { componentReport, componentStatus } from '../status/machine-status.ts'
import { FakeNode, FakeProcesses } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'

const publisher = newPublisher()
const spec = {
  service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' },
  probes: [{ name: 'p', tcp: { port: 1 }, interval: '1s', timeout: '1s', settle: '2s' }],
}
const releases = ['1.0.0', '1.1.0'].map((version) => release(publisher, { version, spec }))

/** Every change from the n-th on fails, until the test repairs the disk. */
class FaultyFiles extends MemoryFiles {
  #left = Number.POSITIVE_INFINITY
  #code = ''

  breakAfter(changes: number, code: string): void {
    this.#left = changes
    this.#code = code
  }

  mend(): void {
    this.#left = Number.POSITIVE_INFINITY
  }

  get isBroken(): boolean {
    return this.#left < 0
  }

  #check(): void {
    if (--this.#left < 0) throw Object.assign(new Error(`${this.#code}: the disk says no`), { code: this.#code })
  }

  override async create(path: string, mode: number): Promise<FileWriter> {
    this.#check()
    const writer = await super.create(path, mode)
    return {
      ...writer,
      write: async (chunk) => {
        this.#check()
        await writer.write(chunk)
      },
      sync: async () => {
        this.#check()
        await writer.sync()
      },
    }
  }

  override async rename(from: string, to: string): Promise<void> {
    this.#check()
    await super.rename(from, to)
  }

  override async link(path: string, target: string): Promise<void> {
    this.#check()
    await super.link(path, target)
  }

  override async makeFolder(path: string): Promise<void> {
    this.#check()
    await super.makeFolder(path)
  }
}

const switched = { version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p' } }

async function installed(files: MemoryFiles, processes = new FakeProcesses()) {
  const clock = new VirtualClock()
  const node = new FakeNode({ publisher, releases, clock, disk: files, processes })
  await node.start()
  node.obey({ version: '1.0.0', attempt: 1 })
  await clock.advance(10_000)
  expect(node.worker.record?.state).toBe('Healthy')
  return { clock, node, processes }
}

/** Changes of the disk from one break to the next; every single one in the full run. */
const EVERY = inFull(1, 4)
const CODES = ['ENOSPC', 'EROFS', 'EIO', 'EDQUOT'] as const

describe.each(CODES)('F31 a disk that says %s', (code) => {
  test('at any change of an upgrade leaves the old version or the new one running, and once it is mended the upgrade ends', async () => {
    let broke = 0
    // Each begins elsewhere, so that together they meet every change.
    for (let at = CODES.indexOf(code) % EVERY; ; at += EVERY) {
      const files = new FaultyFiles()
      const { clock, node, processes } = await installed(files)
      files.breakAfter(at, code)
      node.obey(switched)
      await clock.advance(30_000)
      const wasBroken = files.isBroken
      expect(['beacon 1.0.0', 'beacon 1.1.0'], `broken at change ${at}`).toContain(await node.contentInUse())
      files.mend()
      await clock.advance(600_000)
      const { record } = node.worker
      const content = await node.contentInUse()
      // A file system may be read-only because the version wants to be where nothing may: such a switch is abandoned.
      const abandoned = code === 'EROFS' ? [['beacon 1.0.0', 'RolledBack', undefined]] : []
      expect([['beacon 1.1.0', 'Healthy', undefined], ...abandoned], `broken at change ${at}`).toContainEqual([
        content,
        record?.state,
        record?.open,
      ])
      expect([at, processes.running.get('beacon')?.slot]).toEqual([at, record?.current?.id])
      await node.worker.close()
      if (!wasBroken) break
      broke++
    }
    expect(broke).toBeGreaterThan(10 / EVERY)
  })
})

/** As when only the file system of the component's paths fails. */
class FaultyLinks extends MemoryFiles {
  code: string | undefined

  override async link(path: string, target: string): Promise<void> {
    if (this.code !== undefined && target.includes('/slots/'))
      throw Object.assign(new Error(`${this.code}: the disk says no`), { code: this.code })
    await super.link(path, target)
  }
}

describe.each(['ENOSPC', 'EIO', 'EDQUOT'])('F31 a switch in which a disk says %s', (code) => {
  async function failing() {
    const files = new FaultyLinks()
    const { clock, node, processes } = await installed(files)
    files.code = code
    node.obey(switched)
    await clock.advance(5_000)
    const seen = () => node.worker.record && componentStatus(node.worker.record, switched, node.worker)
    expect([await node.contentInUse(), node.worker.record?.pins]).toEqual(['beacon 1.0.0', []])
    expect(seen()).toMatchObject({ state: 'Staged', version: '1.0.0', reason: 'HostUnsuitable' })
    return { files, clock, node, processes, seen }
  }

  test('is the fault of the host: it is tried again, later each time, and pins nothing', async () => {
    const { files, clock, node, seen } = await failing()
    await clock.advance(300_000)
    expect(seen()).toMatchObject({ state: 'Staged', reason: 'HostUnsuitable' })
    files.code = undefined
    await clock.advance(300_000)
    expect([await node.contentInUse(), node.worker.record?.state]).toEqual(['beacon 1.1.0', 'Healthy'])
    expect(seen()?.reason).toBeUndefined()
    await node.worker.close()
  })

  test('ends as rolled back where the disk stays so: its slice, and every later one, would wait for it', async () => {
    const { files, clock, node, processes, seen } = await failing()
    await clock.advance(900_000)
    expect(seen()).toMatchObject({ state: 'RolledBack', version: '1.0.0', reason: 'HostUnsuitable' })
    expect([await node.contentInUse(), processes.reading('beacon')]).toEqual(['beacon 1.0.0', 'Running'])
    const { stops } = processes
    await clock.advance(3_600_000)
    expect(processes.stops).toBe(stops)
    expect(stops).toBeLessThan(20)
    files.code = undefined
    node.obey({ version: '1.1.0', attempt: 3, switch: { attempt: 3, permit: 'p' } })
    await clock.advance(60_000)
    expect([await node.contentInUse(), node.worker.record?.state]).toEqual(['beacon 1.1.0', 'Healthy'])
    await node.worker.close()
  })
})

test('F31 the hooks of a switch whose record cannot be written are run again later each time', async () => {
  let runs = 0
  class FaultyRecord extends MemoryFiles {
    isBroken = false

    override async rename(from: string, to: string): Promise<void> {
      if (this.isBroken && to.endsWith('record.json')) throw Object.assign(new Error('EIO'), { code: 'EIO' })
      await super.rename(from, to)
    }
  }
  const files = new FaultyRecord()
  const hooks = { postSwitch: { command: ['/hook'], timeout: '1s' } }
  const clock = new VirtualClock()
  const node = new FakeNode({
    publisher,
    releases: [releases[0] as (typeof releases)[0], release(publisher, { version: '1.1.0', spec: { ...spec, hooks } })],
    clock,
    disk: files,
    runHook: async () => {
      runs++
      files.isBroken = true
    },
  })
  await node.start()
  node.obey({ version: '1.0.0', attempt: 1 })
  await clock.advance(10_000)
  node.obey(switched)
  await clock.advance(3_600_000)
  expect(runs).toBeGreaterThan(50)
  expect(runs).toBeLessThan(70)
  // Each reading of the Machine wakes the component, and runs no hook before its time.
  for (let i = 0; i < 20; i++) {
    node.obey(switched)
    await clock.advance(100)
  }
  expect(runs).toBeLessThan(70)
  await node.worker.close()
})

test.each([
  ['a version that is to be fetched', { version: '1.1.0', attempt: 2 }, 'Healthy'],
  ['a switch', switched, 'Staged'],
] as const)(
  'F31 %s whose record finds no room is reported with the cause until there is some',
  async (_, order, state) => {
    const files = new FaultyFiles()
    const { clock, node } = await installed(files)
    if (state === 'Staged') {
      node.obey({ version: '1.1.0', attempt: 2 })
      await clock.advance(10_000)
    }
    files.breakAfter(0, 'ENOSPC')
    node.obey(order)
    const seen = () => node.worker.record && componentStatus(node.worker.record, order, node.worker)
    for (const wait of [1_000, 3_000, 60_000]) {
      await clock.advance(wait)
      expect(seen()).toMatchObject({
        state,
        reason: 'HostUnsuitable',
        message: expect.stringMatching(/^KN8087: .* the disk is full \(ENOSPC\)/),
      })
    }
    files.mend()
    await clock.advance(60_000)
    expect(seen()).toMatchObject({ version: state === 'Staged' ? '1.1.0' : '1.0.0' })
    expect(seen()?.reason).toBeUndefined()
    await node.worker.close()
  },
)

test('F31 a first install whose record finds no room is reported with the cause', async () => {
  const files = new FaultyFiles()
  const clock = new VirtualClock()
  const node = new FakeNode({ publisher, releases, clock, disk: files })
  await node.start()
  const order = { name: 'beacon', version: '1.0.0', attempt: 1 }
  files.breakAfter(0, 'ENOSPC')
  node.obey(order)
  await clock.advance(10_000)
  expect([node.worker.record, componentReport(node.worker, order)]).toEqual([
    undefined,
    expect.objectContaining({ state: 'Fetching', attempt: 1, reason: 'HostUnsuitable' }),
  ])
  files.mend()
  await clock.advance(60_000)
  expect(componentReport(node.worker, order)).toMatchObject({ state: 'Healthy', version: '1.0.0' })
  await node.worker.close()
})

test('F31 a download and its record that both find no room are reported with the cause', async () => {
  const files = new FaultyFiles()
  const { clock, node } = await installed(files)
  const order = { version: '1.1.0', attempt: 2 }
  // The record is written before the download begins.
  files.breakAfter(4, 'ENOSPC')
  node.obey(order)
  await clock.advance(30_000)
  const { record } = node.worker
  expect(record?.state).toBe('Fetching')
  expect(record && componentStatus(record, order, node.worker)).toMatchObject({
    reason: 'HostUnsuitable',
    message: expect.stringMatching(/the disk is full \(ENOSPC\)/),
  })
  files.mend()
  await clock.advance(600_000)
  expect(node.worker.record?.state).toBe('Staged')
  await node.worker.close()
})

test('F31 artifacts that find no room are a matter of the host, and are fetched once there is some', async () => {
  class FullFiles extends MemoryFiles {
    isFull = false

    override async create(path: string, mode: number): Promise<FileWriter> {
      const writer = await super.create(path, mode)
      const write = async (chunk: Buffer) => {
        const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
        if (this.isFull && path.includes('artifacts')) throw full
        await writer.write(chunk)
      }
      return { ...writer, write }
    }
  }
  const files = new FullFiles()
  const { clock, node } = await installed(files)
  files.isFull = true
  node.obey({ version: '1.1.0', attempt: 2 })
  await clock.advance(30_000)
  expect(node.worker.record).toMatchObject({
    state: 'Fetching',
    reason: 'HostUnsuitable',
    message: expect.stringMatching(/^KN8087: cannot write on this host: the disk is full \(ENOSPC\)/),
  })
  files.isFull = false
  await clock.advance(600_000)
  expect(node.worker.record?.state).toBe('Staged')
})

describe('F34 a record that', () => {
  test.each([
    ['is no JSON', 'garbage\0'],
    ['is cut off', '{"format":1,"component":"beacon","sta'],
    ['a newer agent wrote', JSON.stringify({ format: 2, component: 'beacon', phases: [] })],
    [
      'belongs to another component',
      JSON.stringify({
        format: 1,
        component: 'other',
        state: 'Healthy',
        since: 0,
        target: { version: '1', attempt: 1 },
        pins: [],
      }),
    ],
    [
      'says that it is being switched, and to what is missing',
      JSON.stringify({
        format: 1,
        component: 'beacon',
        state: 'Probing',
        since: 0,
        target: { version: '1', attempt: 1 },
        pins: [],
      }),
    ],
    [
      'leads out of its folder',
      JSON.stringify({
        format: 1,
        component: 'beacon',
        state: 'Healthy',
        since: 0,
        target: { version: '1', attempt: 1 },
        current: { id: '../../../etc', digest: 'x', version: '1' },
        pins: [],
      }),
    ],
  ])('%s is set aside: what runs goes on running, and is taken up again as it is', async (_what, text) => {
    const files = new MemoryFiles()
    const { node: before, processes } = await installed(files)
    await before.worker.close()
    await writeDurably(files, recordFile(before.dir, 'beacon'), text)
    const starts = processes.starts.length
    const clock = new VirtualClock()
    // By now the node takes pods, so reinstalling needs an order.
    const node = new FakeNode({ publisher, releases, clock, disk: files, processes, pending: () => false })
    await node.start()
    node.obey({ version: '1.0.0', attempt: 1 })
    await clock.advance(60_000)
    const { record } = node.worker
    expect([record?.state, record?.current?.version, await node.contentInUse(), processes.starts.length]).toEqual([
      'Healthy',
      '1.0.0',
      'beacon 1.0.0',
      starts,
    ])
    expect(await files.list(`${node.dir.state}/components/beacon`)).toContain('record.json.broken')
    await node.worker.close()
  })
})

test('F35 a day without the API server: what runs goes on, nothing grows, and the next order is obeyed', async () => {
  const files = new MemoryFiles()
  const { clock, node, processes } = await installed(files)
  node.apiIsAway = true
  node.obey({ version: '1.1.0', attempt: 2 })
  await clock.advance(60_000)
  const [changes, starts] = [files.changes, processes.starts.length]
  await clock.advance(24 * 3_600_000)
  expect([await node.contentInUse(), processes.starts.length]).toEqual(['beacon 1.0.0', starts])
  // One journal line for each try that the backoff allows; each replaces the previous one.
  expect(files.changes - changes).toBeLessThan(24 * 12 * 12)
  expect((await files.list(`${node.dir.state}/components/beacon/slots`)).length).toBe(1)
  node.apiIsAway = false
  node.obey(switched)
  await clock.advance(600_000)
  expect([await node.contentInUse(), node.worker.record?.state]).toEqual(['beacon 1.1.0', 'Healthy'])
  await node.worker.close()
})
