// What every reader of a component made of each way in which it is written, before they became one, and that nothing is lost on the way through objects.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  coversAssignment,
  isSameAssignment,
  isTold,
  readAssignment,
  removalOf,
  runOf,
  versionIn,
  writeAssignment,
  type WrittenAssignment,
} from './assignment.ts'

const run = (version: string, config?: string) => runOf('kubelet', version, config)
const gone = removalOf('kubelet')

describe('as it is written', () => {
  test.each<[string, WrittenAssignment, ReturnType<typeof readAssignment>]>([
    ['a version', { component: 'kubelet', version: '1.2.3' }, run('1.2.3')],
    [
      'a version with its configuration',
      { component: 'kubelet', version: '1.2.3', config: 'k-1' },
      run('1.2.3', 'k-1'),
    ],
    ['a slice of a removal', { component: 'kubelet' }, gone],
    ['a removal as earlier sets had it', { component: 'kubelet', version: '' }, gone],
    ['a removal that kept a configuration', { component: 'kubelet', config: 'k-1' }, gone],
  ])('%s', (_, written, assigned) => expect(readAssignment(written)).toEqual(assigned))

  test('a removal names no version, which programs before this one read the same', () => {
    expect(Object.keys(writeAssignment(gone))).toEqual(['component'])
    expect(Object.keys(writeAssignment(run('1.0.0')))).toEqual(['component', 'version'])
  })

  const text = fc.string({ minLength: 1, maxLength: 12 })
  const assignments = fc.oneof(
    fc
      .record({ component: text, version: text, config: fc.option(text, { nil: undefined }) })
      .map((r) => runOf(r.component, r.version, r.config)),
    text.map(removalOf),
  )
  test('comes back the same through an object', () => {
    fc.assert(
      fc.property(assignments, (a) => {
        const stored = JSON.parse(JSON.stringify(writeAssignment(a))) as WrittenAssignment
        expect(isSameAssignment(readAssignment(stored), a)).toBe(true)
        expect(writeAssignment(readAssignment(stored))).toEqual(stored)
      }),
    )
  })
  test('two are the same only when both say so, in each direction', () => {
    fc.assert(
      fc.property(assignments, assignments, (a, b) => {
        const same = JSON.stringify(writeAssignment(a)) === JSON.stringify(writeAssignment(b))
        expect([isSameAssignment(a, b), isSameAssignment(b, a)]).toEqual([same, same])
      }),
    )
  })
})

describe('what is the same', () => {
  test.each([
    ['a version', run('1.0.0'), run('1.0.0'), true],
    ['another version', run('1.0.0'), run('1.0.1'), false],
    ['another configuration', run('1.0.0', 'a'), run('1.0.0', 'b'), false],
    ['no configuration', run('1.0.0', 'a'), run('1.0.0'), false],
    ['two removals', gone, removalOf('kubelet'), true],
    ['a removal and a version', gone, run('1.0.0'), false],
    ['a removal of another component', gone, removalOf('cni'), false],
    ['the same version of another component', run('1.0.0'), runOf('cni', '1.0.0', undefined), false],
    ['nothing known', undefined, run('1.0.0'), false],
    ['nothing known at all', undefined, undefined, false],
  ])('%s', (_, a, b, same) => expect(isSameAssignment(a, b)).toBe(same))
})

describe('what a machine was told', () => {
  test.each([
    ['the version', { version: '1.0.0' }, run('1.0.0'), true],
    ['the version with another configuration', { version: '1.0.0', config: 'a' }, run('1.0.0'), false],
    ['nothing, and it is to be gone', undefined, gone, true],
    ['nothing, and it is to run', undefined, run('1.0.0'), false],
    ['a version of what is to be gone', { version: '1.0.0' }, gone, false],
    // An empty version meant a removal: a machine with such an entry does not count as rid of the component.
    ['an empty version', { version: '' }, gone, false],
  ])('%s', (_, told, assigned, expected) => expect(isTold(told, assigned)).toBe(expected))

  test('what is to be gone has no version', () => {
    expect([versionIn(run('1.0.0')), versionIn(gone), versionIn(undefined)]).toEqual(['1.0.0', undefined, undefined])
  })
})

describe('what a permit covers', () => {
  // Before they became one, agents compared the version alone, and controllers the name alone.
  test.each<[string, Parameters<typeof coversAssignment>[0], ReturnType<typeof readAssignment>, boolean]>([
    ['the version', { name: 'kubelet', version: '1.0.0' }, run('1.0.0'), true],
    [
      'the version with each configuration, as canaries ask',
      { name: 'kubelet', version: '1.0.0' },
      run('1.0.0', 'a'),
      true,
    ],
    ['the configuration', { name: 'kubelet', version: '1.0.0', config: 'a' }, run('1.0.0', 'a'), true],
    ['another configuration', { name: 'kubelet', version: '1.0.0', config: 'a' }, run('1.0.0', 'b'), false],
    ['no configuration', { name: 'kubelet', version: '1.0.0', config: 'a' }, run('1.0.0'), false],
    ['another version', { name: 'kubelet', version: '1.0.1' }, run('1.0.0'), false],
    ['another component', { name: 'cni', version: '1.0.0' }, run('1.0.0'), false],
    ['the removal', { name: 'kubelet' }, gone, true],
    ['the removal of another component', { name: 'cni' }, gone, false],
    ['a version by the permit of a removal', { name: 'kubelet' }, run('1.0.0'), false],
    ['the removal by the permit of a version', { name: 'kubelet', version: '1.0.0' }, gone, false],
  ])('%s', (_, permitted, assigned, covered) => expect(coversAssignment(permitted, assigned)).toBe(covered))
})
