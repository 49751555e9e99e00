// What is recorded of the devices that pods hold.
import { expect, test } from 'vitest'
import { placedDevices } from './placed-devices.ts'

const held = (count: number, pod: string) =>
  Array.from({ length: count }, (_, i) => ({ pod, resource: 'nvidia.com/gpu', device: `GPU-${i}::3` }))
const buses = new Map([['GPU-0', '0000:3b']])

test('a time slice has the place of its GPU, and an unknown device has none', () => {
  expect(placedDevices(held(2, 'ml/a'), buses)).toEqual([
    { pod: 'ml/a', resource: 'nvidia.com/gpu', device: 'GPU-0::3', bus: '0000:3b' },
    { pod: 'ml/a', resource: 'nvidia.com/gpu', device: 'GPU-1::3' },
  ])
})

test('what does not fit into a report is not recorded in part', () => {
  expect(placedDevices(held(256, 'ml/a'), buses)).toHaveLength(256)
  expect(placedDevices(held(257, 'ml/a'), buses)).toBeUndefined()
  expect(placedDevices(held(256, `ml/${'a'.repeat(200)}`), buses)).toBeUndefined()
})
