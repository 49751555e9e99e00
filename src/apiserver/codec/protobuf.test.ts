import { describe, expect, test } from 'vitest'
import { decodeProtobuf, ProtobufError } from './protobuf.ts'

const varint = (n: number): number[] => (n < 128 ? [n] : [(n & 127) | 128, ...varint(n >>> 7)])
const bytesField = (number: number, value: Buffer | string): Buffer => {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([...varint((number << 3) | 2), ...varint(bytes.length)]), bytes])
}
const numberField = (number: number, value: number): Buffer => Buffer.from([...varint(number << 3), ...varint(value)])
const message = (...fields: readonly Buffer[]): Buffer => Buffer.concat(fields)
const envelope = (apiVersion: string, kind: string, raw: Buffer): Buffer =>
  message(
    Buffer.from('k8s\0'),
    bytesField(1, message(bytesField(1, apiVersion), bytesField(2, kind))),
    bytesField(2, raw),
  )

describe('bodies in protobuf', () => {
  test('a config map has its maps', () => {
    const entry = message(bytesField(1, 'k'), bytesField(2, 'v'))
    const raw = message(bytesField(1, message(bytesField(1, 'a'), bytesField(11, entry))), bytesField(2, entry))
    expect(decodeProtobuf(envelope('v1', 'ConfigMap', raw))).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', labels: { k: 'v' } },
      data: { k: 'v' },
    })
  })

  test('an autoscaler, as kubectl 1.36 writes it', () => {
    const target = message(bytesField(1, 'Utilization'), numberField(4, 70))
    const metric = message(
      bytesField(1, 'Resource'),
      bytesField(4, message(bytesField(1, 'cpu'), bytesField(2, target))),
    )
    const reference = message(bytesField(1, 'Deployment'), bytesField(2, 'd'), bytesField(3, 'apps/v1'))
    const spec = message(bytesField(1, reference), numberField(3, 7), bytesField(4, metric))
    expect(decodeProtobuf(envelope('autoscaling/v2', 'HorizontalPodAutoscaler', bytesField(2, spec)))['spec']).toEqual({
      scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' },
      maxReplicas: 7,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } } },
      ],
    })
  })

  test('times, numbers and embedded structs are read as JSON has them', () => {
    const spec = message(
      bytesField(1, 'me'),
      numberField(2, 40),
      bytesField(4, message(numberField(1, 1_704_164_645), numberField(2, 123_456_000))),
    )
    const lease = decodeProtobuf(envelope('coordination.k8s.io/v1', 'Lease', bytesField(2, spec)))
    expect(lease['spec']).toEqual({
      holderIdentity: 'me',
      leaseDurationSeconds: 40,
      renewTime: '2024-01-02T03:04:05.123456Z',
    })
    const volume = message(bytesField(1, 'v'), bytesField(2, bytesField(1, bytesField(1, '/x'))))
    const pod = decodeProtobuf(envelope('v1', 'Pod', bytesField(2, bytesField(1, volume))))
    expect(pod['spec']).toEqual({ volumes: [{ name: 'v', hostPath: { path: '/x' } }] })
  })

  test.each([
    ['no envelope', Buffer.from('{}')],
    ['an unknown kind', envelope('v1', 'Nothing', Buffer.alloc(0))],
    ['a field that ends too early', envelope('v1', 'ConfigMap', Buffer.from([10, 200]))],
    ['a group, which is no longer written', envelope('v1', 'ConfigMap', Buffer.from([11]))],
  ])('%s is refused', (_, body) => expect(() => decodeProtobuf(body)).toThrow(ProtobufError))
})
