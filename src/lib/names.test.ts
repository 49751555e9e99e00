import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { COMPONENT_NAME_PATTERN, COMPONENT_VERSION_PATTERN, MAX_OBJECT_NAME, componentObjectName } from './names.ts'

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

const word = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'ab1.-+:~_VZ'), maxLength: 8 }),
  fc.stringMatching(new RegExp(COMPONENT_NAME_PATTERN)),
  fc.stringMatching(new RegExp(COMPONENT_VERSION_PATTERN)),
  fc.string({ unit: 'binary', maxLength: 200 }),
)

describe('the object name of a component version', () => {
  test.each([
    ['kubelet', '1.34.2', 'kubelet.1.34.2'],
    ['node-problem-detector', '0.8.20-rc.1', 'node-problem-detector.0.8.20-rc.1'],
    ['k3s', '1.34.2+k3s1', 'k3s.1.34.2e--2bk3s1'],
    ['containerd', '1:1.7~2', 'containerd.1e--3a1.7e--7e2'],
    ['os', 'V1', 'os.e--561'],
    ['', '', 'o--o.o--o'],
  ])('of %j %j is %s', (component, version, name) => expect(componentObjectName(component, version)).toBe(name))

  test('is an object name that a server accepts, for any two texts', () => {
    fc.assert(
      fc.property(word, word, (component, version) => {
        const name = componentObjectName(component, version)
        expect(name).toMatch(SUBDOMAIN)
        expect(name.length).toBeLessThanOrEqual(MAX_OBJECT_NAME)
      }),
    )
  })

  test('differs for different pairs', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(word, word), { selector: (p) => JSON.stringify(p), maxLength: 40 }),
        (pairs) => {
          expect(new Set(pairs.map(([c, v]) => componentObjectName(c, v))).size).toBe(pairs.length)
        },
      ),
    )
  })

  test.each([
    [
      ['a-1', '2'],
      ['a', '1-2'],
    ],
    [
      ['a.1', '2'],
      ['a', '1.2'],
    ],
    [
      ['a', 'e--56'],
      ['a', 'V'],
    ],
    [
      ['a', `h--${'0'.repeat(300)}`],
      ['a', '0'.repeat(300)],
    ],
    [
      ['é', '1'],
      ['e', '1'],
    ],
  ] as const)('tells %j from %j', ([c1, v1], [c2, v2]) =>
    expect(componentObjectName(c1, v1)).not.toBe(componentObjectName(c2, v2)),
  )
})
