import { expect, test } from 'vitest'
import { classParts, partsOfClass } from '#api/agent-config/class-parts.ts'
import { hostOf } from '#test/doubles/node/host-of-files.ts'
import { judgeParts, lackingParts, type PartsAsked, type PartsLook } from './parts.ts'

test.each([
  ['h100-8 gpu=8 infiniband=8', { class: 'h100-8', parts: new Map(Object.entries({ gpu: 8, infiniband: 8 })) }],
  ['*  gpu=8', undefined],
  ['h100-8', undefined],
  ['h100-8 gpu=0', undefined],
  ['h100-8 gpu=8 gpu=4', undefined],
  ['h100-8 lamps=1', undefined],
])('%s', (text, entry) => expect(classParts(text)).toEqual(entry))

test('the entry that names the class counts, otherwise the longest beginning', () => {
  const entries = ['* nvme=1', 'h100* gpu=4', 'h100-8 gpu=8']
  const of = (name: string) => [...(partsOfClass(entries, name) ?? [])]
  expect([of('h100-8'), of('h100-4'), of('web')]).toEqual([[['gpu', 8]], [['gpu', 4]], [['nvme', 1]]])
  expect(partsOfClass(['h100-8 gpu=8'], 'web')).toBeUndefined()
})

const pci = '/sys/bus/pci/devices'
const card = (address: string, kind: string, vendor: string) => ({
  [`${pci}/${address}/class`]: `${kind}\n`,
  [`${pci}/${address}/vendor`]: `${vendor}\n`,
})
const lacks = (wanted: Record<string, number>, files: Record<string, string>, answering?: number) =>
  lackingParts(new Map(Object.entries(wanted)) as never, hostOf(files), answering)

test('GPUs on the bus: not the display of the management controller, not the part of a card that a guest has', () => {
  const files = {
    ...card('0000:3b:00.0', '0x030200', '0x10de'),
    ...card('0000:5e:00.0', '0x120000', '0x1002'),
    ...card('0000:03:00.0', '0x030000', '0x1a03'),
    ...card('0000:3b:00.4', '0x030200', '0x10de'),
    [`${pci}/0000:3b:00.4/physfn/class`]: '0x030200\n',
  }
  expect(lacks({ gpu: 2 }, files)).toEqual([])
  expect(lacks({ gpu: 3 }, files)).toEqual(['2 of 3 GPUs'])
  // The driver lists those of NVIDIA only.
  expect(lacks({ gpu: 2 }, files, 1)).toEqual([])
  expect(lacks({ gpu: 2 }, files, 0)).toEqual(['1 of 2 GPUs (not: 1 do not answer their driver)'])
})

test('ports that never came up, and disks that are not there or do not live', () => {
  const files = {
    '/sys/class/infiniband/mlx5_0/ports/1/state': '4: ACTIVE\n',
    '/sys/class/infiniband/mlx5_1/ports/1/state': '1: DOWN\n',
    '/sys/class/net/eth0/device/vendor': '0x15b3\n',
    '/sys/class/net/eth0/carrier': '1\n',
    // The kernel refuses to read the carrier of one that is set down.
    '/sys/class/net/eth1/device/vendor': '0x15b3\n',
    '/sys/class/net/veth1/carrier': '1\n',
    '/sys/class/nvme/nvme0/state': 'live\n',
    '/sys/class/nvme/nvme1/state': 'dead\n',
    '/sys/class/nvme/nvme2/transport': 'tcp\n',
  }
  expect(lacks({ infiniband: 2, network: 2, nvme: 2 }, files)).toEqual([
    '1 of 2 InfiniBand ports up (not: mlx5_1/1)',
    '1 of 2 network ports up (not: eth1)',
    '1 of 2 NVMe disks (not: nvme1)',
  ])
  expect(lacks({ infiniband: 1, network: 1, nvme: 1 }, files)).toEqual([])
})

const START: PartsLook = { missingSinceMs: undefined, readings: [] }
const asked = (more: Partial<PartsAsked>): PartsAsked => ({
  expected: ['h100-8 gpu=8'],
  machineClass: 'h100-8',
  nowMs: 0,
  afterMs: 100,
  lacking: () => ['7 of 8 GPUs'],
  ...more,
})
const says = (look: PartsLook) => look.readings.map((r) => `${r.status} ${r.reason}`)

test('a part is missing when it has not been there for the whole time, and there again at once', () => {
  const first = judgeParts(START, asked({}))
  expect(says(first)).toEqual([])
  const later = judgeParts(first, asked({ nowMs: 100 }))
  expect(later.readings).toMatchObject([{ type: 'PartsMissing', status: 'True', message: '7 of 8 GPUs' }])
  const back = judgeParts(later, asked({ nowMs: 101, lacking: () => [] }))
  expect(says(back)).toEqual(['False PartsThere'])
  expect(says(judgeParts(back, asked({ nowMs: 250 })))).toEqual([])
})

test.each([
  ['a class that is not known yet', { machineClass: undefined }, []],
  ['a machine without a class', { machineClass: '' }, ['False NothingExpected']],
  ['a class without an entry', { machineClass: 'web' }, ['False NothingExpected']],
  ['a fleet without entries', { expected: [], machineClass: undefined }, ['False NothingExpected']],
])('%s never has missing parts', (_, more, expected) => {
  expect(says(judgeParts({ missingSinceMs: 0, readings: [] }, asked({ nowMs: 1_000, ...more })))).toEqual(expected)
})
