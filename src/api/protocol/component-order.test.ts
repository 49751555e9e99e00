// How every reader of a component interpreted each written form before they were unified, and that nothing is lost in objects.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defined } from '#lib/defined.ts'
import {
  coversTarget,
  isSameTarget,
  isOrderFor,
  readSliceTarget,
  writeSliceTarget,
  type ComponentTarget,
  type SliceTarget,
} from './component-order.ts'

const run = (version: string, config?: string, name = 'kubelet') => ({ name, version, ...defined({ config }) })
const gone: ComponentTarget = { name: 'kubelet' }

describe('as it is written', () => {
  test.each<[string, SliceTarget, ReturnType<typeof readSliceTarget>]>([
    ['a version', { component: 'kubelet', version: '1.2.3' }, run('1.2.3')],
    [
      'a version with its configuration',
      { component: 'kubelet', version: '1.2.3', config: 'k-1' },
      run('1.2.3', 'k-1'),
    ],
    ['a slice of a removal', { component: 'kubelet' }, gone],
    ['a removal as earlier sets had it', { component: 'kubelet', version: '' }, gone],
    ['a removal that kept a configuration', { component: 'kubelet', config: 'k-1' }, gone],
  ])('%s', (_, written, target) => expect(readSliceTarget(written)).toEqual(target))

  test('a removal names no version, which programs before this one read the same', () => {
    expect(Object.keys(writeSliceTarget(gone))).toEqual(['component'])
    expect(Object.keys(writeSliceTarget(run('1.0.0')))).toEqual(['component', 'version'])
  })

  const text = fc.string({ minLength: 1, maxLength: 12 })
  const targets = fc.oneof(
    fc
      .record({ name: text, version: text, config: fc.option(text, { nil: undefined }) })
      .map((r) => run(r.version, r.config, r.name)),
    text.map((name): ComponentTarget => ({ name })),
  )
  test('comes back the same through an object', () => {
    fc.assert(
      fc.property(targets, (a) => {
        const stored = JSON.parse(JSON.stringify(writeSliceTarget(a))) as SliceTarget
        expect(isSameTarget(readSliceTarget(stored), a)).toBe(true)
        expect(writeSliceTarget(readSliceTarget(stored))).toEqual(stored)
      }),
    )
  })
  test('two are the same only when both say so, in each direction', () => {
    fc.assert(
      fc.property(targets, targets, (a, b) => {
        const same = JSON.stringify(writeSliceTarget(a)) === JSON.stringify(writeSliceTarget(b))
        expect([isSameTarget(a, b), isSameTarget(b, a)]).toEqual([same, same])
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
    ['two removals', gone, { name: 'kubelet' }, true],
    ['a removal and a version', gone, run('1.0.0'), false],
    ['a removal of another component', gone, { name: 'cni' }, false],
    ['the same version of another component', run('1.0.0'), run('1.0.0', undefined, 'cni'), false],
    ['nothing known', undefined, run('1.0.0'), false],
    ['nothing known at all', undefined, undefined, false],
  ])('%s', (_, a, b, same) => expect(isSameTarget(a, b)).toBe(same))
})

describe('the order of a machine', () => {
  test.each([
    ['the version', { version: '1.0.0' }, run('1.0.0'), true],
    ['the version with another configuration', { version: '1.0.0', config: 'a' }, run('1.0.0'), false],
    ['none, and it is to be gone', undefined, gone, true],
    ['none, and it is to run', undefined, run('1.0.0'), false],
    ['a version of what is to be gone', { version: '1.0.0' }, gone, false],
    // An empty version meant a removal: a machine with such an entry does not count as rid of the component.
    ['an empty version', { version: '' }, gone, false],
  ])('%s', (_, order, target, expected) => expect(isOrderFor(order, target)).toBe(expected))
})

describe('what a permit covers', () => {
  // Before they were unified, agents compared only the version, and controllers only the name.
  test.each<[string, Parameters<typeof coversTarget>[0], ReturnType<typeof readSliceTarget>, boolean]>([
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
  ])('%s', (_, permitted, target, covered) => expect(coversTarget(permitted, target)).toBe(covered))
})
