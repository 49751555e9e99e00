import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareVersions, parseRange, parseVersion } from './semver.ts'

const order = (a: string, b: string) => {
  const [x, y] = [parseVersion(a), parseVersion(b)]
  return x && y ? Math.sign(compareVersions(x, y)) : undefined
}

describe('versions', () => {
  // The chain of semver.org's own example, with the lenient forms that nodes report.
  const ascending = [
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
    'v1.0.0',
    '1.2',
    '1.10.0-vendor.5',
    '1.10.0+build.7',
    '2',
    '5.10.134-16.3.al8.x86_64',
  ]

  it('are in order', () => {
    for (const [i, a] of ascending.entries())
      for (const [j, b] of ascending.entries()) expect([a, b, order(a, b)]).toEqual([a, b, Math.sign(i - j)])
  })

  it.each([
    '',
    'v',
    'latest',
    '1.2.3.4',
    '1..2',
    '1.x',
    '-1.0.0',
    '1.0.0-',
    '1.0.0-a..b',
    '1.0.0-é',
    `1.${'0'.repeat(200)}`,
  ])('do not include %j', (text) => expect(parseVersion(text)).toBeUndefined())

  it('equal each other whatever the build', () => expect(order('1.2.3+a', 'v1.2.3+b')).toBe(0))
})

describe('versions of vendors', () => {
  const ascending = [
    '5.10.134-rc.2',
    '5.10.134',
    '5.10.134-16.3.al8.x86_64',
    '5.10.134-17.al8',
    '5.10.135-beta',
    '5.10.135',
  ]

  it('are after the version they were made from, unless they are called prereleases', () => {
    const parse = (text: string) => parseVersion(text, { suffix: 'vendor' })
    for (const [i, a] of ascending.entries())
      for (const [j, b] of ascending.entries()) {
        const [x, y] = [parse(a), parse(b)]
        expect([a, b, x && y && Math.sign(compareVersions(x, y))]).toEqual([a, b, Math.sign(i - j)])
      }
  })

  it('lie in the ranges that people mean', () => {
    const kernel = parseVersion('5.10.134-16.al8', { suffix: 'vendor' })
    const holds = (range: string) => kernel && parseRange(range, { suffix: 'vendor' })?.(kernel)
    expect(['>=5.10.134', '<5.10.134', '^5.10', '5.10', '<5.10.135', '>=5.10.134-15'].map(holds)).toEqual([
      true,
      false,
      true,
      true,
      true,
      true,
    ])
  })
})

describe('ranges', () => {
  const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['*', ['0.0.1', '9.9.9-rc'], []],
    ['1.2.3', ['1.2.3', 'v1.2.3+x'], ['1.2.4', '1.2.3-rc']],
    ['1.2', ['1.2.0', '1.2.99'], ['1.1.9', '1.3.0', '1.3.0-rc']],
    ['1.2.x', ['1.2.7'], ['1.3.0']],
    ['1', ['1.0.0', '1.99.0'], ['0.9.0', '2.0.0', '2.0.0-rc']],
    ['^1.2.3', ['1.2.3', '1.9.0'], ['1.2.2', '2.0.0']],
    ['^0.2.3', ['0.2.3', '0.2.9'], ['0.3.0']],
    ['^0.0.3', ['0.0.3'], ['0.0.4']],
    ['^0', ['0.0.0', '0.9.0'], ['1.0.0']],
    ['~1.2.3', ['1.2.3', '1.2.9'], ['1.3.0']],
    ['~1', ['1.0.0', '1.9.0'], ['2.0.0']],
    ['>1.2', ['1.3.0'], ['1.2.0', '1.2.9']],
    ['<=1.2', ['1.2.9'], ['1.3.0']],
    ['>=1.30 <1.33', ['1.30.0', '1.32.9'], ['1.29.9', '1.33.0']],
    ['<1.2.0 || >=2.0.0', ['1.1.0', '2.0.0'], ['1.5.0']],
    ['=1.2.3', ['1.2.3'], ['1.2.2']],
  ]
  it.each(cases)('%s', (text, inside, outside) => {
    const range = parseRange(text)
    const holds = (v: string) => {
      const version = parseVersion(v)
      return version && range?.(version)
    }
    expect([inside.map(holds), outside.map(holds)]).toEqual([inside.map(() => true), outside.map(() => false)])
  })

  it.each(['', '||', '1 ||', '=>1', '> 1', 'latest', '>=1.2.3 <x.y', '1 '.repeat(40)])('do not include %j', (text) =>
    expect(parseRange(text)).toBeUndefined(),
  )

  it('never throw, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), fc.string({ maxLength: 30 }), (range, version) => {
        const v = parseVersion(version)
        if (v) parseRange(range)?.(v)
      }),
    )
  })
})
