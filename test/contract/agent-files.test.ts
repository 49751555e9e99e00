// What an agent keeps of its orders on the disk of its node, as agents before this one wrote it: the one that comes after them reads it, writes the same, and touches no component.
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { machineFile, nodeDir } from '#agent/node-dir.ts'
import { parseRecord } from '#agent/components/record.ts'
import { keepOrder, orderOf, parseOrder } from '#agent/machine-order.ts'
import { configObject, renderedConfig } from '#api/kinds/component-config.ts'
import type { Machine, MachineInput } from '#api/kinds/machine.ts'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { FakeNode, FakeProcesses } from '#test/doubles/node/fake-node.ts'
import { type Release, newPublisher, release } from '#test/doubles/node/release.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'

type Kept = 'record.json' | 'slot.json' | 'machine.json'
const recorded = JSON.parse(readFileSync(new URL('recorded/agent-files.json', import.meta.url), 'utf8')) as Readonly<
  Record<Kept, readonly string[]>
>

const publisher = newPublisher()
const rendered = renderedConfig({ name: 'beacon', values: { port: 1 } })
if (rendered === undefined) throw new Error('values make a configuration')
const config = { object: configObject('beacon', rendered) } as unknown as Release
const releases = ['1.0.0', '1.1.0', '1.2.0'].map((version) =>
  release(publisher, {
    version,
    spec: {
      service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' },
      probes: [{ name: 'p', tcp: { port: 1 }, interval: '1s', timeout: '1s', settle: '2s' }],
    },
  }),
)

class Host {
  readonly disk = new MemoryFiles()
  readonly processes = new FakeProcesses()
  readonly clock = new VirtualClock()
  readonly written = new Map<string, string[]>()

  constructor() {
    const rename = this.disk.rename.bind(this.disk)
    this.disk.rename = async (from, to) => {
      await rename(from, to)
      const name = to.slice(to.lastIndexOf('/') + 1)
      const text = (await this.disk.read(to))?.toString().replace(/"signatures":\[[^\]]*\]/, '"signatures":[]')
      if (text !== undefined) this.written.set(name, [...(this.written.get(name) ?? []), text])
    }
  }

  async agent(): Promise<FakeNode> {
    const { disk, processes, clock } = this
    const node = new FakeNode({
      publisher,
      releases: [...releases, config],
      clock,
      disk,
      processes,
      probe: (version) => (version === '1.2.0' ? { kind: 'Fail', message: 'no' } : { kind: 'Pass' }),
    })
    await node.start()
    return node
  }
}

const first = { version: '1.0.0', attempt: 1, config: rendered.object, onRemoval: 'Keep' } as const
const second = { ...first, version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p' } } as const
const bad = { version: '1.2.0', attempt: 3, switch: { attempt: 3, permit: 'q' } } as const

describe('an agent', () => {
  const host = new Host()
  let node: FakeNode
  beforeAll(async () => {
    node = await host.agent()
    for (const order of [first, second]) {
      node.obey(order)
      await host.clock.advance(6_000)
    }
  })

  test('that starts over what another one left writes nothing and touches no process', async () => {
    await node.worker.close()
    const { changes } = host.disk
    const { starts, stops } = host.processes
    const before = [...starts]
    node = await host.agent()
    node.obey(second)
    await host.clock.advance(60_000)
    expect([node.worker.record?.state, node.worker.record?.current?.version]).toEqual(['Healthy', '1.1.0'])
    expect([host.disk.changes, host.processes.starts, host.processes.stops]).toEqual([changes, before, stops])
  })

  test('writes the same as others did before it, step by step', async () => {
    node.obey(bad)
    await host.clock.advance(6_000)
    await node.worker.close()
    expect(host.written.get('record.json')).toEqual(recorded['record.json'])
    expect(host.written.get('slot.json')).toEqual(recorded['slot.json'])
  })

  test.each(recorded['record.json'].map((text) => [(JSON.parse(text) as { state: string }).state, text]))(
    'reads what others wrote in %s, and loses nothing of it',
    (_, text) => expect(JSON.stringify(parseRecord(JSON.parse(text)))).toBe(text),
  )
})

describe('the order on the disk', () => {
  const spec: MachineInput['spec'] = {
    adoption: 'Adopt',
    notices: 'AWS',
    jobs: ['j'],
    components: [
      { name: 'beacon', ...second, setRef: 'base', slice: '2026-01-01T00:00:00Z', fresh: 1 },
      { name: 'cni', version: '1.0.0', attempt: 1, workload: true },
      { name: 'scribe', version: '2.0.0', attempt: 1, canaryRef: 'try' },
    ],
  }
  const metadata = { name: 'm', uid: 'u', generation: 3 }
  const machine = { apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', metadata, spec } as Machine

  test('is written as it always was', async () => {
    const host = new Host()
    const path = machineFile(nodeDir('/node'))
    await host.disk.makeFolder(path.slice(0, path.lastIndexOf('/')))
    await keepOrder(host.disk, path, orderOf(machine))
    expect(host.written.get('machine.json')).toEqual(recorded['machine.json'])
    const { changes } = host.disk
    await keepOrder(host.disk, path, orderOf(machine))
    expect(host.disk.changes).toBe(changes)
  })

  test.each(recorded['machine.json'])('is read as it always was', (text) =>
    expect(parseOrder(JSON.parse(text))).toEqual(orderOf(machine)),
  )
})
