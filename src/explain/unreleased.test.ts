// What is reported about commits that came after a release and have none.
import { expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Release } from '#api/kinds/release.ts'
import { linesOf } from './finding.ts'
import { unreleased } from './unreleased.ts'
import { whyLines } from './why.ts'
import { defined } from '#lib/defined.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const [COMMIT, NEWER] = ['a'.repeat(40), 'b'.repeat(40)]
const release = (name: string, previous?: string) =>
  ({
    metadata: { name },
    spec: { source: 'fleet', track: 'fleet', commit: COMMIT, ...defined({ previous }) },
  }) as Release
const error = `KN7117: cannot use it: ${'x'.repeat(300)} (fleet/main.ts:3)`

const source = (commit: string, ready: 'True' | 'False') =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'FleetSource',
    metadata: { name: 'fleet' },
    status: {
      commit,
      renderErrors: [error, 'KN3062: another one'],
      conditions: [
        {
          type: 'Rendered',
          status: ready,
          reason: 'RenderFailed',
          message: `${error.slice(0, 199)}…`,
          lastTransitionTime: '2026-01-31T11:56:00Z',
        },
        {
          type: 'Ready',
          status: ready,
          reason: 'RenderFailed',
          message: `${error.slice(0, 199)}…`,
          lastTransitionTime: '2026-01-31T11:56:00Z',
        },
      ],
    },
  }) as unknown as FleetSource

const newest = release('fleet-2', 'fleet-1')
const all = [newest, release('fleet-1')]

test('the newest release says that a newer commit is none, and where to read why', () => {
  expect(unreleased(newest, all, source(NEWER, 'False'), NOW).flatMap(linesOf)).toEqual([
    'source/fleet is not Ready for 4m: RenderFailed; its newest commit is bbbbbbbbbbbb',
    '  to see why: kubenode why source/fleet',
  ])
})

test('the newer commit is called by its title where the source knows it', () => {
  const from = source(NEWER, 'False')
  const titled = { ...from, status: { ...from.status, subject: 'beacon 1.1.0', author: 'Ada' } }
  expect(unreleased(newest, all, titled, NOW)[0]?.text).toContain('commit is bbbbbbbbbbbb "beacon 1.1.0" by Ada')
  expect(whyLines(titled, NOW)[0]).toBe('source/fleet: at commit bbbbbbbbbbbb "beacon 1.1.0" by Ada')
})

test.each([
  ['an older release', release('fleet-1'), source(NEWER, 'False')],
  ['a source that is well', newest, source(NEWER, 'True')],
  ['a source that is at the commit of the release', newest, source(COMMIT, 'False')],
])('nothing is said of %s', (_, own, from) => expect(unreleased(own, all, from, NOW)).toEqual([]))

test('a source tells its errors whole, each once', () => {
  const lines = whyLines(source(NEWER, 'False'), NOW)
  expect(lines.filter((l) => l.includes(error))).toEqual([`Rendered is False for 4m: RenderFailed: ${error}`])
  expect(lines.filter((l) => l.includes('KN3062'))).toEqual(['  KN3062: another one'])
  expect(lines.join('\n')).not.toContain('…')
})
