// What a version needs of a machine below its components.
import { describe, expect, test } from 'vitest'
import { component } from '#test/support/fleets/rollout-fleet.ts'
import { type Platform, platformRefusal } from './node-needs.ts'

const platform: Platform = {
  os: 'Debian GNU/Linux 12 (bookworm)',
  arch: 'amd64',
  kernel: '5.10.134-16.al8',
  distribution: { id: 'ubuntu', like: ['debian'], version: '24.04' },
  bootArguments: ['hugepagesz=1G', 'nosmt'],
}
const why = (spec: object, on: Platform | undefined = platform) =>
  platformRefusal(component('beacon', '1.0.0', spec).spec, on)

describe('a machine', () => {
  test.each([
    ['runs what needs nothing', {}, undefined],
    ['runs what its kernel is new enough for', { kernel: '>=5.10' }, undefined],
    ['lacks a newer kernel', { kernel: '>=5.15' }, 'requires Linux >=5.15, the node has 5.10.134-16.al8'],
    ['runs what is made for its parent distribution', { distributions: [{ id: 'debian' }] }, undefined],
    [
      'is no version of its parent distribution',
      { distributions: [{ id: 'debian', range: '>=12' }, { id: 'rhel' }] },
      'requires debian >=12 or rhel, the node has ubuntu 24.04',
    ],
    ['runs what its own version is in range for', { distributions: [{ id: 'ubuntu', range: '>=24' }] }, undefined],
    ['has booted with an argument of any value', { bootArguments: ['hugepagesz', 'nosmt'] }, undefined],
    [
      'has booted with another value',
      { bootArguments: ['hugepagesz=2M'] },
      'requires boot argument hugepagesz=2M, the node booted without it',
    ],
  ] as const)('%s', (_what, needs, says) => expect(why({ needs })).toBe(says))

  test.each([
    [{ kernel: '>=5.10' }, 'requires Linux >=5.10, the node has not reported it'],
    [{ distributions: [{ id: 'debian' }] }, 'requires debian, the node has not reported it'],
    [{ bootArguments: ['nosmt'] }, 'requires boot argument nosmt, the node has not reported it'],
  ] as const)('that has not reported it is unknown, which refuses: %j', (needs, says) =>
    expect(why({ needs }, {})).toBe(says),
  )

  test('of a processor without an artifact is refused, and one that has not reported it is left to its agent', () => {
    const artifacts = [{ os: 'linux', arch: 'arm64', url: 'x', sha256: '0'.repeat(64), size: 1 }]
    expect(why({ artifacts })).toBe('has no artifact for amd64 (it has arm64)')
    expect(why({ artifacts }, {})).toBeUndefined()
    expect(why({ artifacts: [{ ...artifacts[0], arch: 'any' }] })).toBeUndefined()
  })
})
