import { expect, test } from 'vitest'
import { workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import { hardwareClass } from './hardware-class.ts'
import type { Node } from '../objects.ts'

const node = (nodeInfo: Record<string, string>, capacity: Record<string, string> = {}): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n' },
  status: { nodeInfo, capacity },
})
const DEBIAN = {
  architecture: 'amd64',
  osImage: 'Debian GNU/Linux 13 (trixie)',
  kernelVersion: '6.12.41+deb13-amd64',
}

test.each([
  ['only what is declared, without a Node', 'gpu', undefined, 'gpu'],
  ['nothing at all', undefined, undefined, ''],
  ['processor, system and kernel of the Node', undefined, node(DEBIAN), 'amd64.debian-13.6.12'],
  ['the declared class before them', 'big', node(DEBIAN), 'big.amd64.debian-13.6.12'],
  [
    'accelerators that are there',
    undefined,
    node(DEBIAN, { cpu: '8', 'nvidia.com/gpu': '8', 'xilinx.com/fpga': '0' }),
    'amd64.debian-13.6.12.nvidia-gpu',
  ],
  ['a Node that says little', undefined, node({ kernelVersion: '5.10.134-16.al8' }), '5.10'],
])('the hardware class is %s', (_, cls, seen, expected) => {
  expect(hardwareClass(workingMachine('m', cls === undefined ? {} : { class: cls }), seen)).toBe(expected)
})

test('the hardware class is a label value, however long its parts are', () => {
  const long = hardwareClass(workingMachine('m', { class: 'c'.repeat(60) }), node(DEBIAN))
  expect(long).toMatch(/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/)
})
